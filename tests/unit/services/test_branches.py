"""Branches: forked, found, archived, deleted, and put right after a process died."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from day1.errors import (
    BranchClosed,
    BranchExists,
    BranchProtected,
    InvalidRequest,
    Refused,
    StoreBusy,
    UnknownBranch,
)
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.desk import Desk, next_desk
from day1.services.branches import (
    adopting,
    deleting,
    forking,
    lookup,
    notes,
    retiring,
    tree,
)
from day1.services.branches.desks import write_desk
from day1.services.repository.repository import Repository
from tests.unit.services.conftest import Bench, Died, dying_at


def test_a_fork_has_the_pending_rows_of_its_parent(bench: Bench) -> None:
    bench.add("fact_a", "a")
    side = bench.fork("side")
    assert bench.facts("side") == {"fact_a"}
    assert side.parent_id == bench.branch().id
    bench.add("fact_b", "b")
    assert bench.facts("side") == {"fact_a"}


def test_the_tip_of_a_branch_that_was_deleted_meanwhile_is_asked_for_in_vain(bench: Bench) -> None:
    side = bench.fork("side")
    assert lookup.tip_of(bench.repo, "side") == side.fork_commit
    deleting.delete(bench.repo, side, MAIN, bench.now)
    with pytest.raises(UnknownBranch, match="'side' was deleted or retired meanwhile"):
        lookup.tip_of(bench.repo, "side")


def test_a_taken_name_is_refused_whatever_its_case(bench: Bench) -> None:
    bench.fork("side")
    with pytest.raises(BranchExists, match="'side' exists already"):
        bench.fork("SIDE")


def test_the_name_of_a_branch_keeps_the_rule(bench: Bench) -> None:
    with pytest.raises(InvalidRequest):
        bench.fork("no spaces")


def test_a_name_in_another_case_is_told(bench: Bench) -> None:
    bench.fork("side")
    with pytest.raises(UnknownBranch, match="Did you mean 'side'"):
        lookup.find(bench.repo, "Side")


def test_a_closed_branch_takes_no_writes_and_a_protected_one_only_merges(bench: Bench) -> None:
    closed, protected = bench.fork("closed"), bench.fork("kept")
    bench.repo.ledger.put_branch(replace(closed, closed=True))
    bench.repo.ledger.put_branch(replace(protected, protection=("approval",)))
    with pytest.raises(BranchClosed):
        lookup.refuse_protected(bench.branch("closed"))
    with pytest.raises(BranchProtected):
        lookup.refuse_protected(bench.branch("kept"))
    assert lookup.refuse_closed(bench.branch("kept")).name == "kept"


def test_noting_one_thing_keeps_the_others(bench: Bench) -> None:
    bench.fork("side")
    notes.mark(bench.repo, bench.branch("side"), purpose="tea", tags=("a",))
    noted = notes.mark(bench.repo, bench.branch("side"), owner="ada", purpose=None)
    assert (noted.purpose, noted.owner, noted.tags) == ("tea", "ada", ("a",))


def test_a_deleted_branch_takes_its_desks_along(bench: Bench) -> None:
    side = bench.fork("side")
    on_side, on_main = (
        next_desk(None, (branch.id, "gwt", "mine"), "{}", bench.now)
        for branch in (side, bench.branch())
    )
    assert write_desk(bench.repo, None, on_side)
    assert write_desk(bench.repo, None, on_main)
    deleting.delete(bench.repo, side, MAIN, bench.now)
    assert bench.repo.ledger.records(Desk) == [on_main]
    fresh = next_desk(on_side, (side.id, "gwt", "mine"), "[]", bench.now)
    assert not write_desk(bench.repo, on_side, fresh)
    with pytest.raises(UnknownBranch):
        write_desk(bench.repo, None, on_side)
    assert bench.repo.ledger.records(Desk) == [on_main]


def test_a_desk_is_written_only_over_the_one_that_was_read(bench: Bench) -> None:
    whose = (bench.branch().id, "gwt", "mine")
    first = next_desk(None, whose, "1", bench.now)
    assert write_desk(bench.repo, None, first)
    assert not write_desk(bench.repo, None, next_desk(None, whose, "2", bench.now))
    second = next_desk(first, whose, "2", bench.now)
    assert write_desk(bench.repo, first, second)
    assert not write_desk(bench.repo, first, next_desk(first, whose, "3", bench.now))
    assert bench.repo.ledger.records(Desk) == [second]


Act = Callable[[Bench, Branch], object]
LEAVE: dict[str, Callable[[Repository, Branch], Branch]] = {
    "delete": lambda repo, branch: deleting.delete(repo, branch, MAIN, 1_000),
    "retire": lambda repo, branch: retiring.retire(repo, branch, 1_000),
}


@pytest.mark.parametrize("how", LEAVE)
def test_a_branch_that_is_protected_meanwhile_stays_with_its_rows(bench: Bench, how: str) -> None:
    """What a protected branch has was reviewed: no one may take it away between check and lock."""
    side = bench.fork("side")

    def meanwhile(name: str) -> None:
        if name == f"{how}.after_intent":
            bench.add("fact_a", "a", "side")
            notes.mark(bench.repo, side, protection=("approval",))

    with pytest.raises(BranchProtected):
        LEAVE[how](replace(bench.repo, point=meanwhile), side)
    assert bench.branch("side").retired_tip is None
    assert bench.facts("side") == {"fact_a"}


@pytest.mark.parametrize("how", LEAVE)
def test_a_branch_goes_with_the_rows_of_writers_that_were_quicker_and_no_others(
    bench: Bench, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = bench.fork("side")
    put = bench.repo.ledger.put_branch

    def put_late(branch: Branch) -> None:
        if branch.retired_tip is not None:  # by a writer that found the branch before its mark
            with pytest.raises(StoreBusy):
                bench.add("fact_late", "late", "side")
        put(branch)

    def quicker(name: str) -> None:
        if name == f"{how}.after_intent":
            bench.add("fact_a", "a", "side")

    monkeypatch.setattr(bench.repo.ledger, "put_branch", put_late)
    gone = LEAVE[how](replace(bench.repo, point=quicker), side)
    assert bench.store.rows[str(gone.retired_tip)]["facts"].keys() == {"fact_a"}
    assert "side" not in bench.repo.history.branches()


def test_a_branch_that_a_living_process_takes_away_is_asked_for_again(bench: Bench) -> None:
    side = bench.fork("side")
    bench.repo.ledger.put_branch(replace(side, retired_tip=side.fork_commit))
    with pytest.raises(StoreBusy, match="being deleted or retired: try again"):
        bench.branch("side")


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda b, old: deleting.delete(b.repo, old, MAIN, b.now), id="delete"),
        pytest.param(lambda b, old: retiring.retire(b.repo, old, b.now), id="retire"),
        pytest.param(lambda b, old: retiring.revive(b.repo, old, b.now), id="revive"),
        pytest.param(lambda b, old: deleting.archive(b.repo, old), id="archive"),
        pytest.param(lambda b, old: lookup.find_open_again(b.repo, old), id="write"),
    ],
)
def test_a_branch_made_anew_is_not_taken_for_the_one_of_its_name(bench: Bench, act: Act) -> None:
    old = bench.fork("side")
    deleting.delete(bench.repo, old, MAIN, bench.now)
    new = bench.fork("side")
    with pytest.raises(UnknownBranch, match="another branch has its name"):
        act(bench, old)
    assert bench.branch("side") == new
    assert bench.repo.ledger.open_intents() == []


@pytest.mark.parametrize("name", [MAIN, "here"])
def test_main_and_the_current_branch_cannot_be_deleted(bench: Bench, name: str) -> None:
    bench.fork("here")
    with pytest.raises(Refused):
        deleting.delete(bench.repo, bench.branch(name), "here", bench.now)
    assert name in bench.repo.history.branches()


@pytest.mark.parametrize(
    ("branch", "current", "refusal", "advice"),
    [
        ("side", MAIN, Refused, r"memory_branch_delete\(.*force=true\)"),
        ("side", "side", Refused, "branch you are on"),
        (MAIN, "side", Refused, "main cannot .*memory_remove"),
        ("guarded", MAIN, BranchProtected, r"memory_branch_protect\(.*requires="),
    ],
)
def test_a_branch_is_deleted_only_if_nothing_is_lost(
    bench: Bench, branch: str, current: str, refusal: type[Refused], advice: str
) -> None:
    bench.fork("side")
    bench.add("fact_a", "a", "side")
    bench.fork("guarded")
    notes.mark(bench.repo, bench.branch("guarded"), protection=("review",))
    with pytest.raises(refusal, match=advice):
        deleting.delete_taken(bench.repo, bench.branch(branch), current, bench.now)
    assert branch in bench.repo.history.branches()


def test_a_branch_without_memories_of_its_own_is_deleted(bench: Bench) -> None:
    bench.fork("side")
    deleting.delete_taken(bench.repo, bench.branch("side"), MAIN, bench.now)
    assert "side" not in bench.repo.history.branches()


def test_forks_under_one_name_get_numbers(bench: Bench) -> None:
    main = bench.branch()

    def make(name: str) -> forking.NewBranch:
        return forking.new_below(bench.repo, main, name, bench.now), ()

    names = [forking.fork_under(bench.repo, lambda: "task/x", make).name for _ in range(3)]
    assert names[0] == "task/x"
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    ("point", "made", "orphans"),
    [
        ("fork.after_intent", False, 1),
        ("fork.after_engine", True, 1),
        ("fork.after_ledger", True, 0),
    ],
)
def test_a_fork_whose_process_died_is_there_if_its_ref_is(
    bench: Bench, point: str, made: bool, orphans: int
) -> None:
    with pytest.raises(Died):
        forking.create(dying_at(bench.repo, point), "side", bench.branch(), bench.now)
    assert bench.repo.ledger.recover_orphans() == orphans
    assert (bench.repo.ledger.branch("side") is not None) == made
    assert ("side" in bench.repo.history.branches()) == made


@pytest.mark.parametrize(
    ("point", "rows"), [("fork.after_engine", False), ("fill.after_rows", True)]
)
def test_a_branch_that_begins_with_rows_is_there_only_with_them(
    bench: Bench, point: str, rows: bool
) -> None:
    repo = dying_at(bench.repo, point)
    branch = forking.new_below(repo, bench.branch(), "side", bench.now)

    def fill() -> None:
        bench.add("fact_a", "a", "side")
        bench.store.commit_pending("side")

    with pytest.raises(Died):
        forking.fork(repo, branch, fill=fill)
    bench.repo.ledger.recover_orphans()
    assert ("side" in bench.repo.history.branches()) == rows
    assert (bench.repo.ledger.branch("side") is not None) == rows


@pytest.mark.parametrize(
    ("point", "gone"), [("delete.after_keep", False), ("delete.after_engine", True)]
)
def test_a_deletion_whose_process_died_is_finished_or_withdrawn(
    bench: Bench, point: str, gone: bool
) -> None:
    bench.fork("side")
    with pytest.raises(Died):
        deleting.delete(dying_at(bench.repo, point), bench.branch("side"), MAIN, bench.now)
    bench.repo.ledger.recover_orphans()
    if gone:
        assert bench.repo.ledger.branch("side") is None
    else:
        assert bench.branch("side").retired_tip is None


def test_a_failed_fill_withdraws_the_branch(bench: Bench) -> None:
    branch = forking.new_below(bench.repo, bench.branch(), "side", bench.now)

    def fill() -> None:
        raise Refused("No rows.")

    with pytest.raises(Refused):
        forking.fork(bench.repo, branch, fill=fill)
    assert "side" not in bench.repo.history.branches()
    assert bench.repo.ledger.open_intents() == []


def test_a_ref_that_the_ledger_does_not_know_is_adopted_below_main(bench: Bench) -> None:
    bench.store.tips["lost"] = bench.store.tips[MAIN]
    assert adopting.adopt(bench.repo, bench.now) == ["lost"]
    assert bench.branch("lost").parent_id == bench.branch().id


def test_the_topology_leaves_out_archived_branches(bench: Bench) -> None:
    bench.fork("a")
    bench.fork("b", "a")
    deleting.archive(bench.repo, bench.branch("b"))
    assert tree.topology(bench.repo, bench.branch("a")).children == ()
    (b,) = tree.topology(bench.repo, bench.branch("a"), include_archived=True).children
    assert b.state.branch.name == "b"
    with pytest.raises(Refused):
        deleting.archive(bench.repo, bench.branch())
