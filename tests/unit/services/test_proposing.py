"""Proposing: what merges without a look, what waits for a review, and what was asked before."""

from dataclasses import replace

import pytest

from day1.errors import BranchProtected, PlanChanged
from day1.model.branches.branch import MAIN
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.rows.origin import Origin
from day1.model.values.tiers import TIERS
from day1.services.merges.planning import preview
from day1.services.merges.proposing import Proposed, Proposer, propose
from day1.services.merges.protection import Merger, guard, protect
from day1.services.rows.editing import Replacement, supersede
from tests.unit.services.conftest import ADA, Bench, Died, dying_at
from tests.unit.services.writers import SIDE, request, write

NONE, ONE, TWO = TIERS
RULES = (f"{NONE} category=note", f"{TWO} category=policy")
BY = Proposer(Origin("ann"), "token_ann")


@pytest.fixture(autouse=True)
def tiers(bench: Bench) -> None:
    """Main lets notes merge without a look."""
    protect(bench.repo, bench.branch(), ["tiers"], RULES)
    bench.fork(SIDE)


def proposed(bench: Bench, by: Proposer = BY, expect: str | None = None) -> Proposed:
    bench.now += 1
    lets = guard(bench.repo, Merger(by.token))
    return propose(bench.repo, request(bench, expect=expect), by, bench.now, lets)


def notes(bench: Bench, *facts: str, category: str | None = "note") -> None:
    for fact in facts:
        write(bench, fact, category=category)


def reviews(bench: Bench) -> list[Review]:
    made: list[Review] = bench.repo.ledger.records(Review)
    return made


def test_what_needs_no_look_merges_and_the_rest_waits_for_a_review(bench: Bench) -> None:
    notes(bench, "fact_note", "fact_note2")
    notes(bench, "fact_policy", category="policy")
    notes(bench, "fact_other", category=None)
    done = proposed(bench)
    assert bench.facts() == {"fact_note", "fact_note2"}
    assert set(done.waits) == {"fact_policy", "fact_other"}
    assert done.merged is not None
    assert (done.merged.record.strategy, done.merged.record.merged_count) == ("cherry_pick", 2)
    assert done.review is not None
    assert reviews(bench) == [done.review]
    assert (done.review.opened_by, done.review.opened_token) == ("ann", "token_ann")
    assert (done.review.title, done.review.description) == (None, None)
    sides = bench.branch(SIDE).id, bench.branch().id
    assert (done.review.source_id, done.review.target_id) == sides


@pytest.mark.parametrize("category", ["note", None])
def test_where_all_or_nothing_needs_no_look(bench: Bench, category: str | None) -> None:
    notes(bench, "fact_a", category=category)
    done = proposed(bench)
    if category == "note":
        assert (bench.facts(), done.review, done.waits) == ({"fact_a"}, None, ())
        assert done.merged is not None
        assert done.merged.record.strategy == "auto"
        assert reviews(bench) == []
    else:
        assert (bench.facts(), done.merged, done.waits) == (set(), None, ("fact_a",))
        assert bench.repo.ledger.records(MergeRecord) == []


def test_a_second_proposal_answers_the_open_review(bench: Bench) -> None:
    notes(bench, "fact_policy", category="policy")
    first = proposed(bench)
    notes(bench, "fact_note")
    second = proposed(bench)
    assert second.review == first.review
    assert bench.facts() == {"fact_note"}


def test_a_note_that_a_policy_replaced_waits_with_it(bench: Bench) -> None:
    notes(bench, "fact_old", "fact_note")
    new = Replacement("fact_old", "a policy", "fact_new", "policy")
    supersede(bench.repo, bench.branch(SIDE), new, ADA)
    done = proposed(bench)
    assert bench.facts() == {"fact_note"}
    assert set(done.waits) == {"fact_old", "fact_new"}


def test_a_note_that_a_note_replaced_merges_with_it(bench: Bench) -> None:
    notes(bench, "fact_old")
    notes(bench, "fact_policy", category="policy")
    supersede(bench.repo, bench.branch(SIDE), Replacement("fact_old", "new", "fact_new"), ADA)
    done = proposed(bench)
    assert bench.facts() == {"fact_old", "fact_new"}
    assert done.waits == ("fact_policy",)


@pytest.mark.parametrize("other", ["note", "policy"])
def test_another_plan_than_the_expected_one_changes_nothing(bench: Bench, other: str) -> None:
    notes(bench, "fact_note")
    seen = preview(bench.repo, request(bench)).plan.digest
    notes(bench, "fact_late", category=other)
    with pytest.raises(PlanChanged):
        proposed(bench, expect=seen)
    assert (bench.facts(), reviews(bench)) == (set(), [])
    seen = preview(bench.repo, request(bench)).plan.digest
    proposed(bench, expect=seen)
    assert "fact_note" in bench.facts()


def test_where_the_target_requires_more_neither_part_nor_review_is_made(bench: Bench) -> None:
    protect(bench.repo, bench.branch(), ["tiers", "gate"])
    notes(bench, "fact_note")
    notes(bench, "fact_policy", category="policy")
    with pytest.raises(BranchProtected):
        proposed(bench)
    assert (bench.facts(), reviews(bench)) == (set(), [])


def test_a_killed_proposal_leaves_a_review_of_all_and_no_part_without_one(bench: Bench) -> None:
    notes(bench, "fact_note")
    notes(bench, "fact_policy", category="policy")
    repo = dying_at(bench.repo, "propose.after_review")
    with pytest.raises(Died):
        propose(repo, request(bench), BY, bench.now, guard(repo, Merger("token_ann")))
    assert (bench.facts(), len(reviews(bench))) == (set(), 1)


@pytest.mark.parametrize("more", ["note", "policy"])
def test_a_repeated_proposal_merges_nothing_more(bench: Bench, more: str) -> None:
    notes(bench, "fact_note")
    notes(bench, "fact_policy", category="policy")
    first = proposed(bench)
    assert first.merged is not None
    notes(bench, "fact_late", category=more)
    again = proposed(bench, replace(BY, before=first.merged.record), expect="an older plan")
    assert bench.facts() == {"fact_note"}
    assert again.merged is not None
    assert (again.merged.record, again.merged.repeated) == (first.merged.record, True)
    assert again.merged.at == first.merged.record.created_at
    assert (again.merged.plan.rows, again.merged.plan.moves_base) == ((), False)
    assert again.review == first.review
    assert set(again.waits) == {"fact_policy", "fact_late"}


def test_a_repeated_proposal_of_all_opens_no_review(bench: Bench) -> None:
    notes(bench, "fact_note")
    first = proposed(bench)
    assert first.merged is not None
    notes(bench, "fact_late")
    again = proposed(bench, replace(BY, before=first.merged.record))
    assert again.merged is not None
    assert (again.merged.record, again.review) == (first.merged.record, None)
    assert bench.facts() == {"fact_note"}


def test_a_target_without_tiers_merges_all(bench: Bench) -> None:
    protect(bench.repo, bench.branch(), [])
    notes(bench, "fact_policy", category="policy")
    done = proposed(bench)
    assert (bench.facts(MAIN), done.review, done.waits) == ({"fact_policy"}, None, ())
