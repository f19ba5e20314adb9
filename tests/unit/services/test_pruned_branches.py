"""Forgetting branches that were deleted long ago, and what must not be lost by it."""

from dataclasses import replace

import pytest

from day1.model.branches.branch import MAIN, DeletedBranch
from day1.model.records.sharing import Handoff
from day1.services.branches import deleting, retiring, snapshots
from day1.services.branches.pruning import prune
from tests.unit.services.conftest import Bench, Died


def deleted(bench: Bench, name: str, parent: str = MAIN) -> DeletedBranch:
    """A branch with a fact of its own, deleted."""
    side = bench.fork(name, parent)
    bench.add(f"fact_{name}", name, name)
    deleting.delete(bench.repo, side, MAIN, bench.now)
    record = bench.repo.ledger.record(DeletedBranch, side.id)
    assert record is not None
    return record


def tagged(bench: Bench) -> set[str]:
    return set(bench.repo.history.tags().values())


def test_a_branch_is_forgotten_once_it_is_deleted_for_long_enough(bench: Bench) -> None:
    old, new = deleted(bench, "old"), deleted(bench, "new")
    assert old.created_at < new.created_at
    assert prune(bench.repo, old.created_at) == []
    assert prune(bench.repo, new.created_at) == [old]
    assert tagged(bench) == {new.tip}
    assert retiring.undelete(bench.repo, "old", bench.now) is None
    assert retiring.undelete(bench.repo, "new", bench.now) is not None
    assert prune(bench.repo, new.created_at) == []


def test_tags_of_an_earlier_version_and_of_earlier_retirements_go_too(bench: Bench) -> None:
    side = bench.fork("side")
    bench.add("fact_a", "a", "side")
    side = retiring.revive(bench.repo, retiring.retire(bench.repo, side, bench.now), bench.now)
    bench.repo.history.tag(f"keep/{side.id}", bench.store.tips["side"])
    bench.repo.history.tag(f"keep/{side.id}0", bench.store.tips["side"])  # of another branch
    bench.add("fact_b", "b", "side")
    deleting.delete(bench.repo, side, MAIN, bench.now)
    assert len(bench.repo.history.tags()) == 4
    assert len(prune(bench.repo, bench.now + 1)) == 1
    assert bench.repo.history.tags().keys() == {f"keep/{side.id}0"}


def test_a_branch_that_was_brought_back_stays(bench: Bench) -> None:
    side = deleted(bench, "side")
    retiring.undelete(bench.repo, "side", bench.now)
    assert prune(bench.repo, bench.now + 1) == []
    assert bench.store.tips["side"] == side.tip


@pytest.mark.parametrize("again", ["brought back", "deleted again"])
def test_a_branch_that_changes_meanwhile_stays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, again: str
) -> None:
    side = deleted(bench, "side")
    exclusive = bench.repo.ledger.exclusive

    def change_first(*names: str) -> object:
        monkeypatch.undo()
        revived = retiring.undelete(bench.repo, "side", bench.now)
        assert revived is not None
        if again == "deleted again":
            bench.now += 10
            deleting.delete(bench.repo, revived, MAIN, bench.now)
        return exclusive(*names)

    monkeypatch.setattr(bench.repo.ledger, "exclusive", change_first)
    assert prune(bench.repo, side.created_at + 1) == []
    assert side.tip in tagged(bench)


def test_a_branch_stays_while_a_snapshot_is_read_from_its_commits(bench: Bench) -> None:
    side = bench.fork("side")
    bench.add("fact_a", "a", "side")
    taken = snapshots.take(bench.repo, "snap_a", side, "before", bench.now)
    deleting.delete(bench.repo, side, MAIN, bench.now)
    assert prune(bench.repo, bench.now + 1) == []
    assert taken.commit in tagged(bench)


def test_a_branch_stays_while_a_handoff_is_read_from_its_commits(bench: Bench) -> None:
    side = deleted(bench, "side")
    given = ("fact_side",), (), "what is known", 0, None, bench.now
    bench.repo.ledger.put(Handoff("handoff_a", "task", side.id, "branch_b", side.tip, *given))
    assert prune(bench.repo, bench.now + 1) == []
    assert side.tip in tagged(bench)


def test_a_retired_branch_keeps_the_commits_that_only_a_deleted_one_had(bench: Bench) -> None:
    parent = bench.fork("parent")
    bench.add("fact_a", "a", "parent")
    bench.store.commit_pending("parent")
    child = bench.fork("child", "parent")
    retired = retiring.retire(bench.repo, child, bench.now)
    deleting.delete(bench.repo, parent, MAIN, bench.now)
    [(name, _)] = bench.repo.history.tags().items()
    assert name.startswith(f"keep/{parent.id}.")
    assert len(prune(bench.repo, bench.now + 1)) == 1
    assert tagged(bench) == {retired.retired_tip}
    revived = retiring.revive(bench.repo, retired, bench.now)
    assert revived == replace(child, retired_tip=None)
    assert bench.present("fact_a", "child")["fact_text"] == "a"


def test_a_call_that_breaks_off_is_finished_by_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = deleted(bench, "side")

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(bench.repo.ledger, "remove", die)
    with pytest.raises(Died):
        prune(bench.repo, bench.now + 1)
    monkeypatch.undo()
    assert prune(bench.repo, bench.now + 1) == [side]
    assert tagged(bench) == set()
