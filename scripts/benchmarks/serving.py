"""`day1 serve`: calls over HTTP, 32 clients at once, a page, and sessions that do nothing."""

from __future__ import annotations

import asyncio
import http.client
import json
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.client.client import Client

from benchmarks.bench import Bench
from benchmarks.report import Row, duration, milliseconds, percentile, quotient, skipped
from benchmarks.texts import facts, questions
from benchmarks.wire import (
    Arguments,
    alternate,
    call,
    day1_over_http,
    empty_over_http,
    proportional_memory,
)

_READERS, _WRITERS = 24, 8
_CLIENTS = _READERS + _WRITERS
_SESSIONS = 1_000
_CHANGES = 1_000
_MEGABYTE = 1e6


def rows(bench: Bench) -> Iterator[Row]:
    """All of it on a store of 10,000 facts."""
    folder = bench.copy(bench.sizes.middle)
    yield from anyio.run(_one_by_one, bench, folder)
    for branches in (_CLIENTS, 1):
        yield from anyio.run(_at_once, bench, folder, branches)
    yield anyio.run(_page, bench, folder)
    yield anyio.run(_idle, bench, folder)


async def _one_by_one(bench: Bench, folder: Path) -> list[Row]:
    """Writes and searches, each beside an empty call to the same SDK's server."""
    sizes = bench.sizes
    found_rows = []
    async with (
        empty_over_http() as (_, floor),
        day1_over_http(bench.environment(folder)) as (_, day1),
        Client(floor) as empty,
        Client(f"{day1}/mcp") as client,
    ):
        texts = facts(sizes.warm + sizes.calls, "http")
        writes = [{"fact_text": text, "category": category} for text, category in texts]
        searches = [{"query": text} for text in questions(sizes.warm + sizes.calls, "http")]
        for tool, calls, limit in (  # searches first: each gives some new texts their vectors
            ("memory_search", searches, 6.0),
            ("memory_write_fact", writes, 2.0),
        ):
            name = f"{tool} over HTTP, p50"
            if tool == "memory_search" and bench.model_dir is None:
                found_rows.append(skipped(name, "<= 6 x the empty call", "no model"))
                continue
            await call(client, "memory_search", {"query": "who reviewed it?"})
            times = await alternate(empty, client, tool, calls, _check, sizes.warm)
            above, below = (statistics.median(times.measured), statistics.median(times.empty))
            found_rows.append(quotient(name, above, below, limit, "the empty call"))
    return found_rows


def _check(_: Arguments, answer: dict[str, Any]) -> None:
    if not (answer.get("id") or len(answer.get("result", ())) == 10):
        raise RuntimeError("not a real answer")


@dataclass(slots=True)
class _Load:
    """What some clients did at once."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def rate(self, spent: float) -> float:
        """Calls in a second."""
        return len(self.seconds) / spent


async def _at_once(bench: Bench, folder: Path, branches: int) -> list[Row]:
    """24 readers and 8 writers, on as many branches or on one, against one client alone."""
    async with day1_over_http(bench.environment(folder)) as (_, day1):
        names = [f"load/{branches}/{number}" for number in range(branches)]
        for name in names:
            await _post(day1, "memory_branch_create", {"branch_name": name})
            await _post(day1, "memory_search", {"query": "warm up", "branch": name})
        alone = await _load(day1, bench.sizes.seconds, [(names[0], "both")])
        many = [
            (names[number % branches], "write" if number < _WRITERS else "read")
            for number in range(_CLIENTS)
        ]
        together = await _load(day1, bench.sizes.seconds, many)
    if alone.failed or together.failed:
        raise RuntimeError(f"{len(together.failed)} failed: {together.failed[:1]}")
    where = "each on its own branch" if branches > 1 else "all on one branch"
    name = f"{_READERS} readers and {_WRITERS} writers over HTTP, {where}"
    rate_ratio = together.rate(bench.sizes.seconds) / alone.rate(bench.sizes.seconds)
    p50, p99 = (percentile(together.seconds, p) for p in (0.5, 0.99))
    return [
        Row(
            f"{name}: calls a second",
            f"{together.rate(bench.sizes.seconds):.0f} / {alone.rate(bench.sizes.seconds):.0f}",
            ">= 0.6 x one client alone, none fails",
            rate_ratio,
            0.6,
            at_least=True,
        ),
        Row(
            f"{name}: p99 / p50",
            f"{milliseconds(p99)} / {milliseconds(p50)}",
            "<= 20 x",
            p99 / p50,
            20.0,
        ),
    ]


async def _load(address: str, seconds: float, clients: Sequence[tuple[str, str]]) -> _Load:
    """Let clients call for some seconds: of one that does both, every fourth call is a write."""
    load, until = _Load(), time.perf_counter() + seconds
    asked, texts = questions(500, "load"), [text for text, _ in facts(20_000, "load")]

    async def work(number: int, branch: str, what: str) -> None:
        connection = await _Connection.open(address)
        count = number
        while time.perf_counter() < until:
            count += 1
            writes = what == "write" or (what == "both" and count % 4 == 0)
            if writes:
                text = f"{texts[count % len(texts)]} ({number}, {count})"
                request = ("memory_write_fact", {"fact_text": text, "branch": branch})
            else:
                request = ("memory_search", {"query": asked[count % 500], "branch": branch})
            started = time.perf_counter()
            status = await connection.post(*request)
            load.seconds.append(time.perf_counter() - started)
            if status != http.client.OK:
                load.failed.append(str(status))
        connection.close()

    async with asyncio.TaskGroup() as tasks:
        for number, (branch, what) in enumerate(clients):
            tasks.create_task(work(number, branch, what))
    return load


@dataclass(slots=True)
class _Connection:
    """One kept open, with as little work on this side as can be."""

    reading: asyncio.StreamReader
    writing: asyncio.StreamWriter
    host: str

    @classmethod
    async def open(cls, address: str) -> _Connection:
        """Connect."""
        url = urlsplit(address)
        reading, writing = await asyncio.open_connection(url.hostname, url.port)
        return cls(reading, writing, url.netloc)

    async def post(self, tool: str, arguments: Arguments) -> int:
        """Call a tool by streamable HTTP; answers the status, 0 for a tool's own error."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        call_params = {"name": tool, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call_params}
        body = json.dumps(message).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writing.write(head.encode() + body)
        head_text = (await self.reading.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head_text.split("content-length: ")[1].split("\r\n")[0])
        found = await self.reading.readexactly(length)
        status = int(head_text.split(" ", 2)[1])
        return status if b'"isError":true' not in found else 0

    def close(self) -> None:
        """Disconnect."""
        self.writing.close()


async def _post(address: str, operation: str, arguments: Arguments) -> dict[str, Any]:
    def ask() -> dict[str, Any]:
        url = urlsplit(address)
        connection = http.client.HTTPConnection(url.netloc, timeout=600)
        connection.request("POST", f"/api/v1/{operation}", json.dumps(arguments))
        answer = connection.getresponse()
        body: dict[str, Any] = json.loads(answer.read())
        connection.close()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{operation}: {body['error']['code']}")
        return body

    return await anyio.to_thread.run_sync(ask)


async def _page(bench: Bench, folder: Path) -> Row:
    """The first page of a review of 1,000 changes."""
    name = f"first page of a review of {_CHANGES:,} changes"
    async with day1_over_http(bench.environment(folder)) as (_, day1):
        await _post(day1, "memory_branch_create", {"branch_name": "reviewed"})
        for text, _ in facts(_CHANGES, "review"):
            await _post(day1, "memory_write_fact", {"fact_text": text, "branch": "reviewed"})
        review = await _post(day1, "review_open", {"source_branch": "reviewed"})
        spent = [await _get(day1, f"/review/reviews/{review['id']}") for _ in range(8)]
    return duration(name, statistics.median(spent[1:]), 0.3, note=f"first {spent[0] * 1e3:.0f} ms")


async def _get(address: str, path: str) -> float:
    def ask() -> float:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=600)
        started = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        page = answer.read()
        seconds_spent = time.perf_counter() - started
        connection.close()
        if answer.status != http.client.OK or b"</html>" not in page:
            raise RuntimeError(f"{path}: {answer.status}")
        return seconds_spent

    return await anyio.to_thread.run_sync(ask)


async def _idle(bench: Bench, folder: Path) -> Row:
    """What sessions of the stateful protocol era cost that do nothing."""
    # No model: the one that idle servers load for waiting texts would be counted as sessions.
    environment = {**bench.environment(folder), "DAY1_EMBEDDER__KIND": "none"}
    async with day1_over_http(environment) as (pid, day1):
        memory_before = 0
        async with _sessions(day1, 10):
            memory_before = proportional_memory(pid)
        async with _sessions(day1, _SESSIONS):
            memory_after = proportional_memory(pid)
    cost = (memory_after - memory_before) / _MEGABYTE
    return Row(f"{_SESSIONS:,} idle MCP sessions", f"{cost:.0f} MB", "<= 100 MB", cost, 100.0)


@asynccontextmanager
async def _sessions(address: str, count: int) -> AsyncIterator[None]:
    """Open sessions of 2025, which the server keeps."""
    async with AsyncExitStack() as stack:
        for _ in range(count):
            client = Client(f"{address}/mcp", mode="legacy")
            await stack.enter_async_context(client)
        yield
