"""`memory_write_fact` over MCP stdio, and the first answers after others have written much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.report import Row, percentile, quotient, stated
from benchmarks.texts import LONGEST, SHORTEST, facts, questions
from benchmarks.wire import Alternated, Arguments, alternate, call, day1_server, empty_server
from benchmarks.writers import FIVE, write_by

_NAME = "memory_write_fact over MCP stdio, after fsync"


def rows(bench: Bench) -> Iterator[Row]:
    """Writes one by one against the empty call; nothing may be missing afterwards."""
    folder = bench.copy(bench.sizes.middle)
    alternated = anyio.run(_writes, bench, folder)
    with stores.opened(bench.settings(folder)) as repo:
        present_ids = set(stores.ids(repo, 10**9))
    missing = [a["id"] for a in alternated.answers if a["id"] not in present_ids]
    if missing:
        raise RuntimeError(f"{len(missing)} acknowledged facts are missing")
    for share, limit in ((0.5, 2.0), (0.95, 3.0)):
        above, below = percentile(alternated.measured, share), percentile(alternated.empty, share)
        yield quotient(f"{_NAME}, p{share * 100:g}", above, below, limit, "the empty call's")
    write, search = anyio.run(_first_answers, bench, folder)
    what = f"after {bench.sizes.writes:,} foreign writes"
    yield stated(f"first memory_write_fact {what}", [write])
    yield stated(f"first memory_search {what}", [search])


async def _writes(bench: Bench, folder: Path) -> Alternated:
    sizes = bench.sizes
    calls = [
        {"fact_text": text, "category": category}
        for text, category in facts(sizes.warm + sizes.calls, "writes")
    ]
    async with empty_server() as empty, day1_server(bench.environment(folder)) as day1:
        return await alternate(empty, day1, "memory_write_fact", calls, _check, sizes.warm)


def _check(arguments: Arguments, answer: dict[str, Any]) -> None:
    is_real = (
        SHORTEST <= len(arguments["fact_text"]) <= LONGEST
        and answer["id"].startswith("fact_")
        and answer["written"]["branch"] == "main"
        and answer["near_duplicate_of"] is None
    )
    if not is_real:
        raise RuntimeError(f"not a real answer: {answer}")


async def _first_answers(bench: Bench, folder: Path) -> tuple[float, float]:
    """Two connections that have answered once; then others write; then each answers again."""
    text, category = next(facts(1, "first"))
    fact = {"fact_text": text, "category": category}
    question = {"query": questions(1, "first")[0]}
    environment = bench.environment(folder)
    async with day1_server(environment) as writer, day1_server(environment) as searcher:
        await call(writer, "memory_write_fact", fact)
        await call(searcher, "memory_search", question)
        writes_of_each = bench.sizes.writes // FIVE
        await anyio.to_thread.run_sync(write_by, FIVE, bench.settings(folder), writes_of_each)
        write, _ = await call(writer, "memory_write_fact", fact)
        search, _ = await call(searcher, "memory_search", question)
        return write, search
