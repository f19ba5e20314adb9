"""A replay goes on from the memory of its checkpoint, on a branch of its own."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.checkpoint.memory", reason="the extra `langgraph` is not installed")

from langgraph.checkpoint.memory import InMemorySaver

import day1
from day1 import errors
from day1.integrations.langgraph import Day1Store, forked, stamped
from tests.wires.test_langgraph_stamps import COUNTS, opened, put, saver_class, thread

__all__ = ["saver_class"]
ADDED = (*COUNTS, "added")


def writing(store: Day1Store) -> Any:
    """A graph of six nodes; each counts in one item, adds another, and says what it read."""
    graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed")

    def count(state: dict[str, Any]) -> dict[str, Any]:
        item = store.get(COUNTS, "n")
        seen = 0 if item is None else int(item.value["n"])
        store.put(COUNTS, "n", {"n": seen + 1})
        store.put(ADDED, f"k{seen}", {"by": state["by"]})
        return {**state, "seen": [*state["seen"], seen]}

    builder = graph.StateGraph(dict)
    names = [f"step{number}" for number in range(6)]
    for name in names:
        builder.add_node(name, count)
    builder.add_edge(graph.START, names[0])
    for one, next_one in pairwise(names):
        builder.add_edge(one, next_one)
    return builder


def items(store: Day1Store) -> dict[str, Any]:
    return {item.key: item.value for item in store.search(COUNTS, limit=100)}


def test_a_replay_on_a_fork_grows_from_its_checkpoint_and_merges(
    memory: day1.Memory, saver_class: Any, tmp_path: Path
) -> None:
    store = Day1Store(memory, branch=forked)
    saver = opened(saver_class, memory, tmp_path)
    graph = writing(store).compile(checkpointer=saver, store=store)
    first = graph.invoke({"by": "first", "seen": []}, thread(), durability="sync")
    assert first["seen"] == [0, 1, 2, 3, 4, 5]
    (third,) = [
        state
        for state in graph.get_state_history(thread())
        if len((state.values or {}).get("seen", ())) == 3
    ]
    then, present = items(store.as_of(saver.memory_at(third.config))), items(store)
    assert (then["n"], len(then), len(present)) == ({"n": 3}, 4, 7)
    name = f"{memory.name}/retry"
    branch = saver.fork(third.config, name)
    assert branch.name == name
    retry = store.on(name)
    assert items(retry) == then

    config = {"configurable": {**third.config["configurable"], "day1_branch": name}}
    changed = graph.update_state(config, {**third.values, "by": "retry"})
    config = {"configurable": {**changed["configurable"], "day1_branch": name}}
    again = graph.invoke(None, config, durability="sync")
    assert again["seen"] == [0, 1, 2, 3, 4, 5]
    assert items(store) == present
    assert items(retry) == present | {f"k{n}": {"by": "retry"} for n in (3, 4, 5)}
    newest = next(iter(graph.get_state_history(thread())))
    assert newest.metadata["day1"]["branch"] == name
    assert items(store.as_of(saver.memory_at(newest.config))) == items(retry)

    retry.put(ADDED, "own", {"by": "retry"})
    retry.delete(ADDED, "k0")
    store.delete(ADDED, "k1")
    merge = store.merge(name)
    # Both runs made k3 to k5, each with a value of its own; the count is the same on both.
    assert {item.key for item in merge_held(memory, merge)} == {"k3", "k4", "k5"}
    merged = items(store)
    assert merged.keys() == {"n", "k2", "k3", "k4", "k5", "own"}
    assert {merged[f"k{n}"]["by"] for n in (2, 3, 4, 5)} == {"first"}
    for item in merge.held():
        item.decide("theirs")
    assert {items(store)[f"k{n}"]["by"] for n in (3, 4, 5)} == {"retry"}


def merge_held(memory: day1.Memory, merge: day1.Merge) -> list[Any]:
    """The entries whose values a merge held."""
    ids = {item.row_id for item in merge.held()}
    return [entry for entry in memory.entries() if entry.id in ids]


def test_a_fork_says_what_is_wrong(memory: day1.Memory) -> None:
    store, saver = Day1Store(memory), stamped(InMemorySaver, memory)()
    store.put(COUNTS, "n", {"n": 1})
    config, name = put(saver, thread()), f"{memory.name}/retry"
    saver.fork(config, name)
    with pytest.raises(errors.BranchExists):
        saver.fork(config, name)
    with pytest.raises(errors.InvalidRequest):
        saver.fork(config, "no name of a branch")
    with pytest.raises(errors.NotFound, match="no such checkpoint"):
        saver.fork(thread("nobody"), f"{name}/2")


def test_a_fork_of_a_fork_and_an_asynchronous_one(memory: day1.Memory) -> None:
    store, saver = Day1Store(memory, branch=forked), stamped(InMemorySaver, memory)()
    one, two = f"{memory.name}/one", f"{memory.name}/two"
    for number in range(2):
        store.put(COUNTS, f"k{number}", {"n": number})
    config = put(saver, thread())
    store.put(COUNTS, "k2", {"n": 2})
    asyncio.run(saver.afork(config, one))
    store.on(one).put(COUNTS, "own", {"n": 9})
    later = put(saver, thread(day1_branch=one))
    store.on(one).put(COUNTS, "late", {"n": 10})
    assert asyncio.run(saver.afork(later, two)).name == two
    assert items(store.on(two)).keys() == {"k0", "k1", "own"}
