"""Cancelled writes of `Day1Store`."""

import asyncio
import threading

import pytest

pytest.importorskip("langgraph.store.base", reason="the extra `langgraph` is not installed")

import day1
from day1.integrations.langgraph import Day1Store


def test_a_cancelled_write_is_done_when_the_cancellation_comes(memory: day1.Memory) -> None:
    """Else it could be done after the next write, and replace it."""
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(10)

    async def work() -> None:
        task = asyncio.create_task(Day1Store(memory, branch=wait).aput(("a",), "k", {"n": 1}))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        for _ in range(9):
            await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        item = await Day1Store(memory).aget(("a",), "k")
        assert item is not None
        assert item.value == {"n": 1}

    asyncio.run(work())
