"""The write lock of a store in a folder, which a unit of work holds from first to last.

The engine's own lock is not enough: `dolt_commit` frees it while the transaction still seems open.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from day1.adapters import flock
from day1.adapters.failures import of_system
from day1.errors import StoreBusy


class WriteLock:
    """Excludes other processes and other threads of this one."""

    def __init__(self, path: Path, limit_s: float) -> None:
        """Lock the file `path` (made when first needed), waiting at most `limit_s` seconds."""
        self._path = path
        self._limit_s = limit_s

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            StoreBusy: another writer held it for longer than the limit.
            StoreReadOnly: the lock file cannot be made.
        """
        with self._taken(self._limit_s) as got:
            if not got:
                raise StoreBusy(
                    f"Another writer has held this store for {self._limit_s:g} s; try again.",
                    limit_s=self._limit_s,
                )
            yield

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock for the block if nobody has it; yields whether it was free."""
        with self._taken(0) as got:
            yield got

    @contextmanager
    def _taken(self, limit_s: float) -> Iterator[bool]:
        try:
            handle = flock.take(self._path, limit_s)
        except OSError as exc:
            raise of_system(exc, self._path, writing=True) from exc
        try:
            yield handle is not None
        finally:
            if handle is not None:
                os.close(handle)
