"""Checkpoints of a `stamped` saver say where the memory stood, and a replay finds it."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.checkpoint.memory", reason="the extra `langgraph` is not installed")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

import day1
from day1 import errors
from day1.integrations.langgraph import Day1Store, per_thread, stamped

COUNTS = ("counts",)
Saver = Any


@pytest.fixture(params=["InMemorySaver", "SqliteSaver"])
def saver_class(request: pytest.FixtureRequest) -> Any:
    if request.param == "InMemorySaver":
        return InMemorySaver
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite", reason="it is not installed")
    return sqlite.SqliteSaver


def opened(kind: Any, memory: day1.Branch, tmp_path: Path, **options: Any) -> Saver:
    """A stamped saver as the framework's page opens it."""
    made = stamped(kind, memory, **options)
    if kind is InMemorySaver:
        return made()
    import sqlite3

    return made(sqlite3.connect(tmp_path / "checkpoints.sqlite", check_same_thread=False))


def thread(name: str = "t", **more: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": name, "checkpoint_ns": "", **more}}


def put(saver: Saver, config: Any, **metadata: Any) -> Any:
    """Write a checkpoint made now, below the one of `config`."""
    return saver.put(config, empty_checkpoint(), {"source": "loop", "step": 1, **metadata}, {})


def counting(store: Day1Store) -> Any:
    """A graph whose node adds one to the counter in its store, and says what it read there."""
    graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed")

    def count(state: dict[str, Any]) -> dict[str, Any]:
        item = store.get(COUNTS, "n")
        seen = 0 if item is None else int(item.value["n"])
        store.put(COUNTS, "n", {"n": seen + 1})
        store.put((*COUNTS, "added"), f"k{seen}", {"n": seen})
        return {"seen": [*state["seen"], seen]}

    builder = graph.StateGraph(dict)
    names = [f"step{number}" for number in range(4)]
    for name in names:
        builder.add_node(name, count)
    builder.add_edge(graph.START, names[0])
    for one, next_one in pairwise(names):
        builder.add_edge(one, next_one)
    return builder


def counted(then: Any) -> int | None:
    """The counter of a store or memory of the past."""
    item = then.get(COUNTS, "n")
    return None if item is None else int(item.value["n"])


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_each_checkpoint_of_a_graph_finds_the_memory_of_then(
    memory: day1.Memory, saver_class: Any, tmp_path: Path, durability: str
) -> None:
    store, saver = Day1Store(memory), opened(saver_class, memory, tmp_path)
    graph = counting(store).compile(checkpointer=saver, store=store)
    assert graph.invoke({"seen": []}, thread(), durability=durability)["seen"] == [0, 1, 2, 3]
    store.put(COUNTS, "n", {"n": 99})
    states = list(graph.get_state_history(thread()))
    for state in states:
        expected = len((state.values or {}).get("seen", ()))
        then = store.as_of(saver.memory_at(state.config))
        assert (counted(then) or 0) == expected
        assert len(then.search((*COUNTS, "added"))) == expected
        assert state.metadata["day1"]["branch"] == memory.name
    assert len(states) == (1 if durability == "exit" else 6)
    assert counted(store) == 99


def test_a_checkpoint_that_is_written_late_has_the_memory_of_when_it_was_made(
    memory: day1.Memory, saver_class: Any, tmp_path: Path
) -> None:
    # LangGraph writes a checkpoint in the background while the next nodes already run.
    store, saver = Day1Store(memory), opened(saver_class, memory, tmp_path)
    store.put(COUNTS, "n", {"n": 1})
    made = empty_checkpoint()
    store.put(COUNTS, "n", {"n": 2})
    config = saver.put(thread(), made, {"source": "loop", "step": 1}, {})
    assert counted(store.as_of(saver.memory_at(config))) == 1
    assert counted(store.as_of(saver.memory_at(put(saver, config)))) == 2


def test_checkpoints_of_two_branches_find_each_its_own(
    memory: day1.Memory, saver_class: Any, tmp_path: Path
) -> None:
    def branch() -> str:
        return f"{memory.name}/{per_thread()}"

    store = Day1Store(memory, branch=branch)
    saver = opened(saver_class, memory, tmp_path, branch=branch)
    graph = counting(store).compile(checkpointer=saver, store=store)
    Day1Store(memory).put(COUNTS, "n", {"n": 10})
    for name, first in (("one", 10), ("two", 10)):
        said = graph.invoke({"seen": []}, thread(name))
        assert said["seen"] == [first + number for number in range(4)]
    for name in ("one", "two"):
        newest, *_, begun = graph.get_state_history(thread(name))
        then = saver.memory_at(newest.config)
        assert (then.name, counted(store.as_of(then))) == (f"{memory.name}/thread/{name}", 14)
        # Before the first write the branch was not there: the memory's own is the one it is made of.
        then = saver.memory_at(begun.config)
        assert (then.name, counted(store.as_of(then))) == (memory.name, 10)
    assert counted(Day1Store(memory)) == 10


def test_a_stamp_is_of_its_own_checkpoint(
    memory: day1.Memory, saver_class: Any, tmp_path: Path
) -> None:
    store, saver = Day1Store(memory), opened(saver_class, memory, tmp_path)
    store.put(COUNTS, "n", {"n": 1})
    first = put(saver, thread())
    store.put(COUNTS, "n", {"n": 2})
    copied = put(saver, first, **saver.get_tuple(first).metadata)
    assert counted(store.as_of(saver.memory_at(first))) == 1
    assert counted(store.as_of(saver.memory_at(copied))) == 2
    assert counted(store.as_of(saver.memory_at(thread()))) == 2
    with pytest.raises(errors.Refused):
        store.as_of(saver.memory_at(first)).put(COUNTS, "n", {"n": 3})


def test_an_asynchronous_saver_stamps_too(memory: day1.Memory, tmp_path: Path) -> None:
    store = Day1Store(memory)

    async def through(saver: Saver) -> None:
        first = await saver.aput(thread(), empty_checkpoint(), {"source": "loop", "step": 1}, {})
        await store.aput(COUNTS, "n", {"n": 1})
        next_one = await saver.aput(first, empty_checkpoint(), {"source": "loop", "step": 2}, {})
        assert await store.as_of(await saver.amemory_at(first)).aget(COUNTS, "n") is None
        assert await store.as_of(await saver.amemory_at(next_one)).aget(COUNTS, "n")

    asyncio.run(through(stamped(InMemorySaver, memory)()))
    store.delete(COUNTS, "n")
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite.aio", reason="it is not installed")

    async def over_sqlite() -> None:
        made = stamped(sqlite.AsyncSqliteSaver, memory)
        async with made.from_conn_string(str(tmp_path / "checkpoints")) as saver:
            await through(saver)

    asyncio.run(over_sqlite())


def test_a_checkpoint_without_a_stamp_is_not_found(memory: day1.Memory) -> None:
    plain, saver = InMemorySaver(), stamped(InMemorySaver, memory)()
    saver.storage = plain.storage
    saver.blobs = plain.blobs
    config = put(plain, thread())
    with pytest.raises(errors.NotFound, match="no stamp"):
        saver.memory_at(config)
    with pytest.raises(errors.NotFound, match="no such checkpoint"):
        saver.memory_at(thread("nobody"))


@pytest.mark.parametrize("wrong_s", [-3_600, 3_600])
def test_the_times_of_a_server_with_another_clock_are_its_own(
    memory: day1.Memory, monkeypatch: pytest.MonkeyPatch, wrong_s: int
) -> None:
    from day1.integrations.langgraph import stamping

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(seconds=wrong_s)

    monkeypatch.setattr(stamping, "datetime", Wrong)
    store, saver = Day1Store(memory), stamped(InMemorySaver, memory)()
    store.put(COUNTS, "n", {"n": 1})
    made = {**empty_checkpoint(), "ts": Wrong.now(UTC).isoformat()}
    config = saver.put(thread(), made, {"source": "loop", "step": 1}, {})
    store.put(COUNTS, "n", {"n": 2})
    assert counted(store.as_of(saver.memory_at(config))) == 1


def test_a_slow_answer_of_another_clock_loses_no_write_that_was_answered() -> None:
    behind = timedelta(hours=1)

    class Slow:
        """A branch of a server whose clock is behind, and whose answers take their time."""

        name = "main"

        def branch(self, name: str) -> "Slow":
            return self

        def call(self, operation: str) -> dict[str, str]:
            read = (datetime.now(UTC) - behind).isoformat()
            time.sleep(0.05)
            return {"now": read, "newest": read}

    saver = stamped(InMemorySaver, Slow())()  # type: ignore[arg-type]  # all that is asked of it
    answered = datetime.now(UTC) - behind
    stamp = saver.get_tuple(put(saver, thread())).metadata["day1"]
    assert datetime.fromisoformat(stamp["at"]) >= answered


def test_on_a_branch_that_is_ahead_of_the_clock_its_newest_row_counts() -> None:
    class Ahead:
        """A branch with a row of a wrong clock."""

        name = "main"

        def branch(self, name: str) -> "Ahead":
            return self

        def call(self, operation: str) -> dict[str, str]:
            return {"now": "2026-01-01T00:00:00Z", "newest": "2027-01-01T00:00:00Z"}

    saver = stamped(InMemorySaver, Ahead())()  # type: ignore[arg-type]  # all that is asked of it
    stamp = saver.get_tuple(put(saver, thread())).metadata["day1"]
    assert (stamp["branch"], stamp["at"]) == ("main", "2027-01-01T00:00:00+00:00")
