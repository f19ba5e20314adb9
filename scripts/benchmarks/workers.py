"""`day1 serve --workers N` against one process: calls a second, and the processors' time."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio

from benchmarks.bench import Bench
from benchmarks.load import READERS, WRITERS, post, run_load
from benchmarks.report import Row, milliseconds
from benchmarks.wire import day1_over_http, descendants, idle_seconds, processor_seconds

_CLIENTS = READERS + WRITERS
_TURNS = 3


@dataclass(frozen=True, slots=True)
class _Round:
    """What the clients got from a server in some seconds."""

    rate: float
    """Calls a second."""
    server_s: float
    """Processor time of a call in the server's processes."""
    client_s: float
    """Processor time of a call in this process, which has all clients."""
    idle: float
    """The part of the machine's processor time that nobody used."""
    busiest: float
    """The part of the server's processor time that its busiest process used."""


def rows(bench: Bench) -> Iterator[Row]:
    """As many workers as cores, and one, by turns."""
    count = os.cpu_count() or 1
    folder = bench.copy(bench.sizes.middle)
    turns: dict[int, list[_Round]] = {1: [], count: []}
    for turn in range(_TURNS):
        for workers, rounds in turns.items():
            rounds.append(anyio.run(_round, bench, folder, workers, turn))
    one, many = (_middle(turns[workers]) for workers in (1, count))
    yield Row(
        f"{READERS} readers and {WRITERS} writers over HTTP: calls a second, {count} workers / one",
        f"{many.rate:.0f} / {one.rate:.0f}",
        f">= 0.8 x {count}, where the clients have cores of their own",
        many.rate / one.rate,
        value=many.rate,
        note=f"{_told(many)}; one: {_told(one)}",
    )


def _middle(rounds: list[_Round]) -> _Round:
    """The round with the median rate."""
    rate = statistics.median_low(each.rate for each in rounds)
    return next(each for each in rounds if each.rate == rate)


def _told(measured: _Round) -> str:
    return (
        f"a call takes {milliseconds(measured.server_s)} of processor time in the server and "
        f"{milliseconds(measured.client_s)} in the clients, {measured.idle:.0%} of the machine is "
        f"idle, the busiest process has {measured.busiest:.0%} of the server's time"
    )


async def _round(bench: Bench, folder: Path, workers: int, turn: int) -> _Round:
    environment = bench.environment(folder)
    async with day1_over_http(environment, "--workers", str(workers)) as (pid, day1):
        names = [f"workers/{workers}/{turn}/{number}" for number in range(_CLIENTS)]
        for name in names:
            await post(day1, "memory_branch_create", {"branch_name": name})
            await post(day1, "memory_search", {"query": "warm up", "branch": name})
        clients = [
            (name, "write" if number < WRITERS else "read") for number, name in enumerate(names)
        ]
        await run_load(day1, bench.sizes.seconds / 2, clients)  # each worker loads its model
        pids = [pid, *descendants(pid)]  # workers are forked from a child
        before = [processor_seconds(each) for each in pids]
        started, own, idle = time.perf_counter(), time.process_time(), idle_seconds()
        load = await run_load(day1, bench.sizes.seconds, clients)
        own, idle = time.process_time() - own, idle_seconds() - idle
        seconds = time.perf_counter() - started
        spent = [processor_seconds(each) - then for each, then in zip(pids, before, strict=True)]
    if load.failed:
        raise RuntimeError(f"{len(load.failed)} failed: {load.failed[:1]}")
    calls = len(load.seconds)
    return _Round(
        load.rate(seconds),
        sum(spent) / calls,
        own / calls,
        idle / (seconds * (os.cpu_count() or 1)),
        max(spent) / sum(spent),
    )
