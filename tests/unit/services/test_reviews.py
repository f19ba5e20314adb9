"""Reviews: opened once, planned as the branches are now, listed, grouped and closed."""

import re
from dataclasses import replace

import pytest

from day1.errors import (
    BranchClosed,
    Conflict,
    NotFound,
    Refused,
)
from day1.model.branches.branch import MAIN, Branch
from day1.model.merge.held import Resolution
from day1.model.merge.row_merge import Choice
from day1.services.branches import deleting, retiring
from day1.services.merges import held
from day1.services.merges.reviews import (
    close_review,
    examine,
    find_review,
    gone,
    grouped,
    reviews,
)
from day1.services.rows.editing import Removal, remove
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.reviewed import BOTH, again, give, merged, opened, seen, set_up
from tests.unit.services.writers import SIDE, correct, merge, write


@pytest.fixture(autouse=True)
def sides(bench: Bench) -> None:
    """Two branches with one conflict, and something new on the source."""
    set_up(bench)


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
        return [one.id for one in reviews(bench.repo, status, branch)]  # type: ignore[arg-type]  # a status of any name

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
    assert {"source" if side == SIDE else "target", way} <= {*re.findall(r"\w+", why)}
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


def test_a_held_row_that_changed_further_is_listed_as_it_is_planned(bench: Bench) -> None:
    merge(bench)
    correct(bench, BOTH, SIDE, confidence=0.5)
    found = seen(bench, opened(bench))
    (planned,) = found.seen.plan.rows
    assert found.rows[BOTH] is planned


def test_a_held_item_of_a_row_that_both_removed_is_not_listed(bench: Bench) -> None:
    merge(bench)
    for branch in (SIDE, MAIN):
        remove(bench.repo, bench.branch(branch), Removal([BOTH]), ADA)
    found = seen(bench, opened(bench))
    assert found.seen.held
    assert BOTH not in found.held


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


# Closing


def test_a_closed_review_keeps_its_decisions_and_takes_no_more(bench: Bench) -> None:
    review = opened(bench)
    give(bench, review, "theirs")
    closed = close_review(bench.repo, review, "cleo", "no need", bench.now)
    assert (closed.status, closed.closed_by, closed.reason) == ("closed", "cleo", "no need")
    assert closed.closed_at == bench.now
    assert closed == again(bench, review)
    assert len(closed.decided) == 1
    bench.now += 1
    assert close_review(bench.repo, review, "cleo", "no need", bench.now) == closed
    for attempt in (
        lambda: give(bench, closed, "ours"),
        lambda: give(bench, review, "ours"),
        lambda: merged(bench, review),
        lambda: close_review(bench.repo, review, None, None, bench.now),
        lambda: close_review(bench.repo, review, None, "no need", bench.now),
        lambda: close_review(bench.repo, review, "cleo", None, bench.now),
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
