"""Upkeep: branches retired and revived, what moved, a clock put right, and status."""

from dataclasses import replace

import pytest

from day1.errors import BranchProtected, Refused, UnknownBranch
from day1.model.branches.branch import MAIN
from day1.services.branches import retiring
from day1.services.branches.deleting import is_taken
from day1.services.branches.lookup import find
from day1.services.branches.notes import mark
from day1.services.health import clocks
from day1.services.merges import merging, planning
from day1.services.upkeep.poller import ChangePoller, Moved
from day1.services.upkeep.retirable import retirable_branches
from day1.services.upkeep.status import branch_status
from tests.unit.services.conftest import ADA, Bench, Died, dying_at

DAY = 86_400_000_000


@pytest.fixture(autouse=True)
def side(bench: Bench) -> None:
    bench.fork("side")
    bench.add("fact_a", "a", "side")


def test_a_retired_branch_comes_back_with_its_rows(bench: Bench) -> None:
    retired = retiring.retire(bench.repo, bench.branch("side"), bench.now)
    assert "side" not in bench.repo.history.branches()
    with pytest.raises(UnknownBranch, match="It was retired"):
        find(bench.repo, "side")
    retiring.revive(bench.repo, retired, bench.now)
    assert bench.facts("side") == {"fact_a"}
    assert bench.branch("side").retired_tip is None


def test_main_and_protected_branches_are_not_retired(bench: Bench) -> None:
    with pytest.raises(Refused):
        retiring.retire(bench.repo, bench.branch(), bench.now)
    bench.repo.ledger.put_branch(replace(bench.branch("side"), protection=("approval",)))
    with pytest.raises(BranchProtected):
        retiring.retire(bench.repo, bench.branch("side"), bench.now)


def test_merged_branches_and_those_past_their_days_may_be_retired(bench: Bench) -> None:
    bench.fork("old")
    mark(bench.repo, bench.branch("old"), ttl_days=1)
    request = planning.MergeRequest(bench.branch("side"), bench.branch(), "auto")
    merging.merge(bench.repo, request, ADA, bench.now)
    found = retirable_branches(bench.repo, MAIN, bench.now + 2 * DAY)
    assert {(one.state.branch.name, one.why) for one in found} == {
        ("side", "merged"),
        ("old", "past its 1 days"),
    }
    assert retirable_branches(bench.repo, "side", bench.now) == []


@pytest.mark.parametrize(
    ("point", "retired"), [("retire.marked", False), ("retire.after_engine", True)]
)
def test_a_branch_whose_retiring_process_died_is_retired_if_its_ref_is_gone(
    bench: Bench, point: str, retired: bool
) -> None:
    with pytest.raises(Died):
        retiring.retire(dying_at(bench.repo, point), bench.branch("side"), bench.now)
    bench.repo.ledger.recover_orphans()
    branch = bench.repo.ledger.branch("side")
    assert branch
    assert (branch.retired_tip is not None) == retired


def test_only_branches_that_moved_are_told(bench: Bench) -> None:
    poller = ChangePoller(bench.repo)
    assert poller.look() == []
    bench.store.commit_pending("side")
    assert poller.look() == [Moved("side", bench.store.tips["side"])]
    assert poller.look() == []
    bench.fork("new")
    bench.store.history.drop("side")
    bench.add("fact_b", "b")
    bench.store.commit_pending(MAIN)
    told = {one.branch: one for one in poller.look() if isinstance(one, Moved)}
    assert told["new"].new
    assert told["side"].commit is None
    assert told[MAIN].commit == bench.store.tips[MAIN]


def test_rows_ahead_of_the_clock_get_times_before_it_in_the_same_order(bench: Bench) -> None:
    right = bench.now
    bench.now += 400 * DAY
    bench.add("fact_late", "late")
    bench.add("fact_later", "later")
    assert set(clocks.ahead(bench.repo, right)) == {MAIN}
    assert clocks.set_right(bench.repo, right) == [(MAIN, 2)]
    times = [bench.present(one)["created_at"] for one in ("fact_late", "fact_later")]
    assert times == [right + 1, right + 2]
    assert clocks.ahead(bench.repo, right) == {}


def test_the_status_counts_what_the_parent_does_not_have(bench: Bench) -> None:
    seen = branch_status(bench.repo, bench.branch("side"))
    assert (seen.ahead, seen.pending.count, seen.held) == ({"added": 1}, 1, 0)
    assert branch_status(bench.repo, bench.branch()).ahead == {}


def test_a_branch_is_taken_once_another_has_all_of_it(bench: Bench) -> None:
    assert not is_taken(bench.repo, bench.branch("side"))
    bench.store.commit_pending("side")
    assert not is_taken(bench.repo, bench.branch("side"))
    request = planning.MergeRequest(bench.branch("side"), bench.branch(), "auto")
    merging.merge(bench.repo, request, ADA, bench.now)
    assert is_taken(bench.repo, bench.branch("side"))
