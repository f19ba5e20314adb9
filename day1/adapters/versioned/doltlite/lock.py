"""day1's own write lock: one `flock` per store, held by a unit of work from first to last.

The engine's lock is not enough: `dolt_commit` frees it while the transaction still seems open.
The kernel frees a `flock` when its process ends, however it ends.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        handle = self._open()
        if not self._acquire(handle):
            raise StoreBusy(
                f"Another writer has held this store for {self._limit_s:g} s; try again.",
                limit_s=self._limit_s,
            )
        try:
            yield
        finally:
            os.close(handle)

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock for the block if nobody has it; says whether."""
        handle = self._open()
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        try:
            yield free
        finally:
            os.close(handle)

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise of_system(exc, self._path, writing=True) from exc

    def _acquire(self, handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return self._wait(handle)
        return True

    def _wait(self, handle: int) -> bool:
        """Queue in the kernel, which wakes waiters in order; polling would starve some.

        A blocked `flock` has no time limit of its own, so a thread blocks and this one gives
        up on it; the thread then lets go of the lock when it gets it.
        """
        decided = threading.Lock()
        done = threading.Event()
        state = {"got": False, "given_up": False}

        def block() -> None:
            fcntl.flock(handle, fcntl.LOCK_EX)
            with decided:
                state["got"] = True
                if state["given_up"]:
                    os.close(handle)
            done.set()

        threading.Thread(target=block, name="day1-lock", daemon=True).start()
        done.wait(self._limit_s)
        with decided:
            state["given_up"] = not state["got"]
        return state["got"]
