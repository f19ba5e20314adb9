"""Rows: written once, corrected, replaced, removed, and copied as they are."""

from dataclasses import replace

import pytest

from day1.errors import InvalidRequest, NotFound, Refused, RequestReused, RevisionChanged
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, Row, revision
from day1.services.branches.lookup import first_commit
from day1.services.rows.curating import CurateRequest, curate
from day1.services.rows.editing import Correction, Removal, Replacement, remove, supersede, update
from day1.services.rows.recording import (
    NewFact,
    NewMemory,
    NewObservation,
    NewRelation,
    fact_row,
    near_duplicates,
    put_once,
    record,
)
from day1.services.rows.transplanting import Selection, commit_copy, put, select_rows
from tests.unit.services.conftest import ADA, Bench


@pytest.fixture(autouse=True)
def fact_a(bench: Bench) -> None:
    bench.add("fact_a", "tea is hot")


def edits(bench: Bench, branch: str = MAIN) -> list[tuple[object, object, object]]:
    with bench.store.reading(Ref(branch=branch)) as reading:
        found = reading.find(EDIT, Query())
    return [(edit["cell"], edit["value"], edit["reason"]) for edit in found]


def test_a_correction_is_one_commit_with_one_edit_for_each_cell(bench: Bench) -> None:
    correction = Correction("fact_a", {"category": "tea", "confidence": 0.5}, "was told")
    done = update(bench.repo, bench.branch(), correction, ADA)
    assert bench.store.tips[MAIN] == done.commit
    assert {cell for cell, _, reason in edits(bench) if reason == "was told"} == {
        "category",
        "confidence",
    }


def test_a_correction_that_changes_nothing_makes_no_commit(bench: Bench) -> None:
    update(bench.repo, bench.branch(), Correction("fact_a", {"category": "tea"}), ADA)
    tip = bench.store.tips[MAIN]
    update(bench.repo, bench.branch(), Correction("fact_a", {"category": "tea"}), ADA)
    assert bench.store.tips[MAIN] == tip


def test_a_new_text_is_unverified_with_a_hash_of_its_own(bench: Bench) -> None:
    before = bench.present("fact_a")
    correction = Correction("fact_a", {"verification": "verified"})
    update(bench.repo, bench.branch(), correction, ADA)
    update(bench.repo, bench.branch(), Correction("fact_a", {"fact_text": "tea is cold"}), ADA)
    after = bench.present("fact_a")
    assert after["verification"] == "unverified"
    assert after["content_hash"] != before["content_hash"]


def test_a_correction_of_another_revision_is_refused_and_names_the_present_one(
    bench: Bench,
) -> None:
    seen = revision(FACT, bench.present("fact_a"))
    update(bench.repo, bench.branch(), Correction("fact_a", {"category": "tea"}), ADA)
    late = Correction("fact_a", {"category": "coffee"}, expect_revision=seen)
    with pytest.raises(RevisionChanged) as refused:
        update(bench.repo, bench.branch(), late, ADA)
    assert refused.value.details["revision"] == revision(FACT, bench.present("fact_a"))


def test_a_correction_that_is_sent_again_is_done_once(bench: Bench) -> None:
    repo = replace(bench.repo, new_id=lambda prefix, _: f"{prefix}_{'R' * 26}")
    again = Correction("fact_a", {"category": "tea"}, first_edit=f"edit_{'R' * 26}")
    update(repo, bench.branch(), again, ADA)
    tip = bench.store.tips[MAIN]
    update(repo, bench.branch(), again, ADA)
    assert bench.store.tips[MAIN] == tip
    with pytest.raises(RequestReused):
        update(repo, bench.branch(), replace(again, columns={"category": "coffee"}), ADA)


def test_a_correction_of_a_column_of_another_kind_is_refused(bench: Bench) -> None:
    wrong = Correction("fact_a", {"summary": "x"})
    with pytest.raises(InvalidRequest, match="fact_a is a fact, which has no summary"):
        update(bench.repo, bench.branch(), wrong, ADA)


def test_a_fact_is_superseded_once_and_points_to_what_replaced_it(bench: Bench) -> None:
    first = Replacement("fact_a", "tea is lukewarm", "fact_b")
    supersede(bench.repo, bench.branch(), first, ADA)
    old, new = bench.present("fact_a"), bench.present("fact_b")
    assert (old["status"], old["superseded_by"]) == ("superseded", "fact_b")
    assert new["fact_text"] == "tea is lukewarm"
    later = Replacement("fact_a", "tea is ice", "fact_c")
    with pytest.raises(Refused, match="by fact_b"):
        supersede(bench.repo, bench.branch(), later, ADA)


def test_a_fact_is_superseded_anew_once_its_successor_is_gone(bench: Bench) -> None:
    def replaced(old: str, new: str) -> None:
        supersede(bench.repo, bench.branch(), Replacement(old, f"tea is {new}", new), ADA)

    replaced("fact_a", "fact_b")
    replaced("fact_b", "fact_c")
    with pytest.raises(Refused, match="by fact_c: supersede fact_c"):
        replaced("fact_a", "fact_d")
    remove(bench.repo, bench.branch(), Removal(["fact_c"]), ADA)
    with pytest.raises(Refused, match="by fact_b: supersede fact_b"):
        replaced("fact_a", "fact_d")
    remove(bench.repo, bench.branch(), Removal(["fact_b"]), ADA)
    replaced("fact_a", "fact_d")
    old = bench.present("fact_a")
    assert (old["status"], old["superseded_by"]) == ("superseded", "fact_d")
    assert bench.facts() == {"fact_a", "fact_d"}


def test_a_removal_of_several_rows_is_whole_or_not_at_all(bench: Bench) -> None:
    with pytest.raises(NotFound):
        remove(bench.repo, bench.branch(), Removal(["fact_a", "fact_none"]), ADA)
    assert bench.facts() == {"fact_a"}
    remove(bench.repo, bench.branch(), Removal(["fact_a"], "wrong"), ADA)
    assert bench.facts() == set()
    assert edits(bench) == [("*", "removed", "wrong")]


def test_the_same_words_within_a_minute_are_one_row(bench: Bench) -> None:
    def write(fact_id: str) -> tuple[str, bool]:
        with bench.store.adding(MAIN) as work:
            row: Row = fact_row(fact_id, NewFact("milk is cold"), ADA, work.now)
            alike = near_duplicates(work, str(row["content_hash"]))
            done = put_once(work, FACT, row, None, alike)
        return str(done.row["id"]), done.fresh

    assert write("fact_m") == ("fact_m", True)
    assert write("fact_n") == ("fact_m", False)
    bench.now += 61_000_000
    assert write("fact_o") == ("fact_o", True)


def test_a_request_that_is_sent_again_gets_its_row_and_cannot_write_another(bench: Bench) -> None:
    def write(text: str) -> bool:
        with bench.store.adding(MAIN) as work:
            row = fact_row("fact_r", NewFact(text), ADA, work.now)
            return put_once(work, FACT, row, "request").fresh

    assert write("one")
    assert not write("one")
    with pytest.raises(RequestReused):
        write("two")


def test_a_copied_row_keeps_its_id_and_its_edits_and_comes_once(bench: Bench) -> None:
    update(bench.repo, bench.branch(), Correction("fact_a", {"category": "tea"}), ADA)
    bench.store.history.fork("empty", first_commit(bench.repo))
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        rows = select_rows(reading, Selection(["fact_a"], []))
    for added in (2, 0):
        with bench.store.changing("empty") as work:
            copied = put(work, "empty", rows, back=True)
            commit_copy(work, copied, "pick", "pick")
        assert copied.total == added
    assert bench.present("fact_a", "empty") == bench.present("fact_a")
    assert edits(bench, "empty") == edits(bench)


def test_a_curated_branch_begins_at_the_first_commit_with_the_chosen_rows(bench: Bench) -> None:
    bench.add("fact_b", "b")
    done = curate(bench.repo, CurateRequest("mine", bench.branch(), ["fact_b"], []), bench.now)
    assert bench.facts("mine") == {"fact_b"}
    assert done.branch.fork_commit == first_commit(bench.repo)
    with pytest.raises(NotFound, match="fact_none"):
        curate(bench.repo, CurateRequest("other", bench.branch(), ["fact_none"], []), bench.now)
    assert bench.repo.ledger.branch("other") is None


@pytest.mark.parametrize(
    "memory",
    [
        NewFact("milk is cold"),
        NewObservation("discovery", "milk is cold"),
        NewRelation("milk", "is", "cold"),
    ],
    ids=lambda memory: type(memory).__name__,
)
def test_the_same_memory_again_within_a_minute_is_the_first_one(
    bench: Bench, memory: NewMemory
) -> None:
    first, second = (record(bench.repo, bench.branch(), memory, ADA) for _ in range(2))
    assert first.row == second.row
    assert (first.after.pending, second.after.pending) == (2, 2)
    assert (len(first.notes), len(second.notes)) == (0, 1)
    assert second.same_text == ()
    bench.now += 61_000_000
    third = record(bench.repo, bench.branch(), memory, ADA)
    assert third.row["id"] != first.row["id"]
    assert third.after.now == third.row["created_at"]


@pytest.mark.parametrize(
    ("other", "space", "named"),
    [
        (NewFact("milk is cold"), None, True),
        (NewFact("milk is cold"), "a", False),
        (NewFact("milk is cold", space="a"), "a", True),
        (NewFact("milk is cold", space="b"), "a", False),
        (NewFact("milk is cold", space="b"), None, True),
        (NewFact("milk is cold", sensitivity="secret"), None, False),
        (NewFact("milk is cold", expires_at=5_000), None, False),
        (NewFact("milk is warm"), None, False),
    ],
)
def test_a_writer_is_told_of_an_equal_fact_that_it_may_see(
    bench: Bench, other: NewFact, space: str | None, named: bool
) -> None:
    first = record(bench.repo, bench.branch(), other, ADA)
    bench.now += 61_000_000
    own = record(bench.repo, bench.branch(), NewFact("milk is cold", space=space), ADA)
    assert own.same_text == ((first.row["id"],) if named else ())
