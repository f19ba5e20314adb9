"""Locks between processes that also exclude threads: a `flock` on a file of its own.

The kernel frees it when its process ends, however it ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileLock:
    """One holder at a time, among all processes and threads."""

    def __init__(self, path: Path) -> None:
        """Use the file `path`, made when first needed."""
        self._path = path

    def take(self, *, wait: bool) -> int | None:
        """Get the lock, waiting for it or not; None if another has it.

        The holder gives it back with `os.close`.
        """
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    @contextmanager
    def held(self, *, wait: bool) -> Iterator[bool]:
        """Hold the lock for the block; yields whether it was to be had."""
        handle = self.take(wait=wait)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                os.close(handle)
