"""`import day1`: what it takes to begin, and a call in process against the same call over stdio."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

import day1
from benchmarks import history_rows, langgraph_rows, memory_file_rows, session_rows, value_rows
from benchmarks.bench import ROOT, Bench
from benchmarks.report import Row, duration, quotient
from benchmarks.texts import facts, questions
from benchmarks.wire import Arguments, call, day1_over_http, day1_server

_TIMES = 9
_TASKS = 32
_CONNECT = "import sys, day1; day1.connect(sys.argv[1], create=False)"

Call = Callable[[day1.Memory, Arguments], object]
"""A call in process, with the arguments of the same call over a wire."""

_CALLS: dict[str, tuple[str, Call, float, float]] = {
    "write": (
        "memory_write_fact",
        lambda memory, each: memory.add(each["fact_text"], category=each["category"]),
        0.7,
        0.9,
    ),
    "search": ("memory_search", lambda memory, each: memory.search(each["query"]), 0.7, 0.9),
    "row by id": ("memory_get", lambda memory, each: memory.row(each["id"]), 0.7, 0.9),
}
"""Operation, the same in process, and the most of its time in process and over HTTP."""


def rows(bench: Bench) -> Iterator[Row]:
    """Starts, then calls by turns with a server's, then tasks against calls one by one.

    Without a model, whose time both sides would spend alike.
    """
    bench = replace(bench, model_dir=None, folder=bench.folder / "library")
    bench.folder.mkdir(exist_ok=True)
    yield from _starts(bench)
    folder, other = bench.copy(bench.sizes.middle), bench.copy(bench.sizes.middle, "beside")
    with _connected(bench, folder) as memory:
        times_by_call = anyio.run(_by_turns, bench, memory, other)
        for name, (above, below) in times_by_call.items():
            limit = _CALLS[name][2]
            yield quotient(f"{name} in process", above, below, limit, "the same over MCP stdio's")
        yield _tasks(bench, folder, memory)
        yield from langgraph_rows.rows(bench, memory)
        yield from session_rows.rows(bench, memory)
        yield from history_rows.rows(bench, memory)
        yield from memory_file_rows.rows(bench, memory)
        yield from value_rows.rows(bench, memory)
    yield from _over_http(bench, folder)


def _starts(bench: Bench) -> Iterator[Row]:
    """Medians of nine starts, which alternate, after one that is not counted."""
    folder = bench.store(bench.sizes.small)
    commands = (
        ("-c", "pass"),
        ("-c", "import day1"),
        ("-c", "import sqlalchemy"),
        ("-c", _CONNECT, str(folder)),
    )
    rounds = [[_start(bench, folder, *each) for each in commands] for _ in range(_TIMES + 1)][1:]
    bare, imported, below, connected = map(statistics.median, zip(*rounds, strict=True))
    yield duration("import day1, beyond a bare start", max(0.0, imported - bare), 0.005)
    named = "`import sqlalchemy` alone"
    yield quotient("day1.connect on a folder, from the start", connected, below, 1.7, named)


def _start(bench: Bench, folder: Path, *arguments: str) -> float:
    environment = {"PATH": "/usr/bin:/bin", **bench.environment(folder)}
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT, check=True)
    return time.perf_counter() - started


def _connected(bench: Bench, folder: Path) -> day1.Memory:
    """A memory in process, with the settings of this run."""
    settings = bench.settings(folder)
    overrides = {"embedder": settings.embedder, "store": settings.store}
    if settings.store.url is not None:
        return day1.connect(
            settings.store.url.get_secret_value(), settings={**overrides, "home": folder}
        )
    return day1.connect(folder, create=False, settings=overrides)


def _arguments(bench: Bench, memory: day1.Memory, seed: str) -> dict[str, list[Arguments]]:
    """What is asked, by name: as many calls as are warmed up and measured."""
    count = bench.sizes.warm + bench.sizes.calls
    ids = [row["id"] for row in memory.rows("fact", limit=200)]
    return {
        "write": [{"fact_text": text, "category": label} for text, label in facts(count, seed)],
        "search": [{"query": question} for question in questions(count, seed)],
        "row by id": [{"id": ids[number % len(ids)]} for number in range(count)],
    }


async def _by_turns(
    bench: Bench, memory: day1.Memory, other: Path
) -> dict[str, tuple[float, float]]:
    async with day1_server(bench.environment(other), "core,browse") as client:
        return await _alternated(bench, memory, client, "library")


async def _alternated(
    bench: Bench, memory: day1.Memory, client: Client, seed: str
) -> dict[str, tuple[float, float]]:
    """Medians of each call by the library and by a server, one after the other."""
    times_by_call = {}
    for name, arguments in _arguments(bench, memory, seed).items():
        operation, ask, _, _ = _CALLS[name]
        measured: list[tuple[float, float]] = []
        for each in arguments:
            started = time.perf_counter()
            ask(memory, each)
            spent = time.perf_counter() - started
            below, _ = await call(client, operation, each)
            measured.append((spent, below))
        measured_warm = measured[bench.sizes.warm :]
        times_by_call[name] = (
            statistics.median(spent for spent, _ in measured_warm),
            statistics.median(below for _, below in measured_warm),
        )
    return times_by_call


def _tasks(bench: Bench, folder: Path, memory: day1.Memory) -> Row:
    """32 searches at once by tasks, against as many one after the other."""
    task_questions = questions(2 * _TASKS * bench.sizes.repeats, "tasks")

    async def at_once(many: list[str]) -> float:
        async with await day1.aconnect(
            folder, create=False, settings={"embedder": bench.settings(folder).embedder}
        ) as other:
            await other.search(many[0])
            started = time.perf_counter()
            await asyncio.gather(*(other.search(each) for each in many))
            return time.perf_counter() - started

    above, below = [], []
    for number in range(bench.sizes.repeats):
        thread_questions = task_questions[2 * number * _TASKS : (2 * number + 1) * _TASKS]
        task_questions_now = task_questions[(2 * number + 1) * _TASKS : (2 * number + 2) * _TASKS]
        above.append(asyncio.run(at_once(thread_questions)))
        started = time.perf_counter()
        for each in task_questions_now:
            memory.search(each)
        below.append(time.perf_counter() - started)
    name = f"{_TASKS} searches by tasks"
    medians = statistics.median(above), statistics.median(below)
    return quotient(name, *medians, 1.0, "one after the other's")


def _over_http(bench: Bench, folder: Path) -> Iterator[Row]:
    """The library against a server, by turns with MCP over HTTP against the same server."""

    async def by_turns() -> Any:
        async with (
            day1_over_http(bench.environment(folder)) as (_, address),
            Client(f"{address}/mcp/all") as client,
        ):
            memory = await anyio.to_thread.run_sync(day1.connect, address)
            with memory:
                return await _alternated(bench, memory, client, "library over HTTP")

    for name, (above, below) in anyio.run(by_turns).items():
        limit = _CALLS[name][3]
        yield quotient(f"{name} over HTTP", above, below, limit, "the same by MCP over HTTP's")
