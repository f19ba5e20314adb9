"""Reviews: opened once, decided cell by cell, merged by what was decided, and closed."""

from dataclasses import replace

import pytest

from day1.errors import (
    BranchClosed,
    BranchProtected,
    Conflict,
    InvalidRequest,
    NotFound,
    PlanChanged,
    Refused,
)
from day1.model.branches.branch import MAIN, Branch
from day1.model.merge.held import Resolution
from day1.model.merge.row_merge import Choice, Take
from day1.model.records.review import Decision, Review, fingerprint
from day1.model.rows.kind import WHOLE
from day1.model.rows.origin import Origin
from day1.services.branches import deleting
from day1.services.merges import held
from day1.services.merges.merging import Merged
from day1.services.merges.protection import protect
from day1.services.merges.reviews import (
    Examined,
    Given,
    close_review,
    decide,
    examine,
    find_review,
    gone,
    grouped,
    merge_review,
    open_review,
    reviews,
)
from day1.services.rows.editing import Removal, remove
from day1.services.upkeep import retiring
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.writers import SIDE, correct, merge, write

DAN = ("dan", "token_dan")
BOTH = "fact_both"
"""A fact of which both branches changed the category."""


@pytest.fixture(autouse=True)
def sides(bench: Bench) -> None:
    """Two branches with one conflict, and something new on the source."""
    write(bench, BOTH, MAIN)
    write(bench, "fact_kept", MAIN)
    bench.fork(SIDE)
    for branch in (SIDE, MAIN):
        correct(bench, BOTH, branch, category=branch)
    write(bench, "fact_new")


def opened(
    bench: Bench, source: str = SIDE, target: str = MAIN, said: tuple[str | None, ...] = ()
) -> Review:
    bench.now += 1
    ends = bench.branch(source), bench.branch(target)
    title, description = said or (None, None)
    return open_review(bench.repo, ends, (title, description), ("opal", "token_opal"), bench.now)


def again(bench: Bench, review: Review) -> Review:
    return find_review(bench.repo, review.id)


def seen(bench: Bench, review: Review) -> Examined:
    return examine(bench.repo, again(bench, review))


def give(
    bench: Bench,
    review: Review,
    take: Take | None,
    row: str = BOTH,
    cell: str = "category",
    **more: object,
) -> Examined:
    """Dan decides a cell of a row, or takes his decision back."""
    choice = None if take is None else Choice(row, take, cell)
    given = replace(Given(row, cell, take, choice), **more)  # type: ignore[arg-type]  # by name
    return decide(bench.repo, review, [given], DAN, bench.now)


def merged(bench: Bench, review: Review, expect: str | None = None) -> Merged:
    bench.now += 1
    by = Origin("mia"), "token_mia"
    return merge_review(bench.repo, again(bench, review), ("auto", expect), by, bench.now)


# Opening and finding


def test_a_review_has_what_it_was_opened_with(bench: Bench) -> None:
    made = opened(bench, said=("title", "why"))
    assert made == again(bench, made)
    assert (made.title, made.description, made.status) == ("title", "why", "open")
    assert (made.opened_by, made.opened_token) == ("opal", "token_opal")
    assert (made.source_id, made.target_id) == (bench.branch(SIDE).id, bench.branch().id)
    assert made.created_at == bench.now


def test_the_open_review_of_two_branches_is_answered_again(bench: Bench) -> None:
    first = opened(bench)
    assert opened(bench, said=("other", None)) == first
    assert opened(bench, MAIN, SIDE) != first
    bench.fork("other")
    assert opened(bench, SIDE, "other") != first
    close_review(bench.repo, first, None, None, bench.now)
    assert opened(bench) != first


def test_one_branch_cannot_be_reviewed(bench: Bench) -> None:
    with pytest.raises(Refused):
        opened(bench, SIDE, SIDE)


@pytest.mark.parametrize("closed", [SIDE, MAIN])
def test_a_closed_branch_cannot_be_reviewed(bench: Bench, closed: str) -> None:
    bench.repo.ledger.put_branch(replace(bench.branch(closed), closed=True))
    with pytest.raises(BranchClosed):
        opened(bench)


def test_an_unknown_review_is_not_found(bench: Bench) -> None:
    with pytest.raises(NotFound):
        find_review(bench.repo, "review_none")


def test_reviews_are_listed_newest_first_by_status_and_branch(bench: Bench) -> None:
    bench.fork("other")
    closed, mine, theirs = opened(bench), opened(bench, "other", SIDE), opened(bench, "other")
    close_review(bench.repo, closed, None, None, bench.now)

    def ids(status: str | None = "open", branch: Branch | None = None) -> list[str]:
        return [one.id for one in reviews(bench.repo, status, branch)]  # type: ignore[arg-type]

    assert ids() == [theirs.id, mine.id]
    assert ids("closed") == [closed.id]
    assert ids("merged") == []
    assert ids(None) == [theirs.id, mine.id, closed.id]
    assert ids(None, bench.branch(SIDE)) == [mine.id, closed.id]
    assert ids("open", bench.branch(MAIN)) == [theirs.id]


# Examining


@pytest.mark.parametrize("side", [SIDE, "into"])
@pytest.mark.parametrize("way", ["deleted", "retired"])
def test_a_review_whose_branch_is_gone_cannot_be_planned(bench: Bench, side: str, way: str) -> None:
    bench.fork("into")
    review = opened(bench, SIDE, "into")
    assert gone(bench.repo, review) is None
    if way == "deleted":
        deleting.delete(bench.repo, bench.branch(side), MAIN, bench.now)
    else:
        retiring.retire(bench.repo, bench.branch(side), bench.now)
    why = str(gone(bench.repo, review))
    assert ("source" if side == SIDE else "target") in why
    assert way in why
    with pytest.raises(Conflict):
        examine(bench.repo, review)


def test_an_examined_review_has_the_plan_of_now(bench: Bench) -> None:
    review = opened(bench)
    assert seen(bench, review).rows.keys() == {BOTH, "fact_new"}
    write(bench, "fact_later")
    found = seen(bench, review)
    assert found.rows.keys() == {BOTH, "fact_new", "fact_later"}
    assert (found.source.name, found.target.name) == (SIDE, MAIN)
    assert (found.choices, found.stale) == ((), ())
    assert [(row.id, cell) for row, cell in found.undecided] == [(BOTH, "category")]
    assert found.merges
    assert found.closed is None


def test_a_review_knows_whether_there_is_anything_to_merge(bench: Bench) -> None:
    bench.fork("same", SIDE)
    assert not seen(bench, opened(bench, "same", SIDE)).merges
    write(bench, "fact_x", "same")
    assert seen(bench, opened(bench, "same", SIDE)).merges


def test_changes_that_the_target_has_too_are_still_something_to_merge(bench: Bench) -> None:
    bench.fork("left", SIDE)
    bench.fork("right", SIDE)
    for branch in ("left", "right"):
        correct(bench, "fact_kept", branch, category="same")
    found = seen(bench, opened(bench, "left", "right"))
    assert (found.rows, found.merges) == ({}, True)


@pytest.mark.parametrize("closed", [SIDE, MAIN])
def test_an_examined_review_names_its_closed_branch(bench: Bench, closed: str) -> None:
    review = opened(bench)
    bench.repo.ledger.put_branch(replace(bench.branch(closed), closed=True))
    branch = seen(bench, review).closed
    assert branch is not None
    assert branch.name == closed


# Held items of the target that came from this source


@pytest.mark.parametrize(
    ("then", "listed"), [("nothing", True), ("the source agrees", False), ("another source", False)]
)
def test_a_held_item_of_the_target_is_listed_while_the_sides_differ(
    bench: Bench, then: str, listed: bool
) -> None:
    merge(bench)
    bench.fork("other")
    write(bench, "fact_x", "other")
    if then == "the source agrees":
        correct(bench, BOTH, SIDE, category=MAIN)
    review = opened(bench, "other" if then == "another source" else SIDE)
    found = seen(bench, review)
    assert found.held.keys() == ({BOTH} if listed else set())
    if listed:
        assert BOTH in found.rows
        (item,) = found.held[BOTH]
        assert item.cell == "category"


def test_two_held_cells_of_a_row_are_both_listed(bench: Bench) -> None:
    for branch, confidence in ((SIDE, 0.5), (MAIN, 0.25)):
        correct(bench, BOTH, branch, confidence=confidence)
    merge(bench)
    cells = {item.cell for item in seen(bench, opened(bench)).held[BOTH]}
    assert cells == {"category", "confidence"}


@pytest.mark.parametrize("way", ["not taken yet", "taken elsewhere", "dismissed"])
def test_a_row_that_was_kept_out_is_listed_until_the_target_has_it(bench: Bench, way: str) -> None:
    merge(bench, choices=(Choice("fact_new", "skip"),))
    if way == "taken elsewhere":
        write(bench, "fact_new", MAIN, text="another text")
    if way == "dismissed":
        item = next(
            offer.item
            for offer in held.offers(bench.repo, bench.branch())
            if offer.item.row_id == "fact_new"
        )
        decision: Resolution = "dismissed"
        held.decide(bench.repo, bench.branch(), held.HeldDecision(item.id, decision), ADA)
    assert ("fact_new" in seen(bench, opened(bench)).held) == (way == "not taken yet")


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
    assert found.plan.digest == seen(bench, review).plan.digest != found.seen.plan.digest


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
    decide(bench.repo, review, [Given(BOTH, "category", "value", choice)], DAN, bench.now)
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


# Closing


def test_a_closed_review_keeps_its_decisions_and_takes_no_more(bench: Bench) -> None:
    review = opened(bench)
    give(bench, review, "theirs")
    closed = close_review(bench.repo, review, "cleo", "no need", bench.now)
    assert (closed.status, closed.closed_by, closed.reason) == ("closed", "cleo", "no need")
    assert closed.closed_at == bench.now
    assert closed == again(bench, review)
    assert len(closed.decided) == 1
    for attempt in (
        lambda: give(bench, closed, "ours"),
        lambda: give(bench, review, "ours"),
        lambda: merged(bench, review),
        lambda: close_review(bench.repo, review, None, None, bench.now),
    ):
        with pytest.raises(Conflict):
            attempt()
    assert again(bench, review) == closed


# Groups


def test_rows_are_grouped_by_what_wants_deciding(bench: Bench) -> None:
    for fact in ("fact_held", "fact_gone", "fact_changed", "fact_alike"):
        bench.add(fact, fact)
    merge(bench, MAIN, SIDE)
    for branch in (SIDE, MAIN):
        correct(bench, "fact_held", branch, category=branch)
    merge(bench)
    for branch in (SIDE, MAIN):
        correct(bench, BOTH, branch, category=f"{branch} again", detail=branch)
    remove(bench.repo, bench.branch(SIDE), Removal(["fact_gone"]), ADA)
    for fact in ("fact_changed", "fact_alike"):
        correct(bench, fact, SIDE, category="x")
    write(bench, "fact_later")
    groups = grouped(seen(bench, opened(bench)), {"fact_alike"})
    ids = {name: {row.id for row in rows} for name, rows in groups.items() if rows}
    assert ids == {
        "conflicts": {BOTH},
        "held": {"fact_held"},
        "duplicates": {"fact_alike"},
        "new": {"fact_later"},
        "changed": {"fact_changed"},
        "removed": {"fact_gone"},
    }
    assert list(groups) == ["conflicts", "held", "duplicates", "new", "changed", "removed"]


def test_a_conflict_that_is_alike_to_another_text_is_a_conflict(bench: Bench) -> None:
    groups = grouped(seen(bench, opened(bench)), {BOTH, "fact_new"})
    assert [row.id for row in groups["conflicts"]] == [BOTH]
    assert [row.id for row in groups["duplicates"]] == ["fact_new"]


def test_a_closed_source_can_be_examined_and_not_merged(bench: Bench) -> None:
    review = opened(bench)
    bench.repo.ledger.put_branch(replace(bench.branch(SIDE), closed=True))
    assert seen(bench, review).rows
    with pytest.raises(BranchClosed):
        merged(bench, review)
