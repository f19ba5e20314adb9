"""Writing an embedded store's rows into a new file beside the old one, and swapping the two."""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from typing_extensions import override

from day1.adapters.archive.files import FileArchives, sync
from day1.adapters.failures import of_system
from day1.adapters.flock import WriteLock
from day1.adapters.ledger.sqlite import scrub_ledger
from day1.adapters.versioned.doltlite.store import FILE, LOCK_FILE, DoltLiteStore
from day1.errors import Refused
from day1.ports.history import History
from day1.ports.rewriting import Rewriting
from day1.ports.store import Store

_FOLDER: Final = "purged"
"""The name, before `.tmp`, of the folder in which the new files are written."""


class StoreRewriting(Rewriting):
    """`ports.rewriting.Rewriting` on a store's folder."""

    def __init__(self, folder: Path, wait_s: float) -> None:
        """Set the store's folder; each lock is waited for at most `wait_s` seconds."""
        self._folder, self._wait_s = folder, wait_s
        self._lock = WriteLock(folder / LOCK_FILE, wait_s)
        self._fresh: tuple[DoltLiteStore, Path] | None = None

    @override
    @contextmanager
    def fresh(self, created_at: int) -> Iterator[tuple[Store, History]]:
        with FileArchives().staging(self._folder / _FOLDER) as staging_folder:
            DoltLiteStore.create(staging_folder / "store", lambda: created_at)
            new_store = DoltLiteStore(
                staging_folder / "store", lambda: created_at, wait_s=self._wait_s
            )
            self._fresh = new_store, staging_folder / "store" / FILE
            try:
                yield new_store, new_store.history
            finally:
                new_store.close()

    @override
    def exclusive(self) -> AbstractContextManager[None]:
        return self._lock.held()

    @override
    def replace(self) -> None:
        """Rename the new file over the old one; a process that has the old one open notices it."""
        if self._fresh is None:
            raise Refused(
                "There is no new store file to replace the old one: call `fresh` before `replace`."
            )
        (new_store, new_file), old_file = self._fresh, self._folder / FILE
        new_store.close()
        try:
            shutil.copymode(old_file, new_file)
            with new_file.open("rb") as opened_new_file:
                os.fsync(opened_new_file.fileno())
            new_file.rename(old_file)
            sync(self._folder)
        except OSError as exc:
            raise of_system(exc, old_file, writing=True) from exc

    @override
    def scrub(self) -> None:
        """Write the ledger's file anew, and empty its WAL."""
        scrub_ledger(self._folder, self._wait_s)


def clear(folder: Path) -> None:
    """Remove a new file that a killed process left unfinished, unless a process is writing it."""
    with suppress(Refused), FileArchives().staging(folder / _FOLDER):
        pass
