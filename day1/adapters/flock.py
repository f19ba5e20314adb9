"""A lock on a file, which excludes other processes and other threads of this one.

It is the kernel's `flock`: freed when its process ends, however it ends. The file stays. To delete
it would give two processes the lock: one of the old file, one of the new.
"""

import fcntl
import os
import threading
from pathlib import Path


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
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if limit_s > 0:
            return handle if _wait(handle, limit_s) else None
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    return handle


def _wait(handle: int, limit_s: float) -> bool:
    """Wait in the kernel, which serves waiters in order; polling would starve some.

    A `flock` that blocks has no time limit, so another thread blocks in it. If this thread gives
    up, the other one closes the handle as soon as it has the lock.
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
    done.wait(limit_s)
    with decided:
        state["given_up"] = not state["got"]
    return state["got"]
