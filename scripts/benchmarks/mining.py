"""Patterns of Compose: mining the tool calls of many turns, and listing what was mined."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio

from benchmarks.bench import Bench
from benchmarks.posting import EMPTY, Client, alternate
from benchmarks.report import Row, quotient
from benchmarks.wire import day1_over_http, empty_over_http
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.model.rows.origin import Origin
from day1.model.values.wallet_space import Owner
from day1.services.branches.lookup import find
from day1.services.repository.repository import Repository
from day1.services.skills.mining import Extraction, extract_patterns, mined
from tests.tool_threads import asked, called, write_thread

_TURNS_OF_A_THREAD = 50
_OWNER = Owner("bench")
_TOOLS = ("grep", "edit", "test", "read", "list", "build", "commit", "deploy")


def rows(bench: Bench) -> Iterator[Row]:
    """How quickly turns are mined, and a list of patterns that are counted already."""
    folder = bench.copy(bench.sizes.small)
    store = bench.open(folder)
    try:
        _write(store.repo, bench.sizes.middle)
        yield _mining(store.repo, bench)
        branch = find(store.repo, MAIN)
        extract_patterns(store.repo, Extraction(branch, _OWNER, Origin("bench")))
    finally:
        store.close()
    yield anyio.run(_listing, bench, folder)


def _write(repo: Repository, turns: int) -> None:
    """Write turns of three tool calls each: runs that recur in each thread, and others."""
    for thread in range(turns // _TURNS_OF_A_THREAD):
        lines = []
        for turn in range(_TURNS_OF_A_THREAD):
            start = (thread + turn * turn) % len(_TOOLS)
            names = (_TOOLS * 2)[start : start + 3]
            lines += [asked(f"Do {turn}."), *called(*names, status="ok" if turn % 7 else "failed")]
        write_thread(repo, _OWNER, f"t{thread}", lines)


def _mining(repo: Repository, bench: Bench) -> Row:
    """Read all turns and count each run that recurs, without what is remembered."""
    seconds = []
    for _ in range(bench.sizes.repeats):
        repo.mined.clear()
        started = time.perf_counter()
        with repo.store.reading(Ref(branch=MAIN)) as reading:
            mined_calls = mined(repo, reading, _OWNER.space)
            for steps in mined_calls.recurring(50):
                mined_calls.runs(steps)
        seconds.append(time.perf_counter() - started)
    turns = bench.sizes.middle // _TURNS_OF_A_THREAD * _TURNS_OF_A_THREAD
    a_second = turns / sorted(seconds)[len(seconds) // 2]
    name, target = f"mining {turns:,} turns of three tool calls", 5_000
    return Row(
        name, f"{a_second:,.0f} turns/s", f">= {target:,} turns/s", a_second, target, at_least=True
    )


async def _listing(bench: Bench, folder: Path) -> Row:
    """List patterns that are counted already, beside an empty call."""
    async with empty_over_http() as (_, floor), day1_over_http(bench.environment(folder)) as served:
        empty, client = Client(floor), Client(served[1])
        path = urlsplit(floor).path or "/mcp"

        def listed(_: int) -> tuple[float, Any]:
            spent, answer = client.post("/api/memory/patterns?agentWallet=bench", None, "GET")
            if not answer["patterns"]:
                raise RuntimeError("no pattern was mined")
            return spent, answer

        none, warm = await alternate(bench, lambda _: empty.post(path, EMPTY), listed)
    name = f"patterns_list, warm, {bench.sizes.middle:,} turns, p50"
    return quotient(name, warm, none, 3, "an empty HTTP call")
