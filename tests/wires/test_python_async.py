"""`await day1.aconnect`: the same memory for tasks; a cancelled call is done or was not begun."""

import asyncio
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import day1
from day1 import errors
from day1.interfaces.python.asynchronous.calls import finished, new_pool
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import ROOT
from tests.wires.python_places import QUIET


@pytest.fixture(params=["folder", "http"])
def aconnect(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    folder = tmp_path / "store"
    if request.param == "folder":
        yield lambda **options: day1.aconnect(folder, settings=QUIET, **options)
        return
    with HttpServer(folder) as server:
        yield lambda **options: day1.aconnect(server.address, **options)


def test_the_classes_are_what_the_script_makes_of_the_others() -> None:
    script = [sys.executable, "scripts/asynchronous.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done


@pytest.mark.parametrize("name", [name for name in day1.__all__ if name.startswith("Async")])
def test_each_class_has_the_methods_of_its_twin(name: str) -> None:
    one, other = getattr(day1, name), getattr(day1, name.removeprefix("Async"))

    def names(kind: type) -> set[str]:
        return {each for each, _ in inspect.getmembers(kind) if not each.startswith("_")}

    assert names(one) == names(other)


def test_a_story_is_told_with_await(aconnect: Callable[..., Any]) -> None:
    async def story() -> None:
        async with await aconnect(agent="writer") as memory:
            made = await memory.add("The lathe needs oil.")
            async with memory.branch("trial") as trial:
                await trial.update(made.id, text="The lathe needs oil on Mondays.")
                await memory.update(made.id, text="The lathe needs oil on Fridays.")
                async with trial.batch("more") as batch:
                    batch.add("The lathe is loud.")
                preview = await trial.preview()
                merge = await preview.merge()
                for item in await merge.held():
                    await item.decide("theirs")
            assert (await memory.search("oil"))[0].fact_text == "The lathe needs oil on Mondays."
            then = await memory.as_of(made.created_at).rows("fact")
            assert [row["fact_text"] for row in then] == ["The lathe needs oil."]
            review = await (await memory.create_branch("next")).review()
            assert (await review.close()).status == "closed"
            assert (await memory.call("memory_branch_list"))["result"]
            with pytest.raises(errors.UnknownBranch, match=r"memory\.branches"):
                await memory.branch("nowhere").log()
            await memory.settle()
        with pytest.raises(errors.HandleClosed):
            await memory.log()
        await memory.close()

    asyncio.run(story())


def test_many_tasks_write_at_once_and_lose_nothing(aconnect: Callable[..., Any]) -> None:
    async def write() -> int:
        async with await aconnect() as memory:
            await asyncio.gather(*(memory.add(f"Task {n} was here.") for n in range(32)))
            return (await memory.rows("fact")).total

    assert asyncio.run(write()) == 32


def test_one_handle_serves_several_event_loops(aconnect: Callable[..., Any]) -> None:
    memory = asyncio.run(aconnect())
    asyncio.run(memory.add("From one loop."))
    assert asyncio.run(memory.search("loop"))[0].fact_text == "From one loop."
    asyncio.run(memory.close())


def test_a_cancelled_write_is_done_or_was_not_begun(aconnect: Callable[..., Any]) -> None:
    """What was cancelled is counted by what its note says, and the memory agrees."""

    async def write() -> tuple[list[str], int]:
        async with await aconnect() as memory:

            async def one(number: int) -> str:
                try:
                    await memory.add(f"Number {number}.")
                except asyncio.CancelledError as exc:
                    return str(exc.__notes__[0])
                return "was finished"

            tasks = [asyncio.create_task(one(number)) for number in range(24)]
            await tasks[0]
            for task in tasks:
                task.cancel()
            told = [await task for task in tasks]
            return told, (await memory.rows("fact")).total

    told, total = asyncio.run(write())
    assert sum("was finished" in note for note in told) == total
    assert sum("nothing was done" in note for note in told) == 24 - total > 0


def test_a_call_that_has_begun_is_finished_however_often_it_is_cancelled() -> None:
    begun, go_on, ends = threading.Event(), threading.Event(), []

    def call() -> None:
        begun.set()
        assert go_on.wait(10)
        ends.append("done")

    async def cancel() -> list[str]:
        pool = new_pool()
        task = asyncio.create_task(finished(pool, call))
        await asyncio.to_thread(begun.wait, 10)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with suppress(asyncio.CancelledError):
            await task
        pool.shutdown()
        assert task.cancelled()
        return ends

    assert asyncio.run(cancel()) == ["done"]


def test_a_cancelled_call_that_fails_says_how() -> None:
    """Whether a call took effect, and its request id, is told by its error alone."""
    begun, go_on = threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        assert go_on.wait(10)
        raise errors.StoreUnavailable("It may have taken effect: call again with request_id='r'.")

    async def cancel() -> list[str]:
        pool = new_pool()
        task = asyncio.create_task(finished(pool, call))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        pool.shutdown()
        return cancelled.value.__notes__

    (note,) = asyncio.run(cancel())
    assert "nothing was done" not in note
    assert "request_id='r'" in note


def test_a_close_that_is_cancelled_before_its_turn_is_done_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    closings: list[None] = []

    async def close() -> None:
        memory = await day1.aconnect(tmp_path / "store", settings=QUIET)
        pool, calls = memory._calls._pool, memory._calls._calls
        close_store = calls.close

        def close_once() -> None:
            close_store()
            closings.append(None)

        monkeypatch.setattr(calls, "close", close_once)
        running = [asyncio.wrap_future(pool.submit(go_on.wait, 10)) for _ in range(8)]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await memory.close()
        with pytest.raises(errors.HandleClosed):
            await memory.log()
        go_on.set()
        await asyncio.gather(*running)
        assert not closings
        await memory.close()
        await memory.close()

    asyncio.run(close())
    assert len(closings) == 1


def test_a_memory_that_another_event_loop_closes_meanwhile_is_closed(tmp_path: Path) -> None:
    """The other loop closes after this one has looked whether the memory is open."""

    async def use() -> None:
        memory = await day1.aconnect(tmp_path / "store", settings=QUIET)
        memory._calls._calls.close()
        memory._calls._pool.shutdown()
        with pytest.raises(errors.HandleClosed):
            await memory.log()
        await memory.close()

    asyncio.run(use())


def test_a_forked_process_is_told_so(tmp_path: Path) -> None:
    async def ask() -> str:
        async with await day1.aconnect(tmp_path / "store", settings=QUIET) as memory:
            memory._calls._process = os.getpid() + 1  # as in a fork, which has no threads
            with pytest.raises(errors.UsedAfterFork) as refused:
                await memory.log()
            memory._calls._process = os.getpid()
            return refused.value.code

    assert asyncio.run(ask()) == "used_after_fork"


def test_what_cannot_be_connected_leaves_nothing_open(tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(errors.NotAStore):
        asyncio.run(day1.aconnect(tmp_path / "store", create=False))
    with pytest.raises(errors.InvalidRequest):
        asyncio.run(day1.aconnect(tmp_path / "store", colour="red"))  # type: ignore[call-arg]  # unknown
    assert threading.active_count() <= before + 1
