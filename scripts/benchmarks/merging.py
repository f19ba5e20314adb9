"""A merge into a large, busy store, with everything a plan has to look at."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.report import Row, duration, stated
from benchmarks.writers import FIVE, driven_clock, write_by
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.branches import forking
from day1.services.branches.lookup import find
from day1.services.merges import merging, planning
from day1.services.merges.planning import MergeRequest
from day1.services.rows import editing

if TYPE_CHECKING:
    from day1.services.repository.repository import Repository

CHANGED, CLASHING, TOUCHED = 100, 10, 1_000
STEP = 12_000_000
"""Microseconds from write to write: five agents, each writing once a minute."""
START = 1_700_000_000_000_000
_SIDE, _MAIN = Origin(agent_id="side"), Origin(agent_id="main")


def rows(bench: Bench) -> Iterator[Row]:
    """Merge 100 changed rows, 10 of them clashing; and 1,000 that both sides touched."""
    sizes = bench.sizes
    settings = bench.settings(bench.copy(sizes.large))
    clock = driven_clock(START)
    with stores.opened(settings, lambda: int(clock.value)) as repo:
        clock.value = max(clock.value, next(iter(repo.history.log(MAIN))).ts)

        def turned() -> int:
            clock.value += STEP
            return int(clock.value)

        changed_ids = stores.ids(repo, sizes.repeats * CHANGED)
        names = [f"side-{number}" for number in range(sizes.repeats)]
        ids_by_branch = [changed_ids[n * CHANGED : (n + 1) * CHANGED] for n in range(sizes.repeats)]
        for name, ids in zip(names, ids_by_branch, strict=True):
            forking.create(repo, name, find(repo, MAIN), turned())
            _change(repo, name, ids, _SIDE, turned)
    written_by_process = write_by(FIVE, settings, sizes.writes // FIVE, clock=clock, step=STEP)
    failed = [why for one in written_by_process for why in one.failed]
    if failed:
        raise RuntimeError(f"{len(failed)} writes failed, such as {failed[0]}")
    with stores.opened(settings, lambda: int(clock.value)) as repo:
        for ids in ids_by_branch:
            _change(repo, MAIN, ids[:CLASHING], _MAIN, turned)
        commits = sum(1 for _ in repo.history.log(MAIN))
        note = f"{commits} commits on main; median of {sizes.repeats}"
        previews, merges = measured(repo, names, turned)
        what = f"of {CHANGED} changed rows, {CLASHING} clashing, into {sizes.large:,}"
        yield duration(f"merge {what}", statistics.median(merges), 0.150, note)
        yield duration(f"preview {what}", statistics.median(previews), 0.030, note)
        previews, merges = _touched_by_both(repo, turned)
        what = f"{TOUCHED:,} rows that both sides touched in different columns"
        yield stated(f"merge of {what}", merges)
        yield stated(f"preview of {what}", previews)


def measured(
    repo: Repository,
    names: Sequence[str],
    clock: Callable[[], int],
    timer: Callable[[], float] = time.perf_counter,
) -> tuple[list[float], list[float]]:
    """Preview and merge branches on which facts were changed; seconds of each, by a timer."""
    previews: list[float] = []
    merges: list[float] = []
    for name in names:
        request = MergeRequest(find(repo, name), find(repo, MAIN), "auto")
        started = timer()
        seen_preview = planning.preview(repo, request)
        previews.append(timer() - started)
        request = replace(request, expect=seen_preview.plan.digest)
        now = clock()
        started = timer()
        merge_result = merging.merge(repo, request, _MAIN, now)
        merges.append(timer() - started)
        counts = (merge_result.record.merged_count, merge_result.record.rejected_count)
        if counts != (CHANGED - CLASHING, CLASHING):
            raise RuntimeError(f"merged and held {counts}")
    return previews, merges


def change_both(
    repo: Repository, name: str, row_ids: Sequence[str], clock: Callable[[], int]
) -> None:
    """Change facts on a new branch, and some of them on its parent too."""
    forking.create(repo, name, find(repo, MAIN), clock())
    _change(repo, name, row_ids, _SIDE, clock)
    _change(repo, MAIN, row_ids[:CLASHING], _MAIN, clock)


def _change(
    repo: Repository, branch: str, ids: Sequence[str], origin: Origin, clock: Callable[[], int]
) -> None:
    """Give facts another text, each in a commit of its own, as agents do."""
    on_branch = find(repo, branch)
    for row_id in ids:
        text = f"{branch} knows better at {clock()}"
        editing.update(repo, on_branch, editing.Correction(row_id, {"fact_text": text}), origin)


def _touched_by_both(repo: Repository, clock: Callable[[], int]) -> tuple[list[float], list[float]]:
    """One merge: categories changed on one side, confidences on the other."""
    touched_ids = stores.ids(repo, TOUCHED)
    forking.create(repo, "wide", find(repo, MAIN), clock())
    for branch, values in (("wide", {"category": "other"}), (MAIN, {"confidence": 0.5})):
        clock()
        with repo.store.changing(branch) as work:
            for row_id in touched_ids:
                work.change(FACT, row_id, dict(values))
            work.commit(Message("change", f"change {TOUCHED} rows"))
    request = MergeRequest(find(repo, "wide"), find(repo, MAIN), "auto")
    started = time.perf_counter()
    seen_preview = planning.preview(repo, request)
    preview_s = time.perf_counter() - started
    now = clock()
    started = time.perf_counter()
    merge_result = merging.merge(repo, request, _MAIN, now)
    merge_s = time.perf_counter() - started
    if merge_result.record.rejected_count or seen_preview.plan.merged_count != len(touched_ids):
        raise RuntimeError("these rows do not clash")
    return [preview_s], [merge_s]
