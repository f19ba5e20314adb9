"""Searches at a bad moment: while vectors are missing, while others write, and the very first."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace

import anyio
from mcp.client.client import Client

from benchmarks.bench import Bench
from benchmarks.report import Row, duration, percentile, quotient, skipped
from benchmarks.texts import facts, questions
from benchmarks.wire import call, day1_server
from benchmarks.writers import Team

_SEARCHES = 80
_WRITERS = 2
_STARTS = 5
_PENDING = re.compile(r"pending_vectors: (\d+)")


def rows(bench: Bench) -> Iterator[Row]:
    """Search while a backlog waits, while others write, and as the first call of a process."""
    sizes = bench.sizes
    name = f"memory_search while {sizes.backlog:,} facts wait for vectors / when none waits, p50"
    if bench.model_dir is None:
        yield skipped(name, "<= 2 x", "no model (DAY1_EMBEDDER__MODEL_DIR)")
        return
    waiting, quiet, left = anyio.run(_backlog, bench)
    above, below = statistics.median(waiting), statistics.median(quiet)
    row = quotient(name, above, below, 2.0, "when none waits")
    yield replace(row, note=f"after {_SEARCHES} searches {left:,} still wait")
    seconds = anyio.run(_while_others_write, bench)
    name = f"memory_search while {_WRITERS} processes write, {sizes.middle:,} facts: p95 / p50"
    yield quotient(name, percentile(seconds, 0.95), statistics.median(seconds), 3.0, "the p50")
    first = [anyio.run(_first, bench, number) for number in range(_STARTS)]
    name = f"first memory_search of a process, {sizes.large:,} facts"
    yield duration(name, statistics.median(first), 1.5, "the model is loaded in it")


async def _backlog(bench: Bench) -> tuple[list[float], list[float], int]:
    """Durations while vectors are missing and afterwards, and how many were missing in between."""
    folder = bench.folder / "backlog"
    bench.remove(folder)
    queries = questions(2 * _SEARCHES, "backlog")
    async with day1_server(bench.environment(folder)) as client:
        for text, category in facts(bench.sizes.backlog, "backlog"):
            await call(client, "memory_write_fact", {"fact_text": text, "category": category})
        waiting, left = await _searches(client, queries[:_SEARCHES])
        await anyio.to_thread.run_sync(replace(bench, vectors="real").index, folder)
        quiet, none = await _searches(client, queries[_SEARCHES:])
    if none or not left:
        raise RuntimeError(f"{left} vectors were missing at first, and {none} at last")
    bench.remove(folder)
    return waiting, quiet, left


async def _searches(client: Client, asked: Sequence[str]) -> tuple[list[float], int]:
    """One search after the other; says how many vectors were missing at the last."""
    spent: list[float] = []
    missing = 0
    for text in asked:
        seconds, answer = await call(client, "memory_search", {"query": text})
        pending_match = _PENDING.search(" ".join(answer["read"]["notes"]))
        missing = int(pending_match[1]) if pending_match else 0
        spent.append(seconds)
    return spent, missing


async def _while_others_write(bench: Bench) -> list[float]:
    """Durations of searches while processes write to the same branch as fast as they can."""
    folder = bench.copy(bench.sizes.middle)
    queries = questions(bench.sizes.warm + bench.sizes.calls, "others write")
    async with day1_server(bench.environment(folder)) as client:
        await _searches(client, queries[: bench.sizes.warm])
        team = Team(_WRITERS, bench.settings(folder), seconds=3 * bench.sizes.seconds)
        try:
            await anyio.sleep(bench.sizes.seconds / 2)  # they are started
            spent: list[float] = []
            with anyio.move_on_after(2 * bench.sizes.seconds):
                for text in queries[bench.sizes.warm :]:
                    seconds, _ = await call(client, "memory_search", {"query": text})
                    spent.append(seconds)
        finally:
            await anyio.to_thread.run_sync(team.finish)
    return spent


async def _first(bench: Bench, number: int) -> float:
    """The first call of a server that has told its tools."""
    async with day1_server(bench.environment(bench.store(bench.sizes.large))) as client:
        question = {"query": questions(_STARTS, "first")[number]}
        seconds, answer = await call(client, "memory_search", question)
        if len(answer["result"]) != 10:
            raise RuntimeError(f"not a real answer: {answer['read']}")
        return seconds
