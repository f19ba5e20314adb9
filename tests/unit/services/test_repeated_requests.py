"""Restores and reverts that are asked for again with the same request id."""

from dataclasses import replace

import pytest

from day1.errors import NotFound, RequestReused
from day1.model.branches.branch import MAIN
from day1.model.merge.row_merge import Choice
from day1.model.records.snapshot import Snapshot
from day1.model.rows.change import Ref
from day1.model.values.ids import ids_of_request
from day1.services.branches import deleting
from day1.services.branches.forking import create
from day1.services.branches.snapshots import snapshot
from day1.services.history import restoring, reverting
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Correction, Removal, remove, update
from tests.unit.services.conftest import ADA, Bench


def by_request(bench: Bench, request_id: str = "r1") -> Repository:
    """The repository as a call with this request id uses it."""
    return replace(bench.repo, new_id=ids_of_request(request_id), of_request=True)


@pytest.fixture
def start(bench: Bench) -> str:
    """A commit that has fact_a alone; fact_b was added later."""
    bench.add("fact_a", "tea")
    start = bench.store.commit_pending(MAIN)
    bench.add("fact_b", "b")
    bench.store.commit_pending(MAIN)
    return start


def to(bench: Bench, start: str, row_id: str | None = None) -> restoring.RestoreRequest:
    return restoring.RestoreRequest(bench.branch(), Ref(commit=start), "start", row_id)


@pytest.mark.parametrize("row_id", [None, "fact_b"])
def test_a_repeated_restore_keeps_what_was_written_since(
    bench: Bench, start: str, row_id: str | None
) -> None:
    request = to(bench, start, row_id)
    first = restoring.restore(by_request(bench), request, bench.now)
    assert (bench.facts(), first.repeated) == ({"fact_a"}, False)
    bench.add("fact_b", "b")
    bench.add("fact_c", "c")
    again = restoring.restore(by_request(bench), request, bench.now)
    assert again == replace(first, repeated=True)
    assert bench.facts() == {"fact_a", "fact_b", "fact_c"}
    assert bench.repo.ledger.records(Snapshot) == [first.snapshot_before]


def test_another_request_restores_again(bench: Bench, start: str) -> None:
    restoring.restore(by_request(bench), to(bench, start), bench.now)
    bench.add("fact_b", "b")
    restoring.restore(by_request(bench, "r2"), to(bench, start), bench.now)
    assert bench.facts() == {"fact_a"}


def test_a_restore_whose_process_died_is_done_from_where_the_branch_is(
    bench: Bench, start: str
) -> None:
    died = snapshot(by_request(bench), bench.branch(), "before restore", bench.now)
    bench.add("fact_c", "c")
    done = restoring.restore(by_request(bench), to(bench, start), bench.now)
    assert (bench.facts(), done.repeated) == ({"fact_a"}, False)
    assert done.snapshot_before.id != died.id
    assert bench.store.rows[done.snapshot_before.commit]["facts"].keys() == {
        "fact_a",
        "fact_b",
        "fact_c",
    }
    bench.add("fact_c", "c")
    assert restoring.restore(by_request(bench), to(bench, start), bench.now).repeated
    assert bench.facts() == {"fact_a", "fact_c"}


@pytest.mark.parametrize("row_id", [None, "fact_b"])
def test_a_restore_that_changed_nothing_changes_nothing_when_repeated(
    bench: Bench, row_id: str | None
) -> None:
    bench.add("fact_a", "a")
    request = to(bench, bench.store.commit_pending(MAIN))
    first = restoring.restore(by_request(bench), request, bench.now)
    assert (first.restored.rows, first.restored.commit) == (0, None)
    bench.add("fact_b", "b")
    again = restoring.restore(by_request(bench), request, bench.now)
    assert (again.repeated, again.restored.rows, again.restored.commit) == (True, 0, None)
    assert bench.facts() == {"fact_a", "fact_b"}


def test_a_request_id_restores_one_thing(bench: Bench, start: str) -> None:
    restoring.restore(by_request(bench), to(bench, start), bench.now)
    with pytest.raises(RequestReused):
        restoring.restore(by_request(bench), to(bench, start, "fact_b"), bench.now)
    snapshot(by_request(bench, "r2"), bench.branch(), "mine", bench.now)
    with pytest.raises(RequestReused):
        restoring.restore(by_request(bench, "r2"), to(bench, start), bench.now)


def test_a_request_id_restores_a_row_to_one_state(bench: Bench, start: str) -> None:
    request = to(bench, start, "fact_b")
    restoring.restore(by_request(bench), request, bench.now)
    other = replace(request, state=Ref(branch=MAIN), state_name="now")
    with pytest.raises(RequestReused):
        restoring.restore(by_request(bench), other, bench.now)


def test_an_unknown_row_leaves_no_snapshot(bench: Bench, start: str) -> None:
    with pytest.raises(NotFound):
        restoring.restore(by_request(bench), to(bench, start, "fact_z"), bench.now)
    assert bench.repo.ledger.records(Snapshot) == []


def test_a_repeated_revert_keeps_what_was_written_since(bench: Bench, start: str) -> None:
    correction = Correction("fact_a", {"category": "hot"})
    undo = update(bench.repo, bench.branch(), correction, ADA).commit
    request = reverting.RevertRequest(bench.branch(), undo)
    first = reverting.revert(by_request(bench), request, ADA)
    bench.now += 1
    update(bench.repo, bench.branch(), correction, ADA)
    again = reverting.revert(by_request(bench), request, ADA)
    assert (first.done, first.repeated, again.done, again.repeated) == (True, False, True, True)
    assert (again.tip, again.plan.rows) == (first.tip, first.plan.rows)
    assert bench.present("fact_a")["category"] == "hot"
    reverting.revert(by_request(bench, "r2"), request, ADA)
    assert bench.present("fact_a")["category"] is None


def test_a_request_id_reverts_one_commit(bench: Bench, start: str) -> None:
    first = update(bench.repo, bench.branch(), Correction("fact_a", {"category": "hot"}), ADA)
    bench.now += 1
    second = remove(bench.repo, bench.branch(), Removal(["fact_b"]), ADA)
    reverting.revert(by_request(bench), reverting.RevertRequest(bench.branch(), second.commit), ADA)
    with pytest.raises(RequestReused):
        reverting.revert(
            by_request(bench), reverting.RevertRequest(bench.branch(), first.commit), ADA
        )


def test_a_request_id_reverts_with_one_set_of_choices(bench: Bench, start: str) -> None:
    undo = update(bench.repo, bench.branch(), Correction("fact_a", {"category": "hot"}), ADA).commit
    request = reverting.RevertRequest(
        bench.branch(), undo, (Choice("fact_a", "theirs", "category"),)
    )
    first = reverting.revert(by_request(bench), request, ADA)
    assert reverting.revert(by_request(bench), request, ADA) == replace(
        first, repeated=True, pending=0
    )
    with pytest.raises(RequestReused):
        reverting.revert(by_request(bench), replace(request, choices=()), ADA)


def test_a_repeated_fork_does_not_bring_back_a_branch_that_was_deleted(bench: Bench) -> None:
    made = create(by_request(bench), "side", bench.branch(), bench.now)
    assert create(by_request(bench), "side", bench.branch(), bench.now) == made
    deleting.delete(bench.repo, made, MAIN, bench.now)
    with pytest.raises(RequestReused, match="'side', which this request_id made, was deleted"):
        create(by_request(bench), "side", bench.branch(), bench.now)
    assert bench.repo.ledger.branch("side") is None
    assert create(by_request(bench, "r2"), "side", bench.branch(), bench.now).id != made.id
