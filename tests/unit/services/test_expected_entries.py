"""Entries that are put or removed only where they have the revision that their writer read."""

from dataclasses import replace
from typing import Any

import pytest

from day1.errors import RevisionChanged
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.model.rows.kind import EDIT
from day1.model.values.ids import ids_of_request
from day1.services.batches.applying import EntryChange, Numbered, apply
from day1.services.contexts import entries, entry_writes
from day1.services.contexts.entries import ABSENT, EntryKey, NewEntry
from day1.services.contexts.keyed_rows import UpsertedRows
from tests.unit.services.conftest import ADA, Bench

ANN = EntryKey("app:users", "ann")
BOB = EntryKey("app:users", "bob")


def put(
    bench: Bench, *new: NewEntry, request_id: str | None = None, op: str = "put"
) -> UpsertedRows | None:
    """Put entries by either operation, as one request."""
    bench.now += 1
    repo, first_edit = bench.repo, None
    if request_id is not None:
        repo = replace(repo, new_id=ids_of_request(request_id), of_request=True)
        first_edit = ids_of_request(request_id)(EDIT.prefix, 0)
    if op == "put":
        return entry_writes.put(repo, bench.branch(), new, ADA, first_edit)
    changes = [
        Numbered(EntryChange(one.at, one, None, one.expect_revision, first_edit), repo)
        for one in new
    ]
    apply(repo, bench.branch(), changes, ADA)
    return None


def value(bench: Bench, at: EntryKey) -> Any:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (entry,) = entries.get(reading, [at], bench.now)
    return None if entry is None else entry.value


def revision(bench: Bench, at: EntryKey) -> str:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (entry,) = entries.get(reading, [at], bench.now)
    assert entry is not None
    return entry.revision


@pytest.mark.parametrize("op", ["put", "apply"])
def test_an_entry_is_put_only_where_it_is_as_it_was_read(bench: Bench, op: str) -> None:
    put(bench, NewEntry(ANN, {"n": 1}, expect_revision=ABSENT), op=op)
    first = revision(bench, ANN)
    commits = len(bench.store.commits)
    for wrong in (ABSENT, "0" * 32):
        with pytest.raises(RevisionChanged) as refused:
            put(bench, NewEntry(ANN, {"n": 2}, expect_revision=wrong), op=op)
        details = {"key": "ann", "space": "app:users", "revision": first}
        assert refused.value.details == details
    assert len(bench.store.commits) <= commits + 1  # the pending row's, by `apply`
    put(bench, NewEntry(ANN, {"n": 2}, expect_revision=first), op=op)
    assert value(bench, ANN) == {"n": 2}
    assert revision(bench, ANN) != first
    with pytest.raises(RevisionChanged):
        put(bench, NewEntry(ANN, {"n": 3}, expect_revision=first), op=op)
    with pytest.raises(RevisionChanged) as refused:
        put(bench, NewEntry(BOB, {"n": 3}, expect_revision=first), op=op)
    assert refused.value.details["revision"] == ABSENT


@pytest.mark.parametrize("op", ["put", "apply"])
def test_one_entry_that_changed_keeps_back_all(bench: Bench, op: str) -> None:
    put(bench, NewEntry(ANN, {"n": 1}))
    new = NewEntry(BOB, {"n": 1}, expect_revision=ABSENT)
    with pytest.raises(RevisionChanged):
        put(bench, new, NewEntry(ANN, {"n": 2}, expect_revision="0" * 32), op=op)
    assert (value(bench, ANN), value(bench, BOB)) == ({"n": 1}, None)


def test_an_expired_entry_is_not_there(bench: Bench) -> None:
    put(bench, NewEntry(ANN, {"n": 1}, expires_at=bench.now + 10))
    stale = revision(bench, ANN)
    bench.now += 20
    with pytest.raises(RevisionChanged):
        put(bench, NewEntry(ANN, {"n": 2}, expect_revision=stale))
    put(bench, NewEntry(ANN, {"n": 2}, expect_revision=ABSENT))
    assert value(bench, ANN) == {"n": 2}


def test_an_equal_value_is_a_conflict_too(bench: Bench) -> None:
    """Else two writers could both be told that they took a lock."""
    put(bench, NewEntry(ANN, {"taken": True}, expect_revision=ABSENT))
    with pytest.raises(RevisionChanged):
        put(bench, NewEntry(ANN, {"taken": True}, expect_revision=ABSENT))
    with pytest.raises(RevisionChanged):
        put(bench, NewEntry(ANN, {"taken": True}, expect_revision=ABSENT), request_id="r")


@pytest.mark.parametrize("op", ["put", "apply"])
def test_a_repeated_request_is_done_once(bench: Bench, op: str) -> None:
    new = NewEntry(ANN, {"n": 1}, expect_revision=ABSENT)
    put(bench, new, request_id="r1", op=op)
    put(bench, new, request_id="r1", op=op)
    assert value(bench, ANN) == {"n": 1}
    with pytest.raises(RevisionChanged):
        put(bench, new, request_id="r2", op=op)
    first = revision(bench, ANN)
    changed = NewEntry(ANN, {"n": 2}, expect_revision=first)
    for _ in range(2):
        put(bench, changed, request_id="r3", op=op)
    put(bench, new, request_id="r1", op=op)  # it comes late, and changes nothing
    assert value(bench, ANN) == {"n": 2}
    entry_writes.remove(bench.repo, bench.branch(), {ANN: None}, ADA)
    put(bench, new, request_id="r1", op=op)
    assert value(bench, ANN) is None


def test_entries_that_are_new_wait_for_a_commit_with_other_additions(bench: Bench) -> None:
    commits = len(bench.store.commits)
    absent, any_state = NewEntry(ANN, {"n": 1}, expect_revision=ABSENT), NewEntry(BOB, {"n": 1})
    result = put(bench, absent, any_state, request_id="r1")
    assert result is not None
    assert (result.added, result.pending, len(bench.store.commits)) == (2, 3, commits)
    with pytest.raises(RevisionChanged):
        put(bench, absent, replace(any_state, value={"n": 2}), request_id="r2")
    put(bench, absent, any_state, request_id="r1")
    assert (value(bench, ANN), value(bench, BOB)) == ({"n": 1}, {"n": 1})


def test_an_entry_is_removed_only_where_it_is_as_it_was_read(bench: Bench) -> None:
    put(bench, NewEntry(ANN, {"n": 1}), NewEntry(BOB, {"n": 1}))
    stale = revision(bench, ANN)
    put(bench, NewEntry(ANN, {"n": 2}))
    commits = len(bench.store.commits)
    with pytest.raises(RevisionChanged):
        entry_writes.remove(bench.repo, bench.branch(), {BOB: None, ANN: stale}, ADA)
    both = [EntryChange(BOB), EntryChange(ANN, expect_revision=stale)]
    with pytest.raises(RevisionChanged):
        apply(bench.repo, bench.branch(), [Numbered(each, bench.repo) for each in both], ADA)
    assert len(bench.store.commits) == commits
    assert (value(bench, ANN), value(bench, BOB)) == ({"n": 2}, {"n": 1})
    entry_writes.remove(bench.repo, bench.branch(), {ANN: revision(bench, ANN)}, ADA)
    apply(
        bench.repo,
        bench.branch(),
        [Numbered(EntryChange(BOB, expect_revision=revision(bench, BOB)), bench.repo)],
        ADA,
    )
    assert (value(bench, ANN), value(bench, BOB)) == (None, None)
