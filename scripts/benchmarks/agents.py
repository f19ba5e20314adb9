"""Agents that fork, write and merge branches of their own at once, against one alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks import workers
from benchmarks.bench import Bench
from benchmarks.report import Row, milliseconds
from day1.interfaces.open_store import OpenStore
from day1.services.access.caller import Caller
from day1.toolsets import TOOLSETS

_AGENTS = 8
_TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core")}


def rows(bench: Bench) -> Iterator[Row]:
    """The agents' rate, and how long each waits for a fork and a merge."""
    store = bench.open(bench.copy(bench.sizes.small, "team"))
    rounds = max(2, bench.sizes.repeats)
    try:
        for agent in range(_AGENTS):
            _call(store, "memory_branch_create", branch_name=f"task-{agent}")
        _work(store, 0, "warm", 2)
        seconds_alone = _work(store, 0, "alone", rounds)
        started = time.perf_counter()
        with ThreadPoolExecutor(_AGENTS) as threads:
            works = [threads.submit(_work, store, n, "together", rounds) for n in range(_AGENTS)]
            seconds_together = [seconds for work in works for seconds in work.result()]
        writes_a_second = _AGENTS * rounds / (time.perf_counter() - started)
    finally:
        store.close()
    ratio = writes_a_second * statistics.fmean(seconds_alone)
    yield Row(
        f"{_AGENTS} agents that fork, write and merge at once: rounds a second / one alone",
        f"{writes_a_second:.2f} / {1 / statistics.fmean(seconds_alone):.2f}",
        ratio=ratio,
        value=writes_a_second,
        note=f"a round {milliseconds(statistics.median(seconds_together))}, "
        f"alone {milliseconds(statistics.median(seconds_alone))}",
    )
    yield from workers.rows(bench)


def _work(store: OpenStore, agent: int, when: str, rounds: int) -> list[float]:
    """Fork a branch, write a fact there, merge it into the agent's own task; seconds of each."""
    seconds = []
    for number in range(rounds):
        name = f"agent-{agent}-{when}-{number}"
        started = time.perf_counter()
        _call(store, "memory_branch_create", branch_name=name)
        _call(store, "memory_write_fact", fact_text=f"{name} was here.", branch=name)
        _call(
            store, "memory_branch_merge", source_branch=name, target_branch=f"task-{agent}",
            strategy="auto",
        )  # fmt: skip
        seconds.append(time.perf_counter() - started)
    return seconds


def _call(store: OpenStore, tool: str, **arguments: str) -> None:
    _TOOLS[tool].call(store.context(Caller()), arguments)
