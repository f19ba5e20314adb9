"""How long commands and servers take to start, against the import of the library under all."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from benchmarks.bench import ROOT, Bench
from benchmarks.report import Row, duration, quotient
from benchmarks.texts import questions
from benchmarks.wire import call, day1_server

_MODULE = [sys.executable, "-m", "day1"]
_ALONE = [sys.executable, "-c", "import sqlalchemy"]
_TIMES = 9


def rows(bench: Bench) -> Iterator[Row]:
    """Medians of nine starts; those that are compared alternate, after one that is not counted."""
    folder = bench.store(bench.sizes.middle)
    helped, status, listed, searched, alone = zip(
        *[_round(bench, folder, number) for number in range(_TIMES + 1)][1:], strict=True
    )
    yield duration("day1 --help", statistics.median(helped), 0.3)
    below, what = statistics.median(alone), "`import sqlalchemy` alone"
    yield quotient("day1 status", statistics.median(status), below, 2, what)
    listed_s = statistics.median(listed)
    yield quotient("day1 mcp to its first tools/list", listed_s, below, 4, what)
    note = "" if bench.model_dir else "without a model"
    yield duration("day1 mcp to its first search", statistics.median(searched), 2.5, note)


def _round(bench: Bench, folder: Path, number: int) -> tuple[float, float, float, float, float]:
    """Each start once, in turn."""
    help_s = _command(bench, folder, [*command_line(), "--help"])
    status = _command(bench, folder, [*command_line(), "status"])
    listed, searched = anyio.run(_server, bench, folder, number)
    return help_s, status, listed, searched, _command(bench, folder, _ALONE)


def _command(bench: Bench, folder: Path, command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        command,
        env={"PATH": "/usr/bin:/bin", **bench.environment(folder)},
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - started


def command_line() -> list[str]:
    """The installed command, else the module."""
    program = Path(sys.executable).with_name("day1")
    return [str(program)] if program.exists() else _MODULE


async def _server(bench: Bench, folder: Path, number: int) -> tuple[float, float]:
    started = time.perf_counter()
    async with day1_server(bench.environment(folder)) as client:
        listed_s = time.perf_counter() - started
        await call(client, "memory_search", {"query": questions(_TIMES + 1, "starts")[number]})
        return listed_s, time.perf_counter() - started
