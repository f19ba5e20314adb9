"""Call a blocking function from asyncio and await its end even if the caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def finished(function: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """Call a function in a worker thread, and wait for its end also if the caller is cancelled.

    So a cancelled caller knows that the change is made, or that it failed.
    """
    task = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **more))
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as exc:
            cancellation = cancellation or exc
    if cancellation is not None:
        task.exception()  # it is the cancellation that the caller asked for
        raise cancellation
    return task.result()
