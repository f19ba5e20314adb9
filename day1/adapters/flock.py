"""A lock on a file, which excludes other processes and other threads of this one.

It is the kernel's `flock`: freed when its process ends, however it ends. The file stays. To delete
it would give two processes the lock: one of the old file, one of the new.
"""

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from day1.adapters.failures import of_system
from day1.errors import StoreBusy

PAUSE_FILE: Final = "pause.lock"
"""The name of the file that is locked while a store is compacted. Writers wait longer for the other
locks of the store meanwhile."""
_PAUSE: Final = 4
"""The seconds that a writer waits during pauses, as a multiple of its limit."""
_STEP_S: Final = 0.25
"""Seconds after which a waiting caller checks whether there is a pause."""
_NOTE_BYTES: Final = 64
"""The most that is read of a note in a lock's file."""


class Patience:
    """The time that a caller may wait for locks: some seconds, and four times as many in pauses."""

    def __init__(self, limit_s: float, pause: Path | None = None) -> None:
        """Allow `limit_s` seconds; there is a pause while somebody holds the lock of `pause`."""
        self._pause = pause
        self._left_s, self._pause_left_s = limit_s, _PAUSE * limit_s

    def __bool__(self) -> bool:
        """Whether any time is left."""
        return self._left_s > 0

    def wait(self, event: threading.Event) -> bool:
        """Wait for an event until no time is left; return whether it happened."""
        is_set = event.is_set()
        while self and not is_set:
            started_at = time.monotonic()
            is_set = event.wait(min(_STEP_S, self._left_s))
            waited_s = time.monotonic() - started_at
            if self._pause_left_s > 0 and self._is_paused():
                self._pause_left_s -= waited_s
            else:
                self._left_s -= waited_s
        return is_set

    def _is_paused(self) -> bool:
        try:
            return self._pause is not None and self._pause.exists() and not is_free(self._pause)
        except OSError:  # this user may not open the file
            return False


class WriteLock:
    """A lock of a store in a folder, such as the one that a unit of work holds while it runs.

    The engine's own lock is not enough for that: `dolt_commit` frees it while the transaction
    still seems open.
    """

    def __init__(self, path: Path, limit_s: float) -> None:
        """Set the lock file, made when first needed.

        A wait takes at most `limit_s` seconds, and up to five times as many if the store is
        compacted meanwhile.
        """
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
            lock_handle = take(self._path, Patience(limit_s, self._path.with_name(PAUSE_FILE)))
        except OSError as exc:
            raise of_system(exc, self._path, writing=True) from exc
        try:
            yield lock_handle is not None
        finally:
            if lock_handle is not None:
                lock_handle.close()


class LockHandle:
    """The locked file of somebody who holds a lock.

    The lock is free after `close`, and also once nobody refers to the handle: so an exception at
    any point, such as Ctrl-C, leaves no lock behind. A process that is forked from this one has the
    file open, too: so `close` frees the lock itself, and does so only in the process that took it.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, which is made if it is missing.

        Raises:
            OSError: the file cannot be made or opened.
        """
        self._number, self._process = -1, os.getpid()
        self._number = _opened(path)

    def fileno(self) -> int:
        """Return the file's number for the system; -1 once it is closed."""
        return self._number

    def close(self) -> None:
        """Free the lock; closing twice is harmless."""
        if self._number >= 0 and os.getpid() == self._process:
            fcntl.flock(self._number, fcntl.LOCK_UN)
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    __del__ = close


def take(path: Path, patience: Patience | None = None) -> LockHandle | None:
    """Lock a file, which is made if it is missing.

    Args:
        path: the file.
        patience: how long to wait; None: not at all.

    Returns:
        The handle that holds the lock; None if another holder kept it for longer than that.

    Raises:
        OSError: the file cannot be made, opened or locked.
    """
    lock_handle = LockHandle(path)
    try:
        fcntl.flock(lock_handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if patience:
            return lock_handle if _wait(lock_handle, patience) else None
        lock_handle.close()
        return None
    except BaseException:
        lock_handle.close()
        raise
    return lock_handle


def take_all(paths: Sequence[Path], patience: Patience) -> list[LockHandle] | None:
    """Lock files one after the other; return their handles, or None if one was not free in time.

    Raises:
        OSError: a file cannot be made, opened or locked.
    """
    with ExitStack() as until_all_are_locked:
        lock_handles: list[LockHandle] = []
        for path in paths:
            if (lock_handle := take(path, patience)) is None:
                return None
            until_all_are_locked.callback(lock_handle.close)
            lock_handles.append(lock_handle)
        until_all_are_locked.pop_all()
        return lock_handles


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock of a file, which is made if it is missing.

    Raises:
        OSError: the file cannot be made, opened or locked.
    """
    lock_handle = _opened(path)
    try:
        fcntl.flock(lock_handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: others may ask meanwhile
        fcntl.flock(lock_handle, fcntl.LOCK_UN)  # a process forked now has the file open, too
    except BlockingIOError:
        return False
    finally:
        os.close(lock_handle)
    return True


def read_note(path: Path) -> str:
    """Return what a lock's file says; most say nothing.

    Raises:
        OSError: the file is missing, or cannot be opened.
    """
    lock_handle = _opened(path, os.O_RDONLY)
    try:
        return os.pread(lock_handle, _NOTE_BYTES, 0).decode("ascii", "replace")
    finally:
        os.close(lock_handle)


def write_note(path: Path, note: str) -> None:
    """Write a few letters into a lock's file; for the holder of the lock.

    Raises:
        OSError: the file cannot be written, or is another file too, by a hard link.
    """
    lock_handle = _opened(path)
    try:
        if os.fstat(lock_handle).st_nlink > 1:
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK), str(path))
        os.ftruncate(lock_handle, 0)
        os.pwrite(lock_handle, note.encode("ascii"), 0)
    finally:
        os.close(lock_handle)


def _opened(path: Path, access: int = os.O_RDWR | os.O_CREAT) -> int:
    """Open the file of a lock, which is made if it is missing. Links are not followed.

    Raises:
        OSError: this user may not, or it is a link, a folder, a pipe or a device.
    """
    flags = access | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would keep us waiting
    lock_handle = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(lock_handle).st_mode):
        os.close(lock_handle)
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return lock_handle


def _wait(handle: LockHandle, patience: Patience) -> bool:
    """Wait for the lock in the kernel, which serves waiters in order; return whether it was got.

    A `flock` that blocks has no time limit, so another thread blocks in it. If this thread gives
    up, the other one closes the handle as soon as it has the lock.
    """
    guard = threading.Lock()
    locked_event, given_up_event = threading.Event(), threading.Event()

    def block() -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with guard:
            locked_event.set()
            if given_up_event.is_set():
                handle.close()

    def give_up() -> None:
        with guard:
            given_up_event.set()
            if locked_event.is_set():
                handle.close()

    threading.Thread(target=block, name="day1-lock", daemon=True).start()
    has_lock = False
    try:
        has_lock = patience.wait(locked_event)
    finally:
        if not has_lock:  # the time is over, or there was an exception, such as Ctrl-C
            give_up()
    return has_lock
