"""A search in stores of ever more facts, whose words are as unevenly frequent as a language's.

Everything is measured in processor time, and the vectors are made of words (`WordVectors`): the
model takes four hours for a million facts. What a question costs to embed is left out.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.merging import CHANGED, CLASHING, change_both, measured
from benchmarks.report import Row, quotient, stated
from benchmarks.stores import ids, opened
from benchmarks.zipf_texts import WordVectors, export_lines, questions
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.search.indexing import embed_pending
from day1.services.search.request import SearchRequest
from day1.services.search.searching import search

_LIMITS = {100_000: 2.0, 1_000_000: 4.0}
"""How much longer a search may take than at the least number of facts."""
_WARM, _QUESTIONS, _MERGES = 60, 150, 3
_MEGABYTE = 1024**2


def rows(bench: Bench) -> Iterator[Row]:
    """Import, first search, search, memory, merge and disk at each number of facts."""
    few, least = bench.sizes.many[0], 0.0
    for count in bench.sizes.many:
        folder = bench.folder / f"zipf-{count}"
        if not folder.exists():
            yield _imported(bench, folder, count)
            yield _embedded(bench, folder, count)
        with closing(bench.open(folder)) as store:
            first, times = _searched(store, count)
        yield stated(f"first search at {count:,} facts, processor time", [first], _memory())
        found = statistics.median(times)
        if count == few:
            least = found
            yield stated(f"search at {count:,} facts, processor time", times, _memory())
        else:
            name = f"search at {count:,} facts, processor time"
            limit = _LIMITS.get(count)
            yield replace(quotient(name, found, least, limit, f"at {few:,}"), note=_memory())
        yield from _merged(bench, folder, count)
        size = {part.name: _size(part) / _MEGABYTE for part in folder.iterdir()}
        largest = sorted(size, key=size.__getitem__, reverse=True)[:3]
        note = ", ".join(f"{name} {size[name]:,.0f} MB" for name in largest)
        size_kb = sum(size.values()) * 1024 / count
        yield Row(f"disk at {count:,} facts", f"{size_kb:.1f} KB a fact", note=note, value=size_kb)


def _imported(bench: Bench, folder: Path, count: int) -> Row:
    """Import a file as `day1 import jsonl` does, with its words and its table of rows."""
    file = bench.folder / "zipf.jsonl"
    with file.open("wb") as opened_file:
        opened_file.writelines(export_lines(count))
    environment = {**os.environ, **bench.environment(folder), "DAY1_EMBEDDER__KIND": "none"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    day1 = [sys.executable, "-m", "day1"]
    subprocess.run([*day1, "init"], env=environment, check=True, capture_output=True)
    command = [*day1, "import", "jsonl", str(file), "--json"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime
    file.unlink()
    added = json.loads(done.stdout)["added"]
    if added != count:
        raise RuntimeError(f"{added} of {count} facts were added")
    rate, note = count / seconds, f"highest memory {spent.ru_maxrss / 1024:,.0f} MB"
    name = f"import of {count:,} facts until words are indexed, processor time"
    return Row(name, f"{rate:,.0f} rows/s", note=note, value=rate)


def _embedded(bench: Bench, folder: Path, count: int) -> Row:
    """Store vectors that cost nearly nothing to make."""
    with closing(bench.open(folder)) as store:
        embedder, started = WordVectors(), time.process_time()
        embed_pending(store.search.index, embedder, None)
        return stated(f"{count:,} vectors stored, processor time", [time.process_time() - started])


def _searched(store: OpenStore, count: int) -> tuple[float, list[float]]:
    """The first search of the process, and later ones, each of another question."""
    engine = replace(store.search, embedder=WordVectors())
    branch = find(store.repo, MAIN)
    times = []
    for question in questions(_WARM + _QUESTIONS, count):
        started = time.process_time()
        answer = search(engine, Ref(branch=MAIN), branch.id, SearchRequest(question))
        times.append(time.process_time() - started)
        if len(answer.hits) != 10 or answer.mode_used != "hybrid":
            raise RuntimeError(f"not a real answer: {answer.notes}")
    return times[0], times[_WARM:]


def _merged(bench: Bench, folder: Path, count: int) -> Iterator[Row]:
    """Changed facts of a new branch, some of which clash."""
    names = [f"side-{now()}-{number}" for number in range(_MERGES)]
    with opened(bench.settings(folder)) as repo:
        changed_ids = ids(repo, _MERGES * CHANGED)
        for number, name in enumerate(names):
            change_both(repo, name, changed_ids[number * CHANGED :][:CHANGED], now)
    with opened(bench.settings(folder)) as repo:
        previews, merges = measured(repo, names, now, time.process_time)
    what = f"of {CHANGED} changed rows, {CLASHING} clashing, into {count:,}, processor time"
    yield stated(f"preview {what}", previews)
    yield stated(f"merge {what}", merges, f"the first one {merges[0]:.1f} s")


def _memory() -> str:
    """What this process has by itself, and the most it ever had with mapped files."""
    with Path("/proc/self/status").open() as status:
        value_by_name = dict(line.split(":", 1) for line in status)
    own, most = (int(value_by_name[name].split()[0]) / 1024 for name in ("RssAnon", "VmHWM"))
    return f"{own:,.0f} MB of its own, {most:,.0f} MB with mapped files"


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
