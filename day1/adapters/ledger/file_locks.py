"""The locks by name of a store in a folder: locks on files.

A name has one of a fixed number of files, so that they stay few. Two names may share one: then two
calls wait for each other that need not, and nothing else changes.
"""

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from typing_extensions import override

from day1.adapters.failures import of_system
from day1.adapters.flock import PAUSE_FILE, Patience, is_free, take_all
from day1.adapters.ledger.lock_and_watch import Locks
from day1.errors import StoreBusy

WHOLE_FILE: Final = "deeds.lock"
"""The file whose lock is that of the whole store."""
FOLDER: Final = "locks"
"""The folder of the files for names; they are made when they are first needed."""
_FILES: Final = 256


class FileLocks(Locks):
    """Locks on the files of a folder, which exclude other processes and other threads."""

    def __init__(self, folder: Path, limit_s: float) -> None:
        """Set the folder of the lock files.

        A wait takes at most `limit_s` seconds, and up to five times as many if the store is
        compacted meanwhile.
        """
        self._folder = folder
        self.limit_s = limit_s

    @override
    @contextmanager
    def held(self, names: Collection[str], wait_s: float) -> Iterator[None]:
        with self._taken(names, wait_s) as is_held:
            if not is_held:
                raise StoreBusy(
                    f"Another writer has held this store for {wait_s:.3g} s; try again.",
                    limit_s=wait_s,
                )
            yield

    @override
    @contextmanager
    def held_if_free(self, names: Collection[str]) -> Iterator[bool]:
        with self._taken(names, 0) as is_held:
            yield is_held

    @override
    def whole_is_free(self) -> bool:
        lock_path = self._folder / WHOLE_FILE
        try:
            return is_free(lock_path)
        except OSError as exc:
            raise of_system(exc, lock_path, writing=True) from exc

    @contextmanager
    def _taken(self, names: Collection[str], wait_s: float) -> Iterator[bool]:
        """Take the files' locks in the order of their names; yields whether all were free."""
        lock_paths = self._paths(names)
        try:
            if names:
                (self._folder / FOLDER).mkdir(mode=0o700, exist_ok=True)
            lock_handles = take_all(lock_paths, Patience(wait_s, self._folder / PAUSE_FILE))
        except OSError as exc:
            raise of_system(exc, lock_paths[0], writing=True) from exc
        try:
            yield lock_handles is not None
        finally:
            for lock_handle in lock_handles or ():
                lock_handle.close()

    def _paths(self, names: Collection[str]) -> list[Path]:
        if not names:
            return [self._folder / WHOLE_FILE]
        return [
            self._folder / FOLDER / file_number
            for file_number in sorted({_number(name) for name in names})
        ]


def _number(name: str) -> str:
    """Return the number of the lock file of a name: two hexadecimal digits."""
    digest = hashlib.sha256(name.lower().encode()).digest()
    return f"{digest[0] % _FILES:02x}"
