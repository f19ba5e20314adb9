"""The lifetime of a handle: until it is closed, in the process that connected, for its threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from day1.errors import HandleClosed, UsedAfterFork


class Lifetime:
    """Counts the running calls of a handle by thread, so that closing it waits for them."""

    def __init__(self, owner: object, close: Callable[[], None]) -> None:
        """Begin now; `close` runs once: when closed, when `owner` is gone, or as Python exits."""
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._calls_by_thread: Counter[int] = Counter()
        self._closed = False
        self._last_call_closes = False
        self._close = weakref.finalize(owner, _close_here, self._process, close)

    @contextmanager
    def using(self) -> Iterator[None]:
        """Count a call during the block.

        Raises:
            UsedAfterFork: this process was forked from the one that connected.
            HandleClosed: the handle was closed.
        """
        refuse_fork(self._process)  # before the lock, which another thread may have held
        thread = threading.get_ident()
        with self._changed:
            self._calls_by_thread[thread] += 1
        try:
            if self._closed:  # after counting: a signal handler that closes next sees this call
                raise closed()
            yield
        finally:
            with self._changed:
                self._calls_by_thread[thread] -= 1
                if not self._calls_by_thread[thread]:
                    del self._calls_by_thread[thread]
                self._changed.notify_all()
                closes = self._last_call_closes and not self._calls_by_thread
            if closes:
                self._close()

    def close(self) -> None:
        """Refuse further calls, wait for those that run, and close; twice is harmless.

        A call of this thread that runs, which a signal handler interrupted, cannot be waited for:
        then the last call that ends closes.
        """
        if os.getpid() != self._process:
            return
        with self._changed:
            self._closed = True
            if threading.get_ident() in self._calls_by_thread:
                self._last_call_closes = True
                return
            self._changed.wait_for(lambda: not self._calls_by_thread)
        self._close()


def refuse_fork(process: int) -> None:
    """Refuse a call in another process than the one that connected.

    Raises:
        UsedAfterFork: this process was forked from it.
    """
    if os.getpid() != process:
        raise UsedAfterFork(
            "This process was forked after `day1.connect`, and a connection is of one process: "
            "call `day1.connect` again here."
        )


def closed() -> HandleClosed:
    """Build the error for a call after the handle was closed."""
    return HandleClosed(
        "This memory was closed: call `day1.connect` again, or make the call before `close()` and "
        "inside of the `with` block."
    )


def _close_here(process: int, close: Callable[[], None]) -> None:
    """Close in the process that connected: a forked one would close the other's files."""
    if os.getpid() == process:
        close()
