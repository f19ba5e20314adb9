"""What a branch costs that was forked from a branch, that was forked from a branch, and so on."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks import stores
from benchmarks.bench import Bench, FakeEmbedder
from benchmarks.report import Row, quotient
from benchmarks.texts import facts, questions
from day1.interfaces.heads import ProcessHead
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.model.rows.origin import Origin
from day1.services.access.caller import Caller
from day1.services.access.calls import now
from day1.services.branches import forking
from day1.services.branches.lookup import find
from day1.services.rows import editing
from day1.services.search.request import SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search
from day1.toolsets import TOOLSETS

if TYPE_CHECKING:
    from pathlib import Path

    from day1.interfaces.open_store import OpenStore
    from day1.services.repository.repository import Repository

LIMIT = 1.5
_ROUNDS = 15
"""Branches of each depth that are measured, after one that is not."""
_ORIGIN = Origin(agent_id="bench")
_TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core")}

Spent = dict[str, list[float]]
"""Seconds by what was done."""


def rows(bench: Bench) -> Iterator[Row]:
    """Each kind of work on branches of different depths of one store, against depth 1."""
    sizes = bench.sizes
    folder = bench.copy(sizes.middle, "deep")
    with stores.opened(bench.settings(folder)) as repo:
        tips = _forked(repo, sizes.depths)
    spent = _worked(bench, folder, tips)
    bench.remove(folder)
    first, *others = sizes.depths
    branches = max(sizes.depths) + len(sizes.depths) * (_ROUNDS + 1)
    note = f"{branches:,} branches; median of {_ROUNDS}"
    for what, at_first in spent[first].items():
        for depth in others:
            name = f"{what} at depth {depth:,} / at depth {first}"
            above, below = (statistics.median(spent[depth][what]), statistics.median(at_first))
            row = quotient(name, above, below, LIMIT, f"that at depth {first}")
            yield replace(row, note=note)


def _forked(repo: Repository, depths: tuple[int, ...]) -> list[dict[int, tuple[str, str]]]:
    """A chain of forks, and at each depth some forks of the same branch of it.

    Each branch adds a fact and changes one of `main`, no two the same. Returns, for each round
    and depth, a branch and the one it was forked from.
    """
    texts = [text for text, _ in facts(max(depths) + len(depths) * (_ROUNDS + 1), "depth")]
    targets = iter(stores.ids(repo, len(texts)))
    new_texts = iter(texts)

    def fork(name: str, parent: str) -> str:
        forking.create(repo, name, find(repo, parent), now())
        stores.write(repo, next(new_texts), name)
        correction = editing.Correction(next(targets), {"category": "other"})
        editing.update(repo, find(repo, name), correction, _ORIGIN)
        return name

    chain = [MAIN]
    for depth in range(1, max(depths)):
        chain.append(fork(f"chain-{depth}", chain[-1]))
    return [
        {
            depth: (fork(f"tip-{depth}-{number}", chain[depth - 1]), chain[depth - 1])
            for depth in depths
        }
        for number in range(_ROUNDS + 1)
    ]


def _worked(bench: Bench, folder: Path, tips: list[dict[int, tuple[str, str]]]) -> dict[int, Spent]:
    """Work on the branches by turns, each depth once at every place of a round.

    So a busy moment, and what the process had open before, hit all alike. The first round is not
    counted.
    """
    spent_by_depth: dict[int, Spent] = defaultdict(lambda: defaultdict(list))
    asked = list(questions(len(tips), "depth"))
    store = bench.open(folder)
    try:
        engine = _engine(store)
        for number, (question, tip) in enumerate(zip(asked, tips, strict=True)):
            turn = number % len(tip)
            for depth in [*sorted(tip)[turn:], *sorted(tip)[:turn]]:
                for what, seconds in _work(store, engine, tip[depth], question):
                    if number:
                        spent_by_depth[depth][what].append(seconds)
    finally:
        store.close()
    return spent_by_depth


def _work(
    store: OpenStore, engine: SearchEngine, ends: tuple[str, str], question: str
) -> Iterator[tuple[str, float]]:
    """Everything that is measured, once, on a branch that this process has not used yet.

    Its parent was read just before: `main` is open in a process all the time, others may not be.
    """
    branch, parent = ends
    head = ProcessHead(store.repo, MAIN)
    merge: dict[str, Any] = {"source_branch": branch, "target_branch": parent}

    def call(tool: str, **arguments: Any) -> Any:
        return _TOOLS[tool].call(store.context(Caller(agent_id="bench", head=head)), arguments)

    call("memory_timeline", branch=parent)
    branch_id = find(store.repo, branch).id
    search_branch = partial(search, engine, Ref(branch=branch), branch_id, SearchRequest(question))
    for what, done in (
        ("branch switch", partial(call, "memory_branch_switch", branch_name=branch)),
        ("first search", search_branch),
        ("search", search_branch),
        ("read of the newest 50", partial(call, "memory_timeline", branch=branch)),
        ("write", partial(call, "memory_write_fact", fact_text=question, branch=branch)),
        (
            "branch create",
            partial(
                call, "memory_branch_create", branch_name=f"{branch}-new", parent_branch=branch
            ),
        ),
        ("diff with its parent", partial(call, "memory_branch_diff", **merge)),
        (
            "merge into its parent",
            partial(call, "memory_branch_merge", strategy="auto", **merge),
        ),
    ):
        started = time.perf_counter()
        done()
        yield what, time.perf_counter() - started


def _engine(store: OpenStore) -> SearchEngine:
    """The store's, with questions that cost nothing to embed: only the branches differ."""
    return replace(store.search, embedder=FakeEmbedder())
