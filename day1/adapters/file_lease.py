"""A lease by the lock of a file, for stores in folders: the kernel frees it with the process."""

import fcntl
import os
from pathlib import Path

from typing_extensions import override

from day1.adapters.failures import of_system
from day1.adapters.flock import LockHandle, take
from day1.ports.lease import Lease


class FileLease(Lease):
    """The lease of the process that holds the lock of a file."""

    def __init__(self, path: Path) -> None:
        """Set the lock file; the lease is not taken yet."""
        self._path = path
        self._handle: LockHandle | None = None

    @override
    def acquire(self) -> bool:
        if self._handle is None:
            try:
                self._handle = take(self._path)
            except OSError as exc:
                raise of_system(exc, self._path, writing=True) from exc
        return self._handle is not None

    @override
    def release(self) -> None:
        lock_handle, self._handle = self._handle, None
        if lock_handle is not None:
            lock_handle.close()


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of a file, which is not made if it is missing."""
    try:
        lock_handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise of_system(exc, path, writing=False) from exc
    try:
        fcntl.flock(lock_handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(lock_handle, fcntl.LOCK_UN)  # a process forked now has the file open, too
    except BlockingIOError:
        return True
    finally:
        os.close(lock_handle)
    return False
