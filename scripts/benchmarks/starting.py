"""How long commands and servers take to start."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from benchmarks.bench import ROOT, Bench
from benchmarks.report import Row, duration
from benchmarks.texts import questions
from benchmarks.wire import call, day1_server

_MODULE = [sys.executable, "-m", "day1"]
_TIMES = 5


def rows(bench: Bench) -> Iterator[Row]:
    """Medians of five starts."""
    folder = bench.store(bench.sizes.middle)
    yield duration("day1 --help", _command(bench, folder, "--help"), 0.3)
    yield duration("day1 status", _command(bench, folder, "status"), 0.5)
    starts = [anyio.run(_server, bench, folder, number) for number in range(_TIMES)]
    listed, searched = zip(*starts, strict=True)
    yield duration("day1 mcp to its first tools/list", statistics.median(listed), 1.0)
    note = "" if bench.model_dir else "without a model"
    yield duration("day1 mcp to its first search", statistics.median(searched), 2.5, note)


def _command(bench: Bench, folder: Path, name: str) -> float:
    spent = []
    for _ in range(_TIMES + 1):
        started = time.perf_counter()
        subprocess.run(
            [*_command_line(), name],
            env={"PATH": "/usr/bin:/bin", **bench.environment(folder)},
            cwd=ROOT,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        spent.append(time.perf_counter() - started)
    return statistics.median(spent[1:])


def _command_line() -> list[str]:
    """The installed command, else the module."""
    installed = Path(sys.executable).with_name("day1")
    return [str(installed)] if installed.exists() else _MODULE


async def _server(bench: Bench, folder: Path, number: int) -> tuple[float, float]:
    started = time.perf_counter()
    async with day1_server(bench.environment(folder)) as client:
        listed = time.perf_counter() - started
        await call(client, "memory_search", {"query": questions(_TIMES, "starts")[number]})
        return listed, time.perf_counter() - started
