"""Decisions of a review: cell by cell, stale once what they are about changed, and merged."""

import pytest

from day1.errors import (
    BranchProtected,
    Conflict,
    InvalidRequest,
    NotFound,
    PlanChanged,
)
from day1.model.branches.branch import MAIN
from day1.model.merge.row_merge import Choice, Take
from day1.model.records.review import Decision, fingerprint
from day1.model.rows.kind import WHOLE
from day1.model.rows.origin import Origin
from day1.services.merges.planning import look
from day1.services.merges.protection import protect
from day1.services.merges.reviews import (
    NewDecision,
    decide,
    merge_review,
)
from day1.services.rows.editing import Removal, remove
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.reviewed import BOTH, DAN, again, give, merged, opened, seen, set_up
from tests.unit.services.writers import SIDE, correct, request


@pytest.fixture(autouse=True)
def sides(bench: Bench) -> None:
    """Two branches with one conflict, and something new on the source."""
    set_up(bench)


# Deciding


def test_a_decision_is_kept_with_who_made_it_and_applies(bench: Bench) -> None:
    review = opened(bench)
    row = seen(bench, review).rows[BOTH]
    found = give(bench, review, "theirs")
    (decision,) = again(bench, review).decided
    assert decision == Decision(
        BOTH,
        "category",
        "theirs",
        None,
        "dan",
        bench.now,
        fingerprint(row, "category"),
        "token_dan",
    )
    assert [choice.take for choice in found.choices] == ["theirs"]
    assert (found.undecided, found.stale) == ([], ())
    assert found.plan.rows[0].result is not None
    assert found.plan.rows[0].result["category"] == SIDE
    planned = look(bench.repo, request(bench, choices=found.choices)).plan
    assert found.plan.digest == planned.digest != found.seen.plan.digest


@pytest.mark.parametrize(
    ("take", "undecided", "category"),
    [(None, 1, MAIN), ("skip", 0, MAIN), ("ours", 0, MAIN), ("theirs", 0, SIDE)],
)
def test_a_conflict_is_undecided_until_somebody_decided_it(
    bench: Bench, take: Take | None, undecided: int, category: str
) -> None:
    review = opened(bench)
    found = seen(bench, review) if take is None else give(bench, review, take)
    row = next(row for row in found.plan.rows if row.id == BOTH)
    assert len(found.undecided) == undecided
    assert row.result is not None
    assert row.result["category"] == category


def test_a_value_is_stored_and_merged(bench: Bench) -> None:
    review = opened(bench)
    choice = Choice(BOTH, "value", "category", {"category": "mine"})
    decide(bench.repo, review, [NewDecision(BOTH, "category", "value", choice)], DAN, bench.now)
    (decision,) = again(bench, review).decided
    assert decision.value == {"category": "mine"}
    merged(bench, review)
    assert bench.present(BOTH)["category"] == "mine"


def test_a_decision_replaces_the_earlier_one_and_clearing_takes_it_back(bench: Bench) -> None:
    review = opened(bench)
    give(bench, review, "theirs")
    give(bench, again(bench, review), "ours")
    assert [one.take for one in again(bench, review).decided] == ["ours"]
    give(bench, again(bench, review), None, "fact_new", WHOLE)
    assert len(again(bench, review).decided) == 1
    found = give(bench, again(bench, review), None)
    assert again(bench, review).decided == []
    assert len(found.undecided) == 1


def test_what_others_decided_meanwhile_is_kept(bench: Bench) -> None:
    review = opened(bench)
    give(bench, review, "theirs")
    give(bench, review, "skip", "fact_new", WHOLE)
    takes = {one.row_id: one.take for one in again(bench, review).decided}
    assert takes == {BOTH: "theirs", "fact_new": "skip"}


@pytest.mark.parametrize(
    ("row", "cell", "take", "error"),
    [
        ("fact_none", WHOLE, "theirs", NotFound),
        ("fact_kept", WHOLE, "theirs", NotFound),
        ("fact_new", "category", "theirs", InvalidRequest),
        (BOTH, "category", "delete", InvalidRequest),
        ("fact_new", WHOLE, "theirs", None),
        ("fact_new", WHOLE, "delete", None),
        (BOTH, WHOLE, "delete", None),
        (BOTH, "category", "theirs", None),
    ],
)
def test_only_rows_of_the_plan_are_decided_and_whole_where_one_side_lacks_them(
    bench: Bench, row: str, cell: str, take: Take, error: type[Exception] | None
) -> None:
    review = opened(bench)
    if error is None:
        give(bench, review, take, row, cell)
    else:
        with pytest.raises(error):
            give(bench, review, take, row, cell)
    assert len(again(bench, review).decided) == (error is None)


def test_a_row_that_the_source_removed_is_decided_whole(bench: Bench) -> None:
    remove(bench.repo, bench.branch(SIDE), Removal(["fact_kept"]), ADA)
    review = opened(bench)
    with pytest.raises(InvalidRequest):
        give(bench, review, "ours", "fact_kept")
    assert give(bench, review, "ours", "fact_kept", WHOLE).choices


def test_a_row_that_changed_since_it_was_seen_is_not_decided(bench: Bench) -> None:
    review = opened(bench)
    mark = fingerprint(seen(bench, review).rows[BOTH], WHOLE)
    give(bench, review, "theirs", seen=mark)
    correct(bench, BOTH, SIDE, confidence=0.5)
    with pytest.raises(PlanChanged):
        give(bench, again(bench, review), "ours", seen=mark)
    assert [one.take for one in again(bench, review).decided] == ["theirs"]


def test_a_decision_about_what_changed_since_is_stale_and_not_applied(bench: Bench) -> None:
    review = opened(bench)
    give(bench, review, "theirs")
    correct(bench, BOTH, SIDE, confidence=0.5)
    assert seen(bench, review).stale == ()
    correct(bench, BOTH, SIDE, category="another")
    found = seen(bench, review)
    assert ([one.row_id for one in found.stale], found.choices) == ([BOTH], ())
    assert len(found.undecided) == 1
    with pytest.raises(PlanChanged) as refused:
        merged(bench, review)
    assert refused.value.details["stale"] == [{"id": BOTH, "cell": "category"}]


# Merging


def test_a_review_merges_what_was_decided_and_is_merged(bench: Bench) -> None:
    review = opened(bench)
    give(bench, review, "theirs")
    done = merged(bench, review)
    assert bench.present(BOTH)["category"] == SIDE
    assert "fact_new" in bench.facts()
    after = again(bench, review)
    assert (after.status, after.merge_id, after.closed_by) == ("merged", done.record.id, "mia")
    assert after.closed_at == done.record.created_at == bench.now
    assert (done.record.review_id, done.record.decided_by) == (review.id, "mia")
    assert done.record.strategy == "auto"


def test_a_review_squashes(bench: Bench) -> None:
    review = opened(bench)
    give(bench, review, "theirs")
    by = Origin("mia"), "token_mia"
    merge_review(bench.repo, again(bench, review), ("squash", None), by, bench.now)
    assert bench.branch(SIDE).closed
    assert again(bench, review).status == "merged"


@pytest.mark.parametrize(("expect", "merges"), [("the digest", True), ("another", False)])
def test_a_review_merges_the_plan_that_was_seen(bench: Bench, expect: str, merges: bool) -> None:
    review = opened(bench)
    found = give(bench, review, "theirs")
    if merges:
        merged(bench, review, found.plan.digest)
    else:
        with pytest.raises(PlanChanged):
            merged(bench, review, expect)
    assert again(bench, review).status == ("merged" if merges else "open")


def test_nothing_to_merge_is_no_merge(bench: Bench) -> None:
    bench.fork("same")
    review = opened(bench, "same")
    with pytest.raises(Conflict):
        merged(bench, review)
    assert again(bench, review).status == "open"


def test_a_decision_during_the_merge_stops_it(bench: Bench) -> None:
    review = opened(bench)
    old = again(bench, review)
    give(bench, review, "skip", "fact_new", WHOLE)
    give(bench, again(bench, review), None, "fact_new", WHOLE)
    give(bench, again(bench, review), "theirs")
    with pytest.raises(PlanChanged):
        merge_review(bench.repo, old, ("auto", None), (ADA, None), bench.now)
    assert again(bench, review).status == "open"


@pytest.mark.parametrize(("decided", "merges"), [(True, True), (False, False)])
def test_a_protected_target_is_asked_with_the_review_and_its_choices(
    bench: Bench, decided: bool, merges: bool
) -> None:
    protect(bench.repo, bench.branch(), ["review", "other"])
    review = opened(bench)
    if decided:
        give(bench, review, "theirs")
    if merges:
        merged(bench, review)
    else:
        with pytest.raises(BranchProtected):
            merged(bench, review)
    assert again(bench, review).status == ("merged" if merges else "open")


@pytest.mark.parametrize("token", ["token_ann", "token_opal", None])
def test_a_protected_target_is_asked_with_the_token_that_merges(
    bench: Bench, token: str | None
) -> None:
    protect(bench.repo, bench.branch(), ["other"])
    review = opened(bench)
    with pytest.raises(BranchProtected):
        merge_review(bench.repo, review, ("auto", None), (ADA, token), bench.now)
