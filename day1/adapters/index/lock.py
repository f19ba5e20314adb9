"""Locks between processes that also exclude threads: a `flock` on a file of its own.

The kernel frees it when its process ends, however it ends.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from day1.adapters.index.failures import usable
from day1.ports.index import IndexBehind

_PAUSE_S = 0.01
"""A `flock` that waits has no limit of its own, so it is asked for again and again."""


class FileLock:
    """One holder at a time, among all processes and threads."""

    def __init__(self, path: Path, limit_s: float) -> None:
        """Use the file `path`, made when first needed; nobody waits for longer than the limit."""
        self._path, self._limit_s = path, limit_s

    def take(self, *, wait: bool) -> int | None:
        """Get the lock, waiting for it or not; None if another has it.

        The holder gives it back with `os.close`.

        Raises:
            IndexBehind: the file cannot be made or opened, or another has held it for too long.
        """
        with usable(self._path.name):
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                free = self._lock(handle, self._limit_s if wait else 0.0)
            except OSError:
                os.close(handle)
                raise
        if free:
            return handle
        os.close(handle)
        if wait:
            raise IndexBehind(
                f"Another process has held {self._path.name} for {self._limit_s:g} s; try again.",
                file=self._path.name,
                engine_code="EAGAIN",
            )
        return None

    @staticmethod
    def _lock(handle: int, limit_s: float) -> bool:
        until = time.monotonic() + limit_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
                time.sleep(_PAUSE_S)
            else:
                return True

    @contextmanager
    def held(self, *, wait: bool) -> Iterator[bool]:
        """Hold the lock for the block; yields whether it was free."""
        handle = self.take(wait=wait)
        try:
            yield handle is not None
        finally:
            if handle is not None:
                os.close(handle)
