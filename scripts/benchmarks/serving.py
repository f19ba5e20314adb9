"""`day1 serve`: calls over HTTP, 32 clients at once, a page, and sessions that do nothing."""

from __future__ import annotations

import http.client
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.client.client import Client

from benchmarks.bench import Bench
from benchmarks.load import READERS, WRITERS, post, run_load
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

_CLIENTS = READERS + WRITERS
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


async def _at_once(bench: Bench, folder: Path, branches: int) -> list[Row]:
    """24 readers and 8 writers, on as many branches or on one, against one client alone."""
    async with day1_over_http(bench.environment(folder)) as (_, day1):
        names = [f"load/{branches}/{number}" for number in range(branches)]
        for name in names:
            await post(day1, "memory_branch_create", {"branch_name": name})
            await post(day1, "memory_search", {"query": "warm up", "branch": name})
        alone = await run_load(day1, bench.sizes.seconds, [(names[0], "both")])
        many = [
            (names[number % branches], "write" if number < WRITERS else "read")
            for number in range(_CLIENTS)
        ]
        together = await run_load(day1, bench.sizes.seconds, many)
    if alone.failed or together.failed:
        raise RuntimeError(f"{len(together.failed)} failed: {together.failed[:1]}")
    where = "each on its own branch" if branches > 1 else "all on one branch"
    name = f"{READERS} readers and {WRITERS} writers over HTTP, {where}"
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


async def _page(bench: Bench, folder: Path) -> Row:
    """The first page of a review of 1,000 changes."""
    name = f"first page of a review of {_CHANGES:,} changes"
    async with day1_over_http(bench.environment(folder)) as (_, day1):
        await post(day1, "memory_branch_create", {"branch_name": "reviewed"})
        for text, _ in facts(_CHANGES, "review"):
            await post(day1, "memory_write_fact", {"fact_text": text, "branch": "reviewed"})
        review = await post(day1, "review_open", {"source_branch": "reviewed"})
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
