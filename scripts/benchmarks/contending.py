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
        began = time.monotonic()
        compacts = repo.store.capabilities.compaction
        if compacts:
            repo.store.compact()
        ended = time.monotonic()
    written = team.finish()
    failed = [why for one in written for why in one.failed]
    acknowledged = [row_id for one in written for row_id in one.ids]
    with stores.opened(settings) as repo:
        lost = set(acknowledged) - set(stores.ids(repo, 10**9))
    if failed or lost:
        raise RuntimeError(f"{len(failed)} failed ({failed[:1]}), {len(lost)} lost")
    apart = [
        seconds
        for one in written
        for start, seconds in zip(one.started, one.seconds, strict=True)
        if start + seconds < began or start > ended
    ]
    mean, longest = sum(apart) / len(apart), max(apart)
    done = f"{len(acknowledged):,} writes, 0 failed, 0 lost"
    yield Row(
        f"{FIVE} processes writing one store: longest wait / mean",
        f"{milliseconds(longest)} / {milliseconds(mean)}",
        "<= 20 x, none fails, nothing lost",
        longest / mean,
        20.0,
        value=mean,
        note=f"{done}; compaction {ended - began:.2f} s" if compacts else done,
    )
