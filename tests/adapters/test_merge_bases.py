"""The merge base that is found without reading all of the past: always the engine's, or none."""

import random
from itertools import product

import pytest

from day1.adapters.versioned.doltlite.dialect import DoltLiteDialect, meeting
from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from tests.suites.memory import Clock


def behind(parents, commit):
    found, queue = set(), [commit]
    while queue:
        commit = queue.pop()
        if commit not in found:
            found.add(commit)
            queue += parents[commit]
    return found


def bases(parents, one, other):
    """The common commits that are behind no other common one."""
    common = behind(parents, one) & behind(parents, other)
    return {c for c in common if not any(c != d and c in behind(parents, d) for d in common)}


def graph(dice):
    """A random graph in which some commits are merges, and what a reader may know of it."""
    parents: dict[str, list[str]] = {"0": []}
    for number in range(1, dice.randint(2, 20)):
        newest = [str(n) for n in range(max(0, number - 6), number)]
        parents[str(number)] = dice.sample(newest, min(len(newest), dice.choice((1, 1, 2))))
    known = dict(parents)
    if dice.random() < 0.5:
        known = {commit: some for commit, some in parents.items() if dice.random() < 0.9}
    return parents, known


def test_where_two_commits_meet_is_their_only_merge_base():
    told = 0
    for seed in range(60):
        parents, known = graph(random.Random(seed))
        for one, other in product(parents, parents):
            found = meeting(known, one, other)
            if found is not None:
                told += 1
                assert bases(parents, one, other) == {found}, (known, one, other)
    assert told > 2_000


@pytest.fixture
def store(tmp_path):
    DoltLiteStore.create(tmp_path, lambda: 1)
    store = DoltLiteStore(tmp_path, Clock())
    yield store
    store.close()


def commit(store, branch, merged=None):
    with store.changing(branch) as work:
        row_id = f"fact_{branch}_{work.now}"
        fact = fact_row(row_id, NewFact(row_id), Origin("ada"), work.now)
        writes = {FACT.table: {row_id: fact}}
        if merged is None:
            work.apply(writes)
        else:
            work.merge(merged, writes)
        return work.commit(Message("import", "one more"))


def test_the_merge_base_is_the_engines(store):
    """Of branches that parted lately, of a branch of a branch, and of two that merged each other."""
    start = commit(store, "main")
    store.history.fork("side", start)
    side, main = commit(store, "side"), commit(store, "main")
    store.history.fork("deep", side)
    deep = commit(store, "deep")
    assert store.history.merge_base(main, deep) == start
    assert store.history.merge_base(side, deep) == side
    merged = commit(store, "main", deep)
    assert store.history.merge_base(merged, commit(store, "deep")) == deep
    tips = [commit(store, branch) for branch in ("main", "deep", "side")]
    crossed = [commit(store, "main", tips[1]), commit(store, "deep", tips[0])]
    with store._connections.fresh() as connection:
        for one, other in product([start, side, main, deep, merged, *tips, *crossed], repeat=2):
            asked = connection.exec_driver_sql("SELECT dolt_merge_base(?, ?)", (one, other))
            assert DoltLiteDialect().merge_base(connection, one, other) == asked.scalar_one()
