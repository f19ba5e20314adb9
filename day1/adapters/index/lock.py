"""Locks between processes for the index's files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from day1.adapters import flock
from day1.adapters.index.failures import usable
from day1.ports.index import IndexBehind


class FileLock:
    """A lock that one holder has at a time, among all processes and threads."""

    def __init__(self, path: Path, limit_s: float) -> None:
        """Use the file `path`, made when first needed; wait for it at most `limit_s` seconds."""
        self._path, self._limit_s = path, limit_s

    def take(self, *, wait: bool) -> flock.LockHandle | None:
        """Take the lock, waiting for it or not; None if it is not free.

        `close` of the handle releases it.

        Raises:
            IndexBehind: the file cannot be made or opened, or another has held it for too long.
        """
        with usable(self._path.name):
            patience = flock.Patience(self._limit_s) if wait else None
            lock_handle = flock.take(self._path, patience)
        if lock_handle is None and wait:
            raise IndexBehind(
                f"Another process has held {self._path.name} for {self._limit_s:g} s; try again.",
                file=self._path.name,
                engine_code="EAGAIN",
            )
        return lock_handle

    @contextmanager
    def held(self, *, wait: bool) -> Iterator[bool]:
        """Hold the lock during the block; yields False if it was not free."""
        lock_handle = self.take(wait=wait)
        try:
            yield lock_handle is not None
        finally:
            if lock_handle is not None:
                lock_handle.close()
