"""A lock on a file, which excludes other processes and other threads of this one.

It is the kernel's `flock`: freed when its process ends, however it ends. The file stays. To delete
it would give two processes the lock: one of the old file, one of the new.
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
    """A lock of a store in a folder, such as the one that a unit of work holds while it runs.

    The engine's own lock is not enough for that: `dolt_commit` frees it while the transaction
    still seems open.
    """

    def __init__(self, path: Path, limit_s: float) -> None:
        """Set the lock file, made when first needed; a wait takes at most `limit_s` seconds."""
        self._path = path
        self._limit_s = limit_s
        self._mine = threading.local()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            StoreBusy: another writer held it for longer than the limit.
            StoreReadOnly: the lock file cannot be made.
        """
        with self._taken(self._limit_s) as is_held:
            if not is_held:
                raise StoreBusy(
                    f"Another writer has held this store for {self._limit_s:g} s; try again.",
                    limit_s=self._limit_s,
                )
            self._mine.holds = True
            try:
                yield
            finally:
                self._mine.holds = False

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Hold the lock for the block, which may stand inside a `held` block of this thread."""
        if getattr(self._mine, "holds", False):
            yield
            return
        with self.held():
            yield

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock for the block if nobody has it; yields whether it was free."""
        with self._taken(0) as is_held:
            yield is_held

    @contextmanager
    def _taken(self, limit_s: float) -> Iterator[bool]:
        try:
            lock_handle = take(self._path, limit_s)
        except OSError as exc:
            raise of_system(exc, self._path, writing=True) from exc
        try:
            yield lock_handle is not None
        finally:
            if lock_handle is not None:
                os.close(lock_handle)


def take(path: Path, limit_s: float) -> int | None:
    """Lock a file, which is made if it is missing; `os.close` of the result frees the lock.

    Args:
        path: the file.
        limit_s: how long to wait, in seconds; 0: not at all.

    Returns:
        The file's handle; None if another holder kept the lock for longer than the limit.

    Raises:
        OSError: the file cannot be made, opened or locked.
    """
    lock_handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock_handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if limit_s > 0:
            return lock_handle if _wait(lock_handle, limit_s) else None
        os.close(lock_handle)
        return None
    except OSError:
        os.close(lock_handle)
        raise
    return lock_handle


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock of a file, which is made if it is missing.

    Raises:
        OSError: the file cannot be made, opened or locked.
    """
    lock_handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock_handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: others may ask meanwhile
    except BlockingIOError:
        return False
    finally:
        os.close(lock_handle)
    return True


def _wait(handle: int, limit_s: float) -> bool:
    """Wait for the lock in the kernel, which serves waiters in order; return whether it was got.

    A `flock` that blocks has no time limit, so another thread blocks in it. If this thread gives
    up, the other one closes the handle as soon as it has the lock.
    """
    guard = threading.Lock()
    locked_event = threading.Event()
    lock_state = {"got": False, "given_up": False}

    def block() -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with guard:
            lock_state["got"] = True
            if lock_state["given_up"]:
                os.close(handle)
        locked_event.set()

    threading.Thread(target=block, name="day1-lock", daemon=True).start()
    locked_event.wait(limit_s)
    with guard:
        lock_state["given_up"] = not lock_state["got"]
    return lock_state["got"]
