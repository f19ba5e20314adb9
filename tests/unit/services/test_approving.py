"""Approvals: who may approve a review, of which plan, and which approvals count."""

import pytest

from day1.errors import Conflict, PlanChanged, Refused
from day1.model.branches.branch import MAIN
from day1.model.merge.row_merge import Choice, Take
from day1.model.records.review import Review
from day1.model.rows.origin import Origin
from day1.model.values.tiers import TIERS
from day1.services.merges.approving import Approver, approve, authors_of, counted, withdraw
from day1.services.merges.protection import protect
from day1.services.merges.reviews import (
    NewDecision,
    close_review,
    decide,
    examine,
    find_review,
    open_review,
)
from tests.unit.services.conftest import Bench
from tests.unit.services.writers import SIDE, token_of, write

NONE, ONE, _ = TIERS


@pytest.fixture
def review(bench: Bench) -> Review:
    """A review of what Ann wrote on the side branch."""
    bench.fork(SIDE)
    write(bench, "fact_a", agent="ann")
    sides = bench.branch(SIDE), bench.branch()
    return open_review(bench.repo, sides, (None, None), ("opal", "token_opal"), bench.now)


def digest(bench: Bench, review: Review) -> str:
    return examine(bench.repo, find_review(bench.repo, review.id)).plan.digest


def agree(
    bench: Bench, review: Review, agent: str | None, token: str | None, *, person: bool = False
) -> Review:
    by = Approver(agent, token, person)
    return approve(bench.repo, review, by, digest(bench, review), bench.now)


def count(bench: Bench, review: Review) -> int:
    return len(counted(bench.repo, examine(bench.repo, find_review(bench.repo, review.id))))


@pytest.mark.parametrize(
    ("agent", "token", "person", "may"),
    [
        ("dan", "token_dan", False, True),
        (None, "token_dan", False, True),
        ("dan", "token_dan", True, True),
        ("dan", None, True, True),
        (None, None, True, True),
        ("dan", None, False, False),
        (None, None, False, False),
        ("ann", "token_ann", False, False),
        ("dan", "token_ann", False, False),
        ("ann", "token_dan", False, False),
        ("ann", None, True, False),
        ("opal", "token_opal", False, True),
    ],
)
def test_whoever_is_known_and_wrote_none_of_it_may_approve(
    bench: Bench, review: Review, agent: str | None, token: str | None, person: bool, may: bool
) -> None:
    if not may:
        with pytest.raises(Refused):
            agree(bench, review, agent, token, person=person)
        assert find_review(bench.repo, review.id).approved == []
        return
    after = agree(bench, review, agent, token, person=person)
    (approval,) = after.approved
    assert (approval.by, approval.token_id, approval.at) == (agent, token, bench.now)
    assert approval.digest == digest(bench, review)
    assert find_review(bench.repo, review.id) == after


@pytest.mark.parametrize(("requires", "may"), [(("tiers",), False), ((), True)])
def test_people_do_not_approve_what_people_wrote_where_a_look_is_needed(
    bench: Bench, review: Review, requires: tuple[str, ...], may: bool
) -> None:
    bench.add("fact_user", "by a person", SIDE, Origin(source="user"))
    protect(bench.repo, bench.branch(), requires)
    if may:
        assert agree(bench, review, None, None, person=True).approved
    else:
        with pytest.raises(Refused):
            agree(bench, review, None, None, person=True)
    assert agree(bench, review, "dan", "token_dan").approved


@pytest.mark.parametrize(("take", "may"), [("delete", False), ("ours", True), ("theirs", True)])
def test_whoever_gave_a_value_in_the_review_does_not_approve_it(
    bench: Bench, review: Review, take: Take, may: bool
) -> None:
    given = NewDecision("fact_a", "*", take, Choice("fact_a", take))
    decide(bench.repo, review, [given], ("dan", "token_dan"), bench.now)
    review = find_review(bench.repo, review.id)
    assert ("dan" in authors_of(bench.repo, examine(bench.repo, review)).agents) != may
    if may:
        assert agree(bench, review, "dan", "token_dan").approved
    else:
        with pytest.raises(Refused):
            agree(bench, review, "dan", "token_dan")


def test_an_approval_is_of_the_plan_that_was_seen(bench: Bench, review: Review) -> None:
    seen = digest(bench, review)
    write(bench, "fact_b", agent="ann")
    with pytest.raises(PlanChanged):
        approve(bench.repo, review, Approver("dan", "token_dan", person=False), seen, bench.now)
    assert find_review(bench.repo, review.id).approved == []


def test_an_approval_counts_until_the_plan_changes(bench: Bench, review: Review) -> None:
    assert count(bench, review) == 0
    for agent in ("dan", "eve"):
        agree(bench, review, agent, token_of(agent))
    assert count(bench, review) == 2
    write(bench, "fact_b", agent="bob")
    assert count(bench, review) == 0
    agree(bench, review, "dan", "token_dan")
    assert count(bench, review) == 1
    assert len(find_review(bench.repo, review.id).approved) == 2


def test_an_approver_who_then_writes_on_the_branch_counts_no_more(
    bench: Bench, review: Review
) -> None:
    agree(bench, review, "dan", "token_dan")
    write(bench, "fact_elsewhere", MAIN, agent="dan")
    assert count(bench, review) == 1
    write(bench, "fact_b", agent="dan")
    agree(bench, review, "eve", "token_eve")
    assert count(bench, review) == 1


@pytest.mark.parametrize(("token", "left"), [("token_dan", {"eve"}), ("token_x", {"dan", "eve"})])
def test_an_approval_is_taken_back_by_its_token_only(
    bench: Bench, review: Review, token: str, left: set[str]
) -> None:
    for agent in ("dan", "eve"):
        agree(bench, review, agent, token_of(agent))
    after = withdraw(bench.repo, review, token)
    assert {approval.by for approval in after.approved} == left
    assert find_review(bench.repo, review.id) == after


def test_a_closed_review_takes_no_approval_and_keeps_those_it_has(
    bench: Bench, review: Review
) -> None:
    agree(bench, review, "dan", "token_dan")
    seen = digest(bench, review)
    closed = close_review(bench.repo, review, "opal", None, bench.now)
    for again in (review, closed):
        with pytest.raises(Conflict):
            approve(bench.repo, again, Approver("eve", "token_eve", person=False), seen, bench.now)
        with pytest.raises(Conflict):
            withdraw(bench.repo, again, "token_dan")
    assert len(find_review(bench.repo, review.id).approved) == 1
