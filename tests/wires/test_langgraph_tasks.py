"""Tasks that LangGraph runs side by side write on branches of their own, which a node merges."""

import asyncio
import operator
import threading
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.graph", reason="langgraph is not installed")

from langgraph import graph as graphs
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Send

import day1
from day1 import errors
from day1.integrations.langgraph import Day1Store, per_thread
from tests.wires.python_places import QUIET

NOTES = ("notes",)
NAMES = ("oil", "sand", "water")


class State(TypedDict):
    """What a graph of these tests passes on: what its nodes say, and the name of a task's note."""

    said: Annotated[list[Any], operator.add]
    note: str


class Said(TypedDict):
    """What a graph of subgraphs that run side by side passes on."""

    said: Annotated[list[Any], operator.add]


def thread(name: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def fanned_out(work: Any, join: Any) -> Any:
    """A graph that works on three notes side by side, and joins the tasks in a node."""
    builder = graphs.StateGraph(State)
    builder.add_node("work", work)
    builder.add_node("join", join)
    builder.add_conditional_edges(
        graphs.START,
        lambda state: [Send("work", {"note": name, "said": state["said"]}) for name in NAMES],
        ["work"],
    )
    builder.add_edge("work", "join")
    return builder.compile()


def noted(store: Day1Store, note: str) -> dict[str, Any]:
    """Write a note, change an item that all tasks change, and say how many notes are seen."""
    store.put(NOTES, note, {"text": f"Ann spoke of {note}."})
    store.put(NOTES, "last", {"text": note})
    return {"said": [len(store.search(NOTES))]}


def joined(store: Day1Store) -> dict[str, Any]:
    return {"said": [("held", sum(merge.held_count for merge in store.merge_parallel()))]}


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with day1.connect(tmp_path / "memory", settings=QUIET) as memory:
        yield memory


def notes(store: Day1Store) -> set[str]:
    return {item.key for item in store.search(NOTES)}


def test_tasks_do_not_see_each_other_and_a_merge_holds_what_they_all_changed(memory: Any) -> None:
    store = Day1Store(memory)
    store.put(NOTES, "last", {"text": "none"})

    def work(state: State) -> dict[str, Any]:
        with store.parallel() as own:
            assert own is store
            return noted(own, state["note"])

    graph = fanned_out(work, lambda _: joined(store))
    assert graph.invoke({"said": [], "note": ""}, thread())["said"] == [2, 2, 2, ("held", 2)]
    assert notes(store) == {*NAMES, "last"}
    assert [each.branch_name for each in memory.branches()] == ["main"]
    assert len(memory.held()) == 2


def test_async_nodes_and_what_they_call_are_on_the_branch_of_the_task(memory: Any) -> None:
    store = Day1Store(memory)

    def inner(state: State) -> dict[str, Any]:
        return noted(store, f"{state['note']}-inner")

    below = graphs.StateGraph(State).add_node("inner", inner).add_edge(graphs.START, "inner")
    graph_below = below.compile()

    async def work(state: State) -> dict[str, Any]:
        async with store.parallel():
            answer = await graph_below.ainvoke({"said": [], "note": state["note"]})
            item = await store.aget(NOTES, f"{state['note']}-inner")
            assert item is not None
            return {"said": answer["said"]}

    async def join(_: State) -> dict[str, Any]:
        assert notes(store) == set()
        return await asyncio.to_thread(joined, store)

    graph = fanned_out(work, join)
    said = asyncio.run(graph.ainvoke({"said": [], "note": ""}, thread()))["said"]
    assert said == [2, 2, 2, ("held", 2)]
    assert notes(store) == {*(f"{name}-inner" for name in NAMES), "last"}


def test_a_task_merges_what_its_own_tasks_wrote_into_its_branch(memory: Any) -> None:
    store = Day1Store(memory)

    def inner(state: State) -> dict[str, Any]:
        with store.parallel():
            store.put(NOTES, f"inner-{state['note']}", {"n": 1})
        return {"said": []}

    def inner_join(_: State) -> dict[str, Any]:
        store.merge_parallel()
        return {"said": [sorted(notes(store))]}

    graph_below = fanned_out(inner, inner_join)

    def work(state: State) -> dict[str, Any]:
        with store.parallel():
            store.put(NOTES, state["note"], {"n": 1})
            return {"said": graph_below.invoke({"said": [], "note": ""})["said"]}

    graph = fanned_out(work, lambda _: joined(store))
    said = graph.invoke({"said": [], "note": ""}, thread("Some thread"))["said"]
    below = sorted(f"inner-{name}" for name in NAMES)
    assert said == [*([*below, name] for name in NAMES), ("held", 0)]
    assert notes(store) == {*NAMES, *below}
    assert len(memory.branches()) == 1


def test_only_the_tasks_of_the_same_thread_and_branch_are_merged(memory: Any) -> None:
    store = Day1Store(memory)

    def work(state: State) -> dict[str, Any]:
        with store.parallel():
            return noted(store, state["note"])

    fanned_out(work, lambda _: {"said": []}).invoke({"said": [], "note": ""}, thread("other"))
    other = Day1Store(memory, branch="run")
    other.put(NOTES, "run", {"n": 1})
    said: list[Any] = []

    def join(_: State) -> dict[str, Any]:
        said.append([len(each.merge_parallel()) for each in (other, store)])
        return {"said": []}

    fanned_out(work, join).invoke({"said": [], "note": ""}, thread("t"))
    assert said == [[0, 3]]
    assert len(memory.branches()) == 2 + 3


def chained(*nodes: Any, state: Any = State) -> Any:
    """A graph that runs nodes one after the other."""
    builder = graphs.StateGraph(state).add_sequence([(node.__name__, node) for node in nodes])
    return builder.set_entry_point(nodes[0].__name__).compile()


def test_a_subgraph_merges_no_task_of_another_one_that_still_runs(memory: Any) -> None:
    store = Day1Store(memory)
    begun, merged = threading.Event(), threading.Event()

    def slow(_: Said) -> dict[str, Any]:
        with store.parallel():
            store.put(NOTES, "slow", {"done": False})
            begun.set()
            assert merged.wait(60)
            store.put(NOTES, "slow", {"done": True})
        return {"said": []}

    def fast(_: Said) -> dict[str, Any]:
        assert begun.wait(60)
        with store.parallel():
            store.put(NOTES, "fast", {"done": True})
        return {"said": []}

    def fast_join(_: Said) -> dict[str, Any]:
        try:
            store.merge_parallel()
            return {"said": [sorted(notes(store))]}
        finally:
            merged.set()

    builder = graphs.StateGraph(Said)
    builder.add_node("A", chained(slow, state=Said))
    builder.add_node("B", chained(fast, fast_join, state=Said))
    builder.add_node("join", lambda _: {"said": [len(store.merge_parallel())]})
    builder.add_edge(graphs.START, "A").add_edge(graphs.START, "B").add_edge(["A", "B"], "join")
    graph: Any = builder.compile()
    assert graph.invoke({"said": []}, thread())["said"] == [["fast"], 1]
    assert {item.key: item.value["done"] for item in store.search(NOTES)} == {
        "fast": True,
        "slow": True,
    }
    assert [each.branch_name for each in memory.branches()] == ["main"]


@pytest.mark.parametrize("slow", ["oil", "sand"])
def test_a_graph_that_a_node_calls_twice_at_once_merges_tasks_of_its_own_call(
    memory: Any, slow: str
) -> None:
    store = Day1Store(memory)

    async def nodes(_: State) -> dict[str, Any]:
        begun, merged = asyncio.Event(), asyncio.Event()

        async def work(state: State) -> dict[str, Any]:
            async with store.parallel():
                await store.aput(NOTES, state["note"], {"n": 1})
                if state["note"] == slow:
                    begun.set()
                    await merged.wait()
            return {"said": []}

        async def join(state: State) -> dict[str, Any]:
            if state["note"] != slow:
                await begun.wait()
            merges = await asyncio.to_thread(store.merge_parallel)
            merged.set()
            return {"said": [len(merges)]}

        below = chained(work, join)
        calls = [below.ainvoke({"said": [], "note": name}) for name in ("oil", "sand")]
        return {"said": [answer["said"] for answer in await asyncio.gather(*calls)]}

    graph = chained(nodes)
    said = asyncio.run(graph.ainvoke({"said": [], "note": ""}, thread()))["said"]
    assert said == [[1], [1]]
    assert notes(store) == {"oil", "sand"}


def test_a_subgraph_merges_tasks_of_a_graph_below_it_that_keeps_its_state(memory: Any) -> None:
    store = Day1Store(memory)

    def work(_: Said) -> dict[str, Any]:
        with store.parallel():
            store.put(NOTES, "oil", {"n": 1})
        return {"said": []}

    def join(_: Said) -> dict[str, Any]:
        return {"said": [len(store.merge_parallel())]}

    below: Any = graphs.StateGraph(Said)
    below.add_node("work", work).set_entry_point("work")
    middle: Any = graphs.StateGraph(Said)
    middle.add_node("below", below.compile(checkpointer=True)).add_node("join", join)
    middle.set_entry_point("below").add_edge("below", "join")
    outer = graphs.StateGraph(Said).add_node("middle", middle.compile()).set_entry_point("middle")
    graph: Any = outer.compile(checkpointer=InMemorySaver())
    for _ in range(2):
        assert graph.invoke({"said": []}, thread())["said"][-1] == 1
    assert notes(store) == {"oil"}


def test_branches_of_earlier_versions_are_merged_by_any_join_of_the_thread(memory: Any) -> None:
    store = Day1Store(memory)
    for number in range(2):
        branch = memory.create_branch(f"parallel/t/{number:024x}")
        store.on(branch.name).put(NOTES, str(number), {"n": number})
    memory.create_branch(f"parallel/t/{3:024x}", description='Task of LangGraph: "a:1|b:2"')

    def join(_: State) -> dict[str, Any]:
        return {"said": [len(store.merge_parallel())]}

    below = chained(join)
    graph: Any = (
        graphs.StateGraph(State).add_node("below", below).set_entry_point("below").compile()
    )
    assert graph.invoke({"said": [], "note": ""}, thread())["said"] == [3]
    assert notes(store) == {"0", "1"}


def test_a_merge_that_was_interrupted_is_finished_by_the_next(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Day1Store(memory)

    def work(state: State) -> dict[str, Any]:
        with store.parallel():
            return noted(store, state["note"])

    def join(_: State) -> dict[str, Any]:
        with monkeypatch.context() as patched:
            patched.setattr(day1.Branch, "drop", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.merge_parallel()
        return joined(store)

    fanned_out(work, join).invoke({"said": [], "note": ""}, thread())
    assert notes(store) == {*NAMES, "last"}
    assert [each.branch_name for each in memory.branches()] == ["main"]


def test_as_of_in_a_task_reads_the_past_of_its_branch(memory: Any) -> None:
    store = Day1Store(memory)

    def work(state: State) -> dict[str, Any]:
        with store.parallel() as own:
            own.put(NOTES, state["note"], {"n": 1})
            moment = own.search(NOTES)[0].created_at
            own.put(NOTES, state["note"], {"n": 2})
            return {"said": [item.value["n"] for item in own.as_of(moment).search(NOTES)]}

    graph = fanned_out(work, lambda _: joined(store))
    assert graph.invoke({"said": [], "note": ""}, thread())["said"] == [1, 1, 1, ("held", 0)]


def test_the_branch_of_a_thread_is_made_when_its_first_tasks_begin(memory: Any) -> None:
    store = Day1Store(memory, branch=per_thread)

    def work(state: State) -> dict[str, Any]:
        with store.parallel():
            return noted(store, state["note"])

    graph = fanned_out(work, lambda _: joined(store))
    graph.invoke({"said": [], "note": ""}, thread())
    assert notes(store.on("thread/t")) == {*NAMES, "last"}
    assert notes(store.on("main")) == set()


def test_a_thread_without_tasks_of_its_own_merges_nothing(memory: Any) -> None:
    store = Day1Store(memory, branch=per_thread)
    graph = fanned_out(lambda _: {"said": []}, lambda _: joined(store))
    assert graph.invoke({"said": [], "note": ""}, thread())["said"] == [("held", 0)]


def test_outside_of_a_run_there_is_no_task(memory: Any) -> None:
    with pytest.raises(errors.InvalidRequest, match="on"), Day1Store(memory).parallel():
        pass  # pragma: no cover  # the block is never entered
    assert [each.branch_name for each in memory.branches()] == ["main"]
