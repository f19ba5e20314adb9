"""Kompanion's tools: against the empty call, memory_search, a smaller store, and the bare model."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client

from benchmarks.bench import Bench
from benchmarks.report import Row, quotient, skipped
from benchmarks.texts import facts, questions
from benchmarks.wire import Alternated, Arguments, alternate, call, day1_server, empty_server
from day1.services.access.caller import Caller
from day1.toolsets.kompanion import KOMPANION

_TOOLSETS = "core,kompanion"
_SPACE = {"namespace": "project:bench"}
_ROWS = 100
"""Of the namespace that is searched."""
_TEXTS = 256
_SAVE, _FEW, _SAME, _EMBED = 2.2, 1.5, 1.2, 1 / 0.9


def rows(bench: Bench) -> Iterator[Row]:
    """One row for each of Kompanion's promises."""
    yield _saves(bench)
    yield anyio.run(_searches_of_a_namespace, bench)
    yield anyio.run(_searches_of_the_same_rows, bench)
    yield _embeds(bench)


def _saves(bench: Bench) -> Row:
    sizes = bench.sizes
    calls = [
        {**_SPACE, "key": f"k{number}", "content": {"text": text, "n": [number, None]}}
        for number, (text, _) in enumerate(facts(sizes.warm + sizes.calls, "contexts"))
    ]

    async def measure() -> Alternated:
        folder = bench.copy(sizes.small)
        environment = bench.environment(folder)
        async with empty_server() as empty, day1_server(environment, _TOOLSETS) as day1:
            return await alternate(empty, day1, "save_context", calls, _is_saved, sizes.warm)

    measured = anyio.run(measure)
    above, below = statistics.median(measured.measured), statistics.median(measured.empty)
    return quotient(
        "save_context over MCP stdio, after fsync, p50", above, below, _SAVE, "the empty call's"
    )


def _is_saved(_: Arguments, answer: dict[str, Any]) -> None:
    if not answer["id"].startswith("obs_"):
        raise RuntimeError(f"not a real answer: {answer}")


async def _searches_of_a_namespace(bench: Bench) -> Row:
    """In a large store and in a small one, by turns."""
    sizes = bench.sizes
    async with AsyncExitStack() as opened:
        servers: list[Client] = []
        for size in (sizes.large, sizes.small):
            folder = bench.copy(size, f"copy-{size}")
            day1 = day1_server(bench.environment(folder), _TOOLSETS)
            servers.append(await opened.enter_async_context(day1))
            items = [{"text": text} for text, _ in facts(_ROWS, "namespace")]
            await call(servers[-1], "upsert_memory", {**_SPACE, "items": items})
            if bench.model_dir is not None:
                while (await call(servers[-1], "warm_cache", _SPACE))[1]["queued"]:
                    pass
        seconds_by_server: list[list[float]] = [[], []]
        for number, text in enumerate(questions(sizes.warm + sizes.calls, "namespace")):
            for server, times in zip(servers, seconds_by_server, strict=True):
                query = {**_SPACE, "query": {"text": text}}
                seconds, answer = await call(server, "search_memory", query)
                _is_found({}, answer)
                if number >= sizes.warm:
                    times.append(seconds)
    above, below = map(statistics.median, seconds_by_server)
    name = f"search_memory in a namespace of {_ROWS} rows, {sizes.large:,} facts beside it"
    return quotient(name, above, below, _FEW, f"with {sizes.small:,}")


async def _searches_of_the_same_rows(bench: Bench) -> Row:
    """`search_memory` of what belongs to no namespace, which is all that `memory_search` finds."""
    sizes = bench.sizes
    folder = bench.copy(sizes.middle)
    seconds_by_tool: list[list[float]] = [[], []]
    async with day1_server(bench.environment(folder), _TOOLSETS) as day1:
        for number, text in enumerate(questions(sizes.warm + sizes.calls, "same")):
            calls: list[tuple[str, Arguments]] = [
                ("search_memory", {"namespace": "shared", "query": {"text": text}}),
                ("memory_search", {"query": text}),
            ]
            for tool, arguments in calls if number % 2 else reversed(calls):
                seconds, answer = await call(day1, tool, arguments)
                _is_found({}, answer)
                if number >= sizes.warm:
                    seconds_by_tool[tool == "memory_search"].append(seconds)
    above, below = map(statistics.median, seconds_by_tool)
    return quotient("search_memory of the same rows", above, below, _SAME, "memory_search's")


def _is_found(_: Arguments, answer: dict[str, Any]) -> None:
    if not (answer.get("matches") or answer.get("result")):
        raise RuntimeError(f"nothing was found: {answer}")


def _embeds(bench: Bench) -> Row:
    """The operation and the bare model, by turns."""
    name = f"embed_text of {_TEXTS} texts"
    if bench.model_dir is None or bench.server is not None:
        return skipped(name, f"<= {_EMBED:.2f} x the model's", "no model, or a server's row")
    texts = [text for text, _ in facts(_TEXTS, "embedded")]
    seconds_by_work: list[list[float]] = [[], []]
    folder: Path = bench.copy(bench.sizes.small)
    store = bench.open(folder)
    try:
        embedder, tool = store.search.embedder, KOMPANION.tools["embed_text"]
        assert embedder is not None  # noqa: S101 - there is a model
        works: tuple[Callable[[], object], ...] = (
            lambda: tool.call(store.context(Caller()), {"texts": texts}),
            lambda: embedder.embed(texts),
        )
        for _ in range(bench.sizes.repeats + 1):
            for times, work in zip(seconds_by_work, works, strict=True):
                started = time.perf_counter()
                work()
                times.append(time.perf_counter() - started)
    finally:
        store.close()
    above, below = (statistics.median(times[1:]) for times in seconds_by_work)
    return quotient(name, above, below, _EMBED, "the model's")
