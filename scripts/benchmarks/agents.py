"""A team's agents at once: each joins a task, writes, searches, merges; and many branches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks import workers
from benchmarks.bench import Bench
from benchmarks.report import Row, milliseconds, percentile, quotient
from day1.app.background import background_worker
from day1.interfaces.heads import ProcessHead
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN
from day1.services.access.caller import Caller
from day1.toolsets import TOOLSETS

_AT_ONCE = 8
_TASKS = 20
_FACTS = 5
_FEW_BRANCHES = 50
_TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core")}


def rows(bench: Bench) -> Iterator[Row]:
    """The agents' rate and its change, the file that they make, and calls on many branches."""
    yield _together(bench)
    yield from _all_agents(bench)
    yield from _many_branches(bench)
    yield from workers.rows(bench)


def _together(bench: Bench) -> Row:
    """Some agents that fork, write and merge at once, against one alone."""
    store = bench.open(bench.copy(bench.sizes.small, "team"))
    rounds = max(2, bench.sizes.repeats)
    try:
        for agent in range(_AT_ONCE):
            _call(store, "memory_branch_create", branch_name=f"task-{agent}")
        _work(store, 0, "warm", 2)
        seconds_alone = _work(store, 0, "alone", rounds)
        started = time.perf_counter()
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            works = [threads.submit(_work, store, n, "together", rounds) for n in range(_AT_ONCE)]
            seconds_together = [seconds for work in works for seconds in work.result()]
        writes_a_second = _AT_ONCE * rounds / (time.perf_counter() - started)
    finally:
        store.close()
    ratio = writes_a_second * statistics.fmean(seconds_alone)
    return Row(
        f"{_AT_ONCE} agents that fork, write and merge at once: rounds a second / one alone",
        f"{writes_a_second:.2f} / {1 / statistics.fmean(seconds_alone):.2f}",
        ratio=ratio,
        value=writes_a_second,
        note=f"a round {milliseconds(statistics.median(seconds_together))}, "
        f"alone {milliseconds(statistics.median(seconds_alone))}",
    )


def _work(store: OpenStore, agent: int, when: str, rounds: int) -> list[float]:
    """Fork a branch, write a fact there, merge it into the agent's own task; seconds of each."""
    seconds = []
    for number in range(rounds):
        name = f"agent-{agent}-{when}-{number}"
        started = time.perf_counter()
        _call(store, "memory_branch_create", branch_name=name)
        _call(store, "memory_write_fact", fact_text=f"{name} was here.", branch=name)
        _merge(store, name, f"task-{agent}")
        seconds.append(time.perf_counter() - started)
    return seconds


def _all_agents(bench: Bench) -> Iterator[Row]:
    """The agents of a team, each with a branch of its own, beside a server's background work."""
    count = bench.sizes.agents
    part = count // 5
    store = bench.open(bench.copy(bench.sizes.small, "agents"))
    joins: list[float] = []
    merges: list[float] = []
    ends: list[float] = []
    worker = background_worker(store)
    try:
        tasks = [
            _call(store, "memory_task_create", name=f"Task {number}")["task_id"]
            for number in range(min(_TASKS, count))
        ]

        def live(number: int) -> None:
            begun = time.perf_counter()
            joined = _call(
                store, "memory_task_join", task_id=tasks[number % len(tasks)], agent_id=f"a{number}"
            )
            joins.append(time.perf_counter() - begun)
            for fact in range(_FACTS):
                text = f"Agent {number} found out {fact} about the gateway."
                _call(store, "memory_write_fact", fact_text=text, branch=joined["branch_name"])
            _call(store, "memory_search", query="gateway timeout", branch=joined["branch_name"])
            begun = time.perf_counter()
            _merge(store, joined["branch_name"], joined["task_branch"])
            ends.append(time.perf_counter())
            merges.append(ends[-1] - begun)

        worker.start()
        started = time.perf_counter()
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            for _ in threads.map(live, range(count)):
                pass  # raises what failed
        worker.stop()
        yield _rates(started, ends, part, joins, merges)
        if store.repo.store.capabilities.compaction:
            yield _file_size(store, count)
    finally:
        worker.stop()
        store.close()


def _rates(
    started: float, ends: list[float], part: int, joins: list[float], merges: list[float]
) -> Row:
    """How many agents a second end at the beginning and at the end."""
    ends.sort()
    first = part / (ends[part - 1] - started)
    last = part / (ends[-1] - ends[-part - 1])
    what = f"{len(ends)} agents, {_AT_ONCE} at a time, that join, write, search and merge"
    waits = ", ".join(
        f"a {name} p50 {milliseconds(statistics.median(times))}, "
        f"p95 {milliseconds(percentile(times, 0.95))}"
        for name, times in (("join", joins), ("merge", merges))
    )
    return Row(
        f"{what}: a second, the last {part} / the first",
        f"{last:.2f} / {first:.2f}",
        ">= 0.8",
        last / first,
        0.8,
        at_least=True,
        note=waits,
        value=first,
    )


def _file_size(store: OpenStore, agents: int) -> Row:
    """How large the file of rows is, against itself compacted."""
    sizes = store.repo.store.compact()
    before, after = (int(str(sizes[f"bytes_{when}"])) for when in ("before", "after"))
    return Row(
        f"memory.db after {agents} agents / compacted",
        f"{before / 1e6:.1f} / {after / 1e6:.1f} MB",
        "<= 2 x",
        before / after,
        2,
        value=before / 1e6,
    )


def _many_branches(bench: Bench) -> Iterator[Row]:
    """Calls in a store of many branches, and in one of few, by turns."""
    many = bench.sizes.many_branches
    stores = {
        count: bench.open(bench.copy(bench.sizes.small, f"branches-{count}"))
        for count in (_FEW_BRANCHES, many)
    }
    try:
        for count, store in stores.items():
            for number in range(count):
                _call(store, "memory_branch_create", branch_name=f"b{number}")

        def each(what: str, call: Any, limit: float | None = 1.5) -> Row:
            few_s, many_s = bench.few_by_turns(
                bench.sizes.repeats * 4,
                *(lambda number, store=store: call(store, number) for store in stores.values()),
            )
            name = f"{what} among {many} branches / among {_FEW_BRANCHES}"
            return quotient(name, many_s, few_s, limit, f"that among {_FEW_BRANCHES}")

        def switch(store: OpenStore, number: int) -> None:
            caller = Caller(head=ProcessHead(store.repo, MAIN))
            branch = f"b{number % _FEW_BRANCHES}"
            _call(store, "memory_branch_switch", caller, branch_name=branch)

        def write(store: OpenStore, number: int) -> None:
            _call(store, "memory_write_fact", fact_text=f"Number {number}.", branch="b7")

        yield each(
            "branch create",
            lambda store, number: _call(store, "memory_branch_create", branch_name=f"n{number}"),
        )
        yield each("list of all", lambda store, _: _call(store, "memory_branch_list"), None)
        yield each("switch", switch)
        yield each("write", write)
        yield each(
            "search", lambda store, _: _call(store, "memory_search", query="gateway", branch="b7")
        )
    finally:
        for store in stores.values():
            store.close()


def _merge(store: OpenStore, source: str, target: str) -> None:
    _call(store, "memory_branch_merge", source_branch=source, target_branch=target, strategy="auto")


def _call(store: OpenStore, tool: str, caller: Caller | None = None, **arguments: Any) -> Any:
    return _TOOLS[tool].call(store.context(caller or Caller()), arguments)
