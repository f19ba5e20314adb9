"""Calls for asyncio: each runs in a worker thread; a cancelled one says if it was done."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from day1.errors import HandleClosed
from day1.interfaces.python.calls import Calls, Who
from day1.interfaces.python.lifetime import closed, refuse_fork

if TYPE_CHECKING:
    from day1.call.fields import Response

T = TypeVar("T")

_THREADS: Final = 8
"""Calls of one handle that run at once; the others wait."""


class AsyncCalls:
    """Calls operations of one memory from tasks of any event loop."""

    def __init__(self, calls: Calls, pool: ThreadPoolExecutor) -> None:
        """Make calls by `calls`, in threads of `pool`."""
        self._calls, self._pool = calls, pool
        self._process = os.getpid()
        self._closed = False
        """Whether further calls are refused."""
        self._ended = False
        """Whether the memory is closed: a `close` that was cancelled before its turn is not."""

    @property
    def place(self) -> str:
        """Where the memory is: see `Calls.place`."""
        return self._calls.place

    async def ask(self, operation: str, arguments: Mapping[str, Any], who: Who) -> Response:
        """Call an operation: see `Calls.ask`."""
        return await self._run(partial(self._calls.ask, operation, arguments, who))

    async def ask_plainly(
        self, operation: str, arguments: Mapping[str, Any], who: Who
    ) -> dict[str, Any]:
        """Call an operation and return its answer as JSON: see `Calls.ask_plainly`."""
        return await self._run(partial(self._calls.ask_plainly, operation, arguments, who))

    async def close(self) -> None:
        """Wait for running calls and close; closing twice is harmless."""
        if os.getpid() != self._process or self._ended:
            return
        self._closed = True
        with suppress(HandleClosed):  # a task of another event loop has closed it meanwhile
            await finished(self._pool, self._calls.close)
        self._ended = True
        self._pool.shutdown(wait=False)

    async def _run(self, call: Callable[[], T]) -> T:
        refuse_fork(self._process)  # a forked process has none of the threads
        if self._closed:
            raise closed()
        return await finished(self._pool, call)


def new_pool() -> ThreadPoolExecutor:
    """Create the thread pool of a handle."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="day1")


async def finished(pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    """Run a call in a thread; when cancelled, drop the call or wait until it has finished.

    Raises:
        CancelledError: the task was cancelled; a note says which of both it is.
        HandleClosed: the pool takes no calls, since its handle was closed.
    """
    try:
        call_future = pool.submit(call)
    except RuntimeError as exc:
        raise closed() from exc
    awaited_future = asyncio.wrap_future(call_future)
    try:
        return await asyncio.shield(awaited_future)
    except asyncio.CancelledError as exc:
        if call_future.cancel():
            exc.add_note("day1: the call had not begun, so nothing was done.")
            raise
        while not awaited_future.done():
            with suppress(asyncio.CancelledError):  # it is raised below
                await asyncio.wait([awaited_future])
        failure = awaited_future.exception()  # asked for, or asyncio would log that nobody did
        outcome = f"failed: {failure}" if failure else "was finished"
        exc.add_note(f"day1: the call had begun, and {outcome}.")
        raise
