"""gwt's tools: against a search, a write and an empty call; and what a team is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks.bench import Bench, Work
from benchmarks.report import Row, quotient, skipped
from benchmarks.texts import facts, questions
from day1.interfaces.open_store import OpenStore
from day1.model.collection.records import Source, collect
from day1.services.access.caller import Caller
from day1.toolsets.day1.core import CORE
from day1.toolsets.gwt import GWT
from tests.relevance.team_tasks import best_call, committed

_ATTEND, _BROADCAST, _STORE, _LARGE, _WARM = 2.5, 1.5, 1.6, 1.5, 3.0
_PARSED, _MOVED, _TOLD = 20_000, 5_000, 1.5
_RECORDS = 10_000
_AGENTS = ("ada", "bo", "cyd", "dee", "eve")
_NOTES = 40


def rows(bench: Bench) -> Iterator[Row]:
    """One row for each promise of gwt."""
    if bench.server is not None:
        yield skipped("gwt", "its ratios", "a server's row")
        return
    with ExitStack() as entered:
        store = bench.open_copy(entered, bench.sizes.middle)
        yield from _against_a_search(bench, store)
        yield _stores(bench, store)
        large = bench.open_copy(entered, bench.sizes.large)
        yield from _in_a_large_store(bench, store, large)
    yield _in_a_task(bench)
    yield from _collections(bench)
    yield from _exchange(bench)
    yield from _told()


def _call(store: OpenStore, tool: str, caller: Caller, /, **arguments: Any) -> Any:
    tools = GWT.tools if tool in GWT.tools else CORE.tools
    return tools[tool].call(store.context(caller), arguments)


def _questions(bench: Bench, name: str) -> Sequence[str]:
    return questions(bench.sizes.warm + bench.sizes.calls, name)


def _searching(store: OpenStore, asked: Sequence[str]) -> Work:
    types = ["fact", "observation"]
    return lambda n: _call(store, "memory_search", Caller("s"), query=asked[n], types=types)


def _attending(store: OpenStore, asked: Sequence[str]) -> Work:
    return lambda n: _call(store, "gwt_attend", Caller("a"), question=asked[n])


def _aiming(store: OpenStore, asked: Sequence[str], caller: Caller) -> Work:
    return lambda n: _call(store, "gwt_set_goal", caller, description=asked[n])


def _full(store: OpenStore, asked: Sequence[str]) -> Caller:
    """Fill the buffer of a caller."""
    caller = Caller("b")
    for question in asked[:5]:
        _call(store, "gwt_query", caller, query=question, k=50, admit=True)
    return caller


def _against_a_search(bench: Bench, store: OpenStore) -> Iterator[Row]:
    # Other questions for the search: a question that was asked before has its vector already.
    asked, searched = _questions(bench, "attended"), _questions(bench, "searched")
    search, attend = bench.by_turns(_searching(store, searched), _attending(store, asked))
    yield quotient("gwt_attend, one pass", attend, search, _ATTEND, "memory_search")
    caller = _full(store, asked)
    search, broadcast = bench.by_turns(
        _searching(store, _questions(bench, "searched beside a broadcast")),
        lambda _: _call(store, "gwt_broadcast", caller),
        before=_aiming(store, asked, caller),
    )
    yield quotient("gwt_broadcast, full buffer", broadcast, search, _BROADCAST, "memory_search")


def _stores(bench: Bench, store: OpenStore) -> Row:
    count = bench.sizes.warm + bench.sizes.calls
    texts = [text for text, _ in facts(2 * count, "stored by gwt")]
    store_, write = bench.by_turns(
        lambda n: _call(store, "gwt_store", Caller("w"), content=texts[n]),
        lambda n: _call(store, "memory_write_fact", Caller("w"), fact_text=texts[count + n]),
    )
    return quotient("gwt_store", store_, write, _STORE, "memory_write_fact")


def _in_a_large_store(bench: Bench, middle: OpenStore, large: OpenStore) -> Iterator[Row]:
    asked = _questions(bench, "attended in a large store")
    sizes = f"{bench.sizes.large:,} / {bench.sizes.middle:,} facts"
    below, above = bench.by_turns(_attending(middle, asked), _attending(large, asked))
    yield quotient(f"gwt_attend, {sizes}", above, below, _LARGE, "the smaller store")
    callers = _full(middle, asked), _full(large, asked)

    def set_goals(number: int) -> None:
        for store, caller in zip((middle, large), callers, strict=True):
            _aiming(store, asked, caller)(number)

    below, above = bench.by_turns(
        lambda _: _call(middle, "gwt_broadcast", callers[0]),
        lambda _: _call(large, "gwt_broadcast", callers[1]),
        before=set_goals,
    )
    yield quotient(f"gwt_broadcast, {sizes}", above, below, _LARGE, "the smaller store")


def _in_a_task(bench: Bench) -> Row:
    """A broadcast among five agents, each with notes on a branch of its own."""
    asked, searched = _questions(bench, "a task"), _questions(bench, "searched in a task")
    with ExitStack() as entered:
        store = bench.open_copy(entered, bench.sizes.small)
        ann = Caller("ann")
        task = _call(store, "memory_task_create", ann, name="team", task_type="research")
        branches: dict[str, str] = {}
        for agent in _AGENTS:
            member = _call(store, "memory_task_join", ann, task_id=task["task_id"], agent_id=agent)
            branches[agent] = member["branch_name"]
            for text, _ in facts(_NOTES, agent):
                caller = Caller(agent, branch=branches[agent])
                _call(store, "memory_write_fact", caller, fact_text=text)
        agent = _AGENTS[0]
        caller = Caller(agent, branch=branches[agent])

        def search(number: int) -> object:
            arguments = {"task_id": task["task_id"], "query": searched[number]}
            return _call(store, "memory_search_task", caller, **arguments)

        above, below = bench.by_turns(
            lambda _: _call(store, "gwt_broadcast", caller),
            search,
            before=_aiming(store, asked, caller),
        )
    name = "gwt_broadcast in a task of 5 agents"
    return quotient(name, above, below, _BROADCAST, "memory_search_task")


def _record(number: int) -> str:
    return json.dumps({"zorp": number % 97, "hue": ("red", "blue", "green")[number % 3]})


def _collections(bench: Bench) -> Iterator[Row]:
    count = min(_RECORDS, 10 * bench.sizes.middle)
    sources = [Source(f"fact_{n}", _record(n)) for n in range(count)]
    started = time.perf_counter()
    collect(sources)
    rate = count / (time.perf_counter() - started)
    rate_text = f"{rate:,.0f} records/s"
    target = f">= {_PARSED:,} records/s"
    yield Row("records, first parse", rate_text, target, rate, _PARSED, at_least=True, value=rate)
    with ExitStack() as entered:
        store = bench.open_copy(entered, bench.sizes.small)
        lines = [json.dumps({"content": _record(n)}) for n in range(count)]
        _call(store, "gwt_import_memory", Caller("c"), jsonl="\n".join(lines), dedupe=False)
        expected_sum = sum(n % 97 for n in range(count) if n % 3 == 0)
        arguments = {"operation": "sum", "metric": "zorp", "field": "hue", "value": "red"}
        answer = _call(store, "gwt_collection_query", Caller("c"), **arguments)["answer"]
        assert answer == str(expected_sum), (answer, expected_sum)  # noqa: S101 - a benchmark of right answers
        warm, empty = bench.by_turns(
            lambda _: _call(store, "gwt_collection_query", Caller("c"), **arguments),
            lambda _: _call(store, "memory_branch_list", Caller("c")),
        )
    name = f"gwt_collection_query, warm, {count:,} records"
    yield quotient(name, warm, empty, _WARM, "memory_branch_list")


def _exchange(bench: Bench) -> Iterator[Row]:
    count = bench.sizes.middle
    lines = "\n".join(json.dumps({"content": text}) for text, _ in facts(count, "exchanged"))
    with ExitStack() as entered:
        store = bench.open_copy(entered, bench.sizes.small)
        started = time.perf_counter()
        import_answer = _call(store, "gwt_import_memory", Caller("x"), jsonl=lines)
        import_rate = import_answer["imported_count"] / (time.perf_counter() - started)
        started = time.perf_counter()
        export_answer = _call(store, "gwt_export_memory", Caller("x"))
        export_rate = export_answer["item_count"] / (time.perf_counter() - started)
    for name, rate in (("import", import_rate), ("export", export_rate)):
        rate_text = f"{rate:,.0f} rows/s"
        target = f">= {_MOVED:,} rows/s"
        yield Row(f"gwt, {name}", rate_text, target, rate, _MOVED, at_least=True, value=rate)


def _told() -> Iterator[Row]:
    """The committed figures of the team test, which CI measures again."""
    figures: Mapping[str, Mapping[str, float]] = committed("team")
    told = figures["workspace, 7 places"]["must_know"]
    best = best_call(figures, "7 places")
    name = "must-know facts told: a task's workspace / the best call"
    scores = f"{told:g} / {best:g} of 8"
    yield Row(name, scores, f">= {_TOLD:g}", told / best, _TOLD, at_least=True, value=told / best)
    without = figures.get("workspace, 7 places, without bus")
    if without is not None:
        ratio = told / without["must_know"]
        scores = f"{told:g} / {without['must_know']:g} of 8"
        yield Row("must-know facts told: bus on / off", scores, value=ratio)
