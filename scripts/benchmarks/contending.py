"""Five processes that write one store at once, while it is compacted."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.report import Row, milliseconds
from benchmarks.writers import FIVE, Team


def rows(bench: Bench) -> Iterator[Row]:
    """The longest wait against the mean, waits for the compaction apart."""
    settings = bench.settings(bench.copy(bench.sizes.middle))
    team = Team(FIVE, settings, seconds=bench.sizes.seconds)
    with stores.opened(settings) as repo:
        time.sleep(bench.sizes.seconds / 2)
        started = time.monotonic()
        compacts = repo.store.capabilities.compaction
        if compacts:
            repo.store.compact()
        finished = time.monotonic()
    written_by_process = team.finish()
    failed = [why for one in written_by_process for why in one.failed]
    acknowledged_ids = [row_id for one in written_by_process for row_id in one.ids]
    with stores.opened(settings) as repo:
        lost_ids = set(acknowledged_ids) - set(stores.ids(repo, 10**9))
    if failed or lost_ids:
        raise RuntimeError(f"{len(failed)} failed ({failed[:1]}), {len(lost_ids)} lost")
    seconds_apart = [
        seconds
        for one in written_by_process
        for start, seconds in zip(one.started, one.seconds, strict=True)
        if start + seconds < started or start > finished
    ]
    mean, longest = sum(seconds_apart) / len(seconds_apart), max(seconds_apart)
    result_text = f"{len(acknowledged_ids):,} writes, 0 failed, 0 lost"
    yield Row(
        f"{FIVE} processes writing one store: longest wait / mean",
        f"{milliseconds(longest)} / {milliseconds(mean)}",
        "<= 20 x, none fails, nothing lost",
        longest / mean,
        20.0,
        value=mean,
        note=f"{result_text}; compaction {finished - started:.2f} s" if compacts else result_text,
    )
