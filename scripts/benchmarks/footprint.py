"""Memory of five servers on one large store, and what the store takes on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.report import Row
from benchmarks.texts import facts, questions
from benchmarks.wire import call, children, day1_server, proportional_memory
from benchmarks.writers import FIVE

_GIGABYTE, _KILOBYTE = 1024**3, 1024
_CALLS = 20


def rows(bench: Bench) -> Iterator[Row]:
    """Proportional memory after each server has written and searched; then bytes a fact."""
    count = bench.sizes.large
    folder = bench.copy(count)
    total_memory = anyio.run(_memory, bench, folder) / _GIGABYTE
    name = f"{FIVE} day1 mcp on one store of {count:,} facts, proportional memory"
    yield Row(name, f"{total_memory:.2f} GB", "<= 1.2 GB", total_memory, 1.2)
    with stores.opened(bench.settings(folder)) as repo:
        repo.store.compact()
        fact_count = len(stores.ids(repo, 10**9))
    size = {
        part.name: sum(f.stat().st_size for f in [part, *part.rglob("*")] if f.is_file())
        for part in folder.iterdir()
    }
    size_kb = sum(size.values()) / fact_count / _KILOBYTE
    largest = sorted(size, key=size.__getitem__, reverse=True)[:4]
    note = ", ".join(f"{name} {size[name] / 1e6:,.0f} MB" for name in largest)
    yield Row(
        "disk, compacted, all files", f"{size_kb:.2f} KB a fact", "<= 8 KB", size_kb, 8.0, note=note
    )


async def _memory(bench: Bench, folder: Path) -> int:
    earlier_children = set(children())
    async with AsyncExitStack() as stack:
        environment = bench.environment(folder)
        clients = [await stack.enter_async_context(day1_server(environment)) for _ in range(FIVE)]
        texts = [text for text, _ in facts(FIVE * _CALLS, "memory")]
        asked = questions(FIVE * _CALLS, "memory")
        for number, (text, question) in enumerate(zip(texts, asked, strict=True)):
            client = clients[number % FIVE]
            await call(client, "memory_write_fact", {"fact_text": text})
            await call(client, "memory_search", {"query": question})
        return sum(proportional_memory(pid) for pid in children() if pid not in earlier_children)
