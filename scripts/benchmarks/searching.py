"""`memory_search` over MCP stdio, its parts, and what more facts and more branches cost."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from benchmarks import stores
from benchmarks.bench import Bench, FakeEmbedder
from benchmarks.report import Row, milliseconds, quotient, skipped, stated
from benchmarks.texts import facts, questions
from benchmarks.timing import timed
from benchmarks.wire import Alternated, Arguments, alternate, call, day1_server, empty_server
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.services.access.calls import now
from day1.services.branches import forking
from day1.services.branches.lookup import find
from day1.services.search.request import SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search

_BRANCH_QUESTIONS = 40
_FORKS = 30


def rows(bench: Bench) -> Iterator[Row]:
    """Hybrid search at 10,000 and 100,000 facts, 500 different questions."""
    sizes = bench.sizes
    name = f"memory_search hybrid over MCP stdio, {sizes.middle:,} facts, p50"
    if bench.model_dir is None:
        yield skipped(name, "<= 7 x the empty call", "no model (DAY1_EMBEDDER__MODEL_DIR)")
        return
    middle = anyio.run(_searches, bench, bench.store(sizes.middle))
    at_middle = statistics.median(middle.measured)
    yield quotient(name, at_middle, statistics.median(middle.empty), 7.0, "the empty call")
    yield from _parts(bench, at_middle)
    large = anyio.run(_searches, bench, bench.store(sizes.large))
    yield quotient(
        f"the same at {sizes.large:,} facts / at {sizes.middle:,}",
        statistics.median(large.measured),
        at_middle,
        2.0,
        f"at {sizes.middle:,}",
    )


async def _searches(bench: Bench, folder: Path) -> Alternated:
    sizes = bench.sizes
    calls = [{"query": text} for text in questions(sizes.warm + sizes.calls, "searches")]
    async with empty_server() as empty, day1_server(bench.environment(folder)) as day1:
        # The load is over when every fact has its vector and a search has answered.
        await call(day1, "memory_search", {"query": "who reviewed it?"})
        return await alternate(empty, day1, "memory_search", calls, _check, sizes.warm)


def _check(_arguments: Arguments, answer: dict[str, Any]) -> None:
    read = answer["read"]
    if len(answer["result"]) != 10 or read["mode"] != "hybrid" or read["branch"] != MAIN:
        raise RuntimeError(f"not a real answer: {read}")
    if any("pending_vectors" in note for note in read["notes"]):
        raise RuntimeError("vectors are missing")


def _parts(bench: Bench, over_stdio: float) -> Iterator[Row]:
    """The same search in one process, part by part."""
    store = bench.open(bench.store(bench.sizes.middle))
    try:
        engine, spent = timed(store.search)
        queries = questions(bench.sizes.warm + bench.sizes.calls, "searches")
        whole: list[float] = []
        parts: dict[str, list[float]] = {}
        for number, text in enumerate(queries):
            spent.clear()
            started = time.perf_counter()
            _search(store, engine, MAIN, text)
            if number >= bench.sizes.warm:
                whole.append(time.perf_counter() - started)
                for part in spent:
                    parts.setdefault(part, []).append(spent[part])
                parts.setdefault("ranked, and the rest", []).append(whole[-1] - sum(spent.values()))
        for part, seconds in parts.items():
            yield stated(f"part: {part}", seconds)
        wire_s = over_stdio - statistics.median(whole)
        yield Row(
            "part: stdio, schema and JSON",
            milliseconds(wire_s),
            value=wire_s,
            note="the rest of the call",
        )
    finally:
        store.close()


def _search(store: OpenStore, engine: SearchEngine, branch: str, text: str) -> None:
    found_branch = store.repo.ledger.branch(branch)
    assert found_branch is not None  # noqa: S101 - made by this module
    answer = search(engine, Ref(branch=branch), found_branch.id, SearchRequest(text))
    if not answer.hits:
        raise RuntimeError(f"nothing found on {branch}")


def branches(bench: Bench) -> Iterator[Row]:
    """What creating a branch costs with many rows, and a search with many branches."""
    sizes = bench.sizes
    few, many = _creations(bench, sizes.small, sizes.large)
    yield quotient(
        f"branch create at {sizes.large:,} rows / at {sizes.small:,}", many, few, 1.5, "with few"
    )
    one, of_many = _branch_searches(bench)
    name = f"search on 1 of {sizes.branches} branches / on 1 of 1"
    yield quotient(name, of_many, one, 1.5, "with one")


def _creations(bench: Bench, *counts: int) -> list[float]:
    """The median time of a fork in a store of each count, by turns: a busy moment hits all."""
    seconds_by_count: list[list[float]] = [[] for _ in counts]
    with ExitStack() as stack:
        folders = [bench.copy(count, f"copy-{count}") for count in counts]
        repos = [stack.enter_context(stores.opened(bench.settings(one))) for one in folders]
        for number in range(_FORKS):
            for repo, seconds in zip(repos, seconds_by_count, strict=True):
                started = time.perf_counter()
                forking.create(repo, f"new-{number}", find(repo, MAIN), now())
                seconds.append(time.perf_counter() - started)
    for folder in folders:
        bench.remove(folder)
    return [statistics.median(seconds) for seconds in seconds_by_count]


def _branch_searches(bench: Bench) -> tuple[float, float]:
    """Medians on the only branch, and on one of many that each have facts of their own."""
    single_store = bench.open(bench.store(bench.sizes.middle))
    folder = bench.copy(bench.sizes.middle)
    with stores.opened(bench.settings(folder)) as repo:
        texts = [text for text, _ in facts(bench.sizes.branches, "branches")]
        for number, text in enumerate(texts[1:]):
            forking.create(repo, f"task-{number}", find(repo, MAIN), now())
            stores.write(repo, text, f"task-{number}")
    bench.index(folder)
    store_of_many = bench.open(folder)
    try:
        last_branch = f"task-{bench.sizes.branches - 2}"
        ways = [partial(_search, single_store, _fixed(bench, single_store), MAIN)]
        ways.append(partial(_search, store_of_many, _fixed(bench, store_of_many), last_branch))
        seconds_by_way: list[list[float]] = [[], []]
        for number, text in enumerate(questions(_BRANCH_QUESTIONS, "branches")):
            for way, seconds in zip(ways, seconds_by_way, strict=True):
                started = time.perf_counter()
                way(text)
                if number >= _BRANCH_QUESTIONS // 4:
                    seconds.append(time.perf_counter() - started)
        return statistics.median(seconds_by_way[0]), statistics.median(seconds_by_way[1])
    finally:
        single_store.close()
        store_of_many.close()


def _fixed(bench: Bench, store: OpenStore) -> SearchEngine:
    """Ports whose questions cost nothing to embed, so that only the branches differ."""
    return replace(store.search, embedder=FakeEmbedder() if bench.embedder else None)
