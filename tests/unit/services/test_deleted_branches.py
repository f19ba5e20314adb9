"""What stays of a branch that was deleted or retired: its commits, and what is known of it."""

from dataclasses import replace

import pytest

from day1.errors import BranchExists, Refused, RequestReused, UnknownBranch
from day1.model.branches.branch import MAIN, Branch, DeletedBranch
from day1.model.merge.plan import Strategy
from day1.model.records.codec import to_json
from day1.services.branches import deleting, forking, notes, retiring
from day1.services.merges import merging, planning
from tests.unit.services.conftest import ADA, Bench, Died, dying_at


def test_a_deleted_branch_leaves_its_commits_behind_a_tag(bench: Bench) -> None:
    side = bench.fork("side")
    bench.add("fact_a", "a", "side")
    deleting.delete(bench.repo, bench.branch("side"), MAIN, bench.now)
    assert "side" not in bench.repo.history.branches()
    [(name, kept)] = bench.repo.history.tags().items()
    assert name == f"keep/{side.id}.{kept[:8]}"
    assert bench.repo.history.log(kept)
    assert bench.store.rows[kept]["facts"].keys() == {"fact_a"}
    assert deleting.last_commit_of(bench.repo, side.id) == kept


def test_a_branch_whose_commits_its_parent_has_is_deleted_without_a_tag(bench: Bench) -> None:
    side = bench.fork("side")
    deleting.delete_taken(bench.repo, side, MAIN, bench.now)
    assert bench.repo.history.tags() == {}
    assert deleting.last_commit_of(bench.repo, side.id) == side.fork_commit


def test_a_branch_that_outlived_a_deletion_is_kept_further_on(bench: Bench) -> None:
    side = bench.fork("side")
    bench.add("fact_a", "a", "side")
    with pytest.raises(Died):
        deleting.delete(dying_at(bench.repo, "delete.after_keep"), side, MAIN, bench.now)
    bench.repo.ledger.recover_orphans()
    bench.add("fact_b", "b", "side")
    deleting.delete(bench.repo, bench.branch("side"), MAIN, bench.now)
    last = deleting.last_commit_of(bench.repo, side.id)
    assert last in bench.repo.history.tags().values()
    assert bench.store.rows[str(last)]["facts"].keys() == {"fact_a", "fact_b"}


def test_the_tag_of_an_earlier_version_tells_the_last_commit(bench: Bench) -> None:
    side, tip = bench.fork("side"), bench.store.tips[MAIN]
    assert deleting.last_commit_of(bench.repo, side.id) is None
    bench.repo.history.tag(f"keep/{side.id}", tip)
    assert deleting.last_commit_of(bench.repo, side.id) == tip


@pytest.mark.parametrize("point", ["delete.after_keep", "delete.after_engine"])
def test_a_deletion_is_known_by_its_request_once_the_branch_is_gone(
    bench: Bench, point: str
) -> None:
    side = bench.fork("side")
    with pytest.raises(Died):
        deleting.delete(dying_at(bench.repo, point), side, MAIN, bench.now, "first")
    bench.repo.ledger.recover_orphans()
    if point == "delete.after_keep":  # the branch stayed
        assert deleting.deleted_by(bench.repo, "first", "side") is None
        deleting.delete_taken(bench.repo, bench.branch("side"), MAIN, bench.now, "first")
    deleted = deleting.deleted_by(bench.repo, "first", "side")
    tip = str(side.fork_commit)
    as_it_was = to_json(replace(side, retired_tip=tip))
    assert deleted == DeletedBranch(side.id, "side", tip, bench.now, "first", as_it_was)
    assert deleting.deleted_by(bench.repo, "second", "side") is None


def merge_side(bench: Bench, target: str = MAIN, strategy: Strategy = "auto") -> None:
    request = planning.MergeRequest(bench.branch("side"), bench.branch(target), strategy)
    merging.merge(bench.repo, request, ADA, bench.now)


@pytest.mark.parametrize("strategy", ["auto", "squash"])
@pytest.mark.parametrize("merged_on", [False, True])
def test_a_merge_into_a_deleted_branch_counts_if_another_branch_has_it(
    bench: Bench, strategy: Strategy, merged_on: bool
) -> None:
    bench.fork("target")
    side = bench.fork("side")
    bench.add("fact_a", "a", "side")
    merge_side(bench, "target", strategy)
    assert deleting.is_taken(bench.repo, bench.branch("side"))
    if merged_on:
        request = planning.MergeRequest(bench.branch("target"), bench.branch(), "auto")
        merging.merge(bench.repo, request, ADA, bench.now)
    deleting.delete(bench.repo, bench.branch("target"), MAIN, bench.now)
    assert deleting.is_taken(bench.repo, bench.branch("side")) == merged_on
    if not merged_on:
        with pytest.raises(Refused, match="No other branch has all of 'side'"):
            deleting.delete_taken(bench.repo, side, MAIN, bench.now)


def test_a_merge_of_what_the_branch_was_before_does_not_count(bench: Bench) -> None:
    bench.fork("side")
    bench.add("fact_a", "a", "side")
    merge_side(bench)
    bench.add("fact_b", "b", "side")
    bench.store.commit_pending("side")
    assert not deleting.is_taken(bench.repo, bench.branch("side"))


def test_a_merge_that_left_something_does_not_count(bench: Bench) -> None:
    bench.fork("side")
    bench.add("fact_a", "a", "side")
    bench.add("fact_b", "b", "side")
    sides = bench.branch("side"), bench.branch()
    request = planning.MergeRequest(*sides, "cherry_pick", items=("fact_a",))
    merging.merge(bench.repo, request, ADA, bench.now)
    assert not deleting.is_taken(bench.repo, bench.branch("side"))


@pytest.mark.parametrize("has_tag", [False, True])
@pytest.mark.parametrize("before", ["nothing was written", "it was merged"])
def test_a_retired_branch_has_a_tag_if_neither_parent_nor_target_has_its_commits(
    bench: Bench, before: str, has_tag: bool
) -> None:
    bench.fork("parent")
    side = bench.fork("side", "parent")
    if before == "it was merged":
        bench.add("fact_a", "a", "side")
        merge_side(bench)
    if has_tag:
        bench.add("fact_b", "b", "side")
    tip = str(retiring.retire(bench.repo, side, bench.now).retired_tip)
    assert bench.repo.history.tags() == ({f"keep/{side.id}.{tip[:8]}": tip} if has_tag else {})


def test_a_branch_that_is_marked_as_retired_is_no_reason_to_go_without_a_tag(bench: Bench) -> None:
    bench.fork("parent")
    side = bench.fork("side", "parent")
    notes.mark(bench.repo, bench.branch("parent"), retired_tip=side.fork_commit)
    retiring.retire(bench.repo, side, bench.now)
    assert [*bench.repo.history.tags().values()] == [side.fork_commit]


def deleted_side(bench: Bench) -> Branch:
    """A branch with notes and a fact of its own, as it was before its deletion."""
    bench.fork("side")
    bench.add("fact_a", "a", "side")
    bench.store.commit_pending("side")
    side = notes.mark(bench.repo, bench.branch("side"), purpose="p", tags=("t",), closed=True)
    deleting.delete(bench.repo, side, MAIN, bench.now)
    return side


def test_a_deleted_branch_comes_back_as_it_was(bench: Bench) -> None:
    side = deleted_side(bench)
    assert retiring.undelete(bench.repo, "side", bench.now) == side
    assert bench.branch("side") == side
    assert bench.facts("side") == {"fact_a"}
    assert retiring.undelete(bench.repo, "side", bench.now) is None, "it is there already"
    deleting.delete(bench.repo, side, MAIN, bench.now)
    assert retiring.undelete(bench.repo, "side", bench.now) == side


@pytest.mark.parametrize("point", ["undelete.after_intent", "undelete.retired", "revive.forked"])
def test_a_branch_is_deleted_or_comes_back_whole_after_a_kill(bench: Bench, point: str) -> None:
    side = deleted_side(bench)
    with pytest.raises(Died):
        retiring.undelete(dying_at(bench.repo, point), "side", bench.now)
    bench.repo.ledger.recover_orphans()
    if point == "undelete.retired":  # it is in the ledger, and has no ref
        retired = bench.repo.ledger.branch("side")
        assert retired is not None
        assert retiring.revive(bench.repo, retired, bench.now) == side
    elif point == "undelete.after_intent":
        assert bench.repo.ledger.branch("side") is None
        assert retiring.undelete(bench.repo, "side", bench.now) == side
    assert bench.branch("side") == side
    assert bench.facts("side") == {"fact_a"}


def test_of_two_deleted_branches_the_last_one_comes_back(bench: Bench) -> None:
    deleted_side(bench)
    bench.now += 1
    bench.fork("side")
    bench.add("fact_b", "b", "side")
    deleting.delete(bench.repo, bench.branch("side"), MAIN, bench.now)
    retiring.undelete(bench.repo, "side", bench.now)
    assert bench.facts("side") == {"fact_b"}


def test_a_branch_that_has_the_name_by_now_stays(bench: Bench) -> None:
    deleted_side(bench)
    newer = bench.fork("side")
    assert retiring.undelete(bench.repo, "side", bench.now) is None
    assert bench.branch("side") == newer
    assert bench.facts("side") == set()


def test_a_branch_that_never_was_does_not_come_back(bench: Bench) -> None:
    assert retiring.undelete(bench.repo, "side", bench.now) is None
    with pytest.raises(UnknownBranch, match="memory_branch_list"):
        bench.branch("side")
    deleted_side(bench)
    with pytest.raises(UnknownBranch, match="It was deleted; memory_branch_revive"):
        bench.branch("side")


def test_of_a_branch_that_an_earlier_version_deleted_the_rows_come_back(bench: Bench) -> None:
    side = deleted_side(bench)
    recorded = bench.repo.ledger.record(DeletedBranch, side.id)
    assert recorded is not None
    bench.repo.ledger.put(replace(recorded, record=None))
    assert retiring.undelete(bench.repo, "side", bench.now) == Branch(
        side.id, "side", None, None, 0
    )
    assert bench.facts("side") == {"fact_a"}


def test_the_request_that_made_a_branch_answers_again_once_the_branch_is_back(bench: Bench) -> None:
    repo = replace(bench.repo, new_id=lambda prefix, _now: f"{prefix}_r", of_request=True)
    side = forking.create(repo, "side", bench.branch(), bench.now)
    deleting.delete(bench.repo, side, MAIN, bench.now, "deletion")
    with pytest.raises(RequestReused):
        forking.create(repo, "side", bench.branch(), bench.now)
    retiring.undelete(bench.repo, "side", bench.now)
    assert forking.create(repo, "side", bench.branch(), bench.now) == side
    assert deleting.deleted_by(bench.repo, "deletion", "side") is not None
    with pytest.raises(BranchExists):
        bench.fork("side")
