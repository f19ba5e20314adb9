"""Calls over MCP stdio, measured one by one against the empty call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.text import TextReceiveStream
from mcp import StdioServerParameters
from mcp.client.client import Client

from benchmarks.bench import ROOT

EMPTY = Path(__file__).with_name("empty_server.py")
_ERRORS = "stderr.txt"

Arguments = dict[str, Any]
Check = Callable[[Arguments, dict[str, Any]], None]
"""Raises if the structured answer to such arguments is not a real one."""


@asynccontextmanager
async def empty_server() -> AsyncIterator[Client]:
    """The yardstick in a process of its own."""
    parameters = StdioServerParameters(command=sys.executable, args=[str(EMPTY)], cwd=ROOT)
    async with Client(parameters) as client:
        await client.list_tools()
        yield client


@asynccontextmanager
async def day1_server(environment: dict[str, str], toolsets: str = "core") -> AsyncIterator[Client]:
    """`day1 mcp` in a process of its own, its tools listed."""
    arguments = ["-m", "day1", "mcp", "--toolsets", toolsets]
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments, env=environment, cwd=ROOT
    )
    async with Client(parameters) as client:
        await client.list_tools()
        yield client


@asynccontextmanager
async def _over_http(command: list[str], environment: dict[str, str]) -> AsyncIterator[Served]:
    """A server that says on stderr where it is."""
    process = await anyio.open_process(
        command, env={**os.environ, **environment}, cwd=ROOT, stdout=None, stderr=subprocess.PIPE
    )
    assert process.stderr is not None  # noqa: S101 - a pipe was asked for
    lines = TextReceiveStream(process.stderr)
    try:
        printed = ""
        async for part in lines:
            printed += part
            url_match = re.search(r"(http://[^\s/]+)\S*\s", printed)
            if url_match is not None:
                yield process.pid, url_match[1]
                return
        raise RuntimeError(f"no server: {printed}")
    finally:
        process.terminate()
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_drain, lines)
                await process.wait()
                tasks.cancel_scope.cancel()
            await process.aclose()


async def _drain(lines: TextReceiveStream) -> None:
    async for _ in lines:
        pass


Served = tuple[int, str]
"""A server's process id, and its address."""


@asynccontextmanager
async def empty_over_http() -> AsyncIterator[Served]:
    """The yardstick over HTTP: the same SDK, the same HTTP server; the address of its endpoint."""
    async with _over_http([sys.executable, str(EMPTY), "--http"], {}) as (pid, address):
        yield pid, f"{address}/mcp"


@asynccontextmanager
async def day1_over_http(environment: dict[str, str], *arguments: str) -> AsyncIterator[Served]:
    """`day1 serve` in a process of its own, without a limit to how often it is asked."""
    command = [sys.executable, "-m", "day1", "serve", "--port", "0", *arguments]
    async with _over_http(command, {**environment, "DAY1_HTTP__RATE": "0"}) as served:
        yield served


@dataclass(slots=True)
class Alternated:
    """Durations in seconds."""

    empty: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)


async def call(client: Client, tool: str, arguments: Arguments) -> tuple[float, dict[str, Any]]:
    """One call; says how long it took, and the structured answer.

    Raises:
        RuntimeError: the tool failed.
    """
    started = time.perf_counter()
    answer = await client.call_tool(tool, arguments)
    seconds = time.perf_counter() - started
    if answer.is_error or answer.structured_content is None:
        raise RuntimeError(f"{tool} failed: {answer.content}")
    return seconds, answer.structured_content


async def alternate(
    empty: Client, measured: Client, tool: str, calls: Iterable[Arguments], check: Check, warm: int
) -> Alternated:
    """Empty call, measured call, and so on; the first `warm` of each are not counted."""
    alternated = Alternated()
    for number, arguments in enumerate(calls):
        floor, _ = await call(empty, "empty", {})
        spent, answer = await call(measured, tool, arguments)
        check(arguments, answer)
        alternated.answers.append(answer)
        if number >= warm:
            alternated.empty.append(floor)
            alternated.measured.append(spent)
    return alternated


def children(pid: int | str = "self") -> list[int]:
    """The process ids of a process's children; default: of this process's."""
    lists = [(thread / "children").read_text() for thread in Path(f"/proc/{pid}/task").iterdir()]
    return [int(pid) for pid in " ".join(lists).split()]


def descendants(pid: int) -> list[int]:
    """The process ids of a process's children, of their children, and so on."""
    return [process for child in children(pid) for process in (child, *descendants(child))]


def proportional_memory(pid: int) -> int:
    """Bytes of memory that are this process's own share."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no proportional memory of process {pid}")


def processor_seconds(pid: int) -> float:
    """Processor time that a process has taken, of its own and of the system's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_seconds() -> float:
    """Processor time for which the cores of this machine had nothing to do."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")
