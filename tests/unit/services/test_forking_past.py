"""Forks of a past state: what they have, and what their merges count from."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from day1.errors import InvalidRequest
from day1.model.branches.branch import MAIN, Branch
from day1.model.rows.change import Changes, Commit, CommitId, Ref, RowChange
from day1.model.rows.kind import Row
from day1.services.branches import forking_past
from tests.fakes.memory_store import MemoryHistory
from tests.unit.services.conftest import Bench


def past_fork(bench: Bench, name: str, at: int, parent: str = MAIN) -> Branch:
    request = forking_past.PastFork(name, bench.branch(parent), at)
    return forking_past.create_past(bench.repo, request, bench.now)


def test_a_fork_of_the_past_has_the_rows_of_then(bench: Bench) -> None:
    times = []
    for row_id in ("fact_a", "fact_b"):
        bench.add(row_id, row_id)
        bench.store.commit_pending(MAIN)
        times.append(bench.now)
    bench.now += 5
    first, second = (past_fork(bench, f"past{at}", at) for at in times)
    assert (bench.facts(first.name), bench.facts(second.name)) == ({"fact_a"}, {"fact_a", "fact_b"})
    assert (first.parent_id, first.began_at) == (bench.branch().id, times[0])
    assert bench.facts(past_fork(bench, "empty", 1).name) == set()


def test_the_future_cannot_be_forked_unless_a_wrong_clock_wrote_it(bench: Bench) -> None:
    bench.add("fact_a", "a")
    bench.store.commit_pending(MAIN)
    ahead = bench.now
    bench.now -= 500
    with pytest.raises(InvalidRequest, match="in the future"):
        past_fork(bench, "late", ahead + 1)
    assert "late" not in bench.repo.history.branches()
    assert bench.facts(past_fork(bench, "ahead", ahead).name) == {"fact_a"}


def test_rows_that_both_sides_began_with_count_as_of_the_base(bench: Bench) -> None:
    row, other = (Row({"id": name, "fact_text": name}) for name in ("fact_a", "fact_b"))
    kept, edited = Row({**row, "fact_text": "edited"}), {"facts": [RowChange("fact_a", None, row)]}
    store = _Began({"one": [row, other], "other": [row]})
    repo = replace(bench.repo, history=store)
    changed = {"facts": [RowChange("fact_a", None, kept)]}
    tips = ("one", "other")
    assert forking_past.from_common_start(repo, "base", edited, tips) == {}
    assert forking_past.from_common_start(repo, "base", changed, tips) == {
        "facts": [RowChange("fact_a", row, kept)]
    }
    new = {"facts": [RowChange("fact_b", None, other)]}
    assert forking_past.from_common_start(repo, "base", new, tips) == {
        "facts": [RowChange("fact_b", None, other), RowChange("fact_a", row, None)]
    }


class _Began(MemoryHistory):
    """A history in which each tip follows a step of the schema on the base, and added rows."""

    def __init__(self, rows_by_tip: dict[str, list[Row]]) -> None:
        self.rows_by_tip = rows_by_tip

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        (tip,) = starts
        made = [(tip, "step", "add"), ("step", "base", "schema"), ("base", "first", "change")]
        return [Commit(name, (parent,), op, 0, "", "") for name, parent, op in made]

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        assert base == "base"
        rows = self.rows_by_tip[str(ref.commit)]
        return {"facts": [RowChange(str(row["id"]), None, row) for row in rows]}
