"""Merges: what is planned, done, held and decided, and what a process that died leaves."""

from dataclasses import replace

import pytest

from day1.errors import BranchClosed, InvalidRequest, NotFound, PlanChanged, WouldHold
from day1.model.branches.branch import MAIN
from day1.model.merge.held import Resolution
from day1.model.merge.row_merge import Choice
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.origin import Origin
from day1.services.branches import deleting
from day1.services.merges import held, merging, planning
from day1.services.rows.editing import Correction, Replacement, supersede, update
from tests.unit.services.conftest import ADA, Bench, Died, dying_at


@pytest.fixture(autouse=True)
def sides(bench: Bench) -> None:
    """A fact that both branches have."""
    bench.add("fact_a", "tea")
    bench.fork("side")


def correct(bench: Bench, branch: str, **columns: str | int) -> None:
    bench.now += 1
    update(bench.repo, bench.branch(branch), Correction("fact_a", columns), ADA)


def request(bench: Bench, strategy: str = "auto", **more: object) -> planning.MergeRequest:
    made = planning.MergeRequest(bench.branch("side"), bench.branch(), "auto")
    return replace(made, strategy=strategy, **more)  # type: ignore[arg-type]  # fields by name


def test_a_merge_brings_new_rows_and_changed_cells(bench: Bench) -> None:
    bench.add("fact_b", "b", "side")
    correct(bench, "side", category="theirs")
    done = merging.merge(bench.repo, request(bench), ADA, bench.now)
    assert bench.facts() == {"fact_a", "fact_b"}
    assert bench.present("fact_a")["category"] == "theirs"
    assert done.record.rejected_count == 0
    assert bench.branch("side").merged_tip == bench.store.tips["side"]


def test_what_both_changed_keeps_the_targets_side_and_is_held(bench: Bench) -> None:
    correct(bench, "side", category="theirs")
    correct(bench, MAIN, category="ours")
    done = merging.merge(bench.repo, request(bench), ADA, bench.now)
    assert bench.present("fact_a")["category"] == "ours"
    assert done.record.rejected_count == 1
    (offer,) = held.offers(bench.repo, bench.branch())
    taken = held.HeldDecision(offer.item.id, "taken")
    held.decide(bench.repo, bench.branch(), taken, Origin("judge"))
    assert bench.present("fact_a")["category"] == "theirs"
    assert held.offers(bench.repo, bench.branch()) == []


@pytest.mark.parametrize("way", ["there", "expired", "deleted"])
@pytest.mark.parametrize("decision", ["taken", "edited"])
def test_a_decided_supersession_brings_its_new_fact(bench: Bench, way: str, decision: str) -> None:
    new = Replacement("fact_a", "mate", "fact_b")
    supersede(bench.repo, bench.branch("side"), new, ADA)
    correct(bench, MAIN, valid_until=9)
    merging.merge(bench.repo, request(bench), ADA, bench.now)
    assert bench.facts() == {"fact_a"}
    if way == "expired":
        bench.now += 1
        gone = Correction("fact_b", {"expires_at": bench.now})
        update(bench.repo, bench.branch("side"), gone, ADA)
    if way == "deleted":
        deleting.delete(bench.repo, bench.branch("side"), MAIN, bench.now)
    (item,) = (
        offer.item
        for offer in held.offers(bench.repo, bench.branch())
        if offer.item.cell == "status"
    )
    value = {"superseded_by": "fact_b"} if decision == "edited" else None
    decided = held.HeldDecision(item.id, decision, value)  # type: ignore[arg-type]  # a decision of any name
    held.decide(bench.repo, bench.branch(), decided, ADA)
    assert bench.present("fact_a")["superseded_by"] == "fact_b"
    assert bench.present("fact_b")["fact_text"] == "mate"
    assert held.offers(bench.repo, bench.branch()) == []


def test_a_held_item_keeps_the_value_of_a_source_that_was_deleted(bench: Bench) -> None:
    correct(bench, "side", category="theirs")
    correct(bench, MAIN, category="ours")
    merging.merge(bench.repo, request(bench), ADA, bench.now)
    deleting.delete(bench.repo, bench.branch("side"), MAIN, bench.now)
    (offer,) = held.offers(bench.repo, bench.branch())
    assert (offer.offered, offer.source) == ({"category": "theirs"}, None)
    taken = held.HeldDecision(offer.item.id, "taken")
    held.decide(bench.repo, bench.branch(), taken, Origin("judge"))
    assert bench.present("fact_a")["category"] == "theirs"


def test_a_held_item_is_decided_once_and_by_values_of_its_cell(bench: Bench) -> None:
    correct(bench, "side", category="theirs")
    correct(bench, MAIN, category="ours")
    merging.merge(bench.repo, request(bench), ADA, bench.now)
    (offer,) = held.offers(bench.repo, bench.branch())
    wrong = held.HeldDecision(offer.item.id, "edited", {"fact_text": "x"})
    with pytest.raises(InvalidRequest, match="category"):
        held.decide(bench.repo, bench.branch(), wrong, ADA)
    dismissed = held.HeldDecision(offer.item.id, "dismissed")
    held.decide(bench.repo, bench.branch(), dismissed, ADA)
    with pytest.raises(NotFound):
        held.decide(bench.repo, bench.branch(), dismissed, ADA)
    assert bench.present("fact_a")["category"] == "ours"


def test_a_plan_that_is_not_the_previewed_one_is_refused(bench: Bench) -> None:
    correct(bench, "side", category="theirs")
    seen = planning.preview(bench.repo, request(bench)).plan.digest
    correct(bench, "side", category="later")
    with pytest.raises(PlanChanged):
        merging.merge(bench.repo, request(bench, expect=seen), ADA, bench.now)
    assert bench.present("fact_a")["category"] is None


def test_a_preview_writes_nothing(bench: Bench) -> None:
    bench.add("fact_b", "b", "side")
    before = len(bench.store.commits)
    plan = planning.preview(bench.repo, request(bench)).plan
    assert plan.merged_count == 1
    assert len(bench.store.commits) == before


def test_a_squash_leaves_nothing_undecided_and_closes_its_source(bench: Bench) -> None:
    correct(bench, "side", category="theirs")
    correct(bench, MAIN, category="ours")
    with pytest.raises(WouldHold):
        merging.merge(bench.repo, request(bench, "squash"), ADA, bench.now)
    correct(bench, MAIN, category="theirs")
    bench.add("fact_b", "b", "side")
    merging.merge(bench.repo, request(bench, "squash"), ADA, bench.now)
    assert bench.branch("side").closed
    with pytest.raises(BranchClosed):
        merging.merge(bench.repo, request(bench), ADA, bench.now)


@pytest.mark.parametrize(
    ("point", "done"), [("merge.after_intent", False), ("merge.after_engine", True)]
)
def test_a_merge_whose_process_died_has_its_record_if_it_was_done(
    bench: Bench, point: str, done: bool
) -> None:
    bench.add("fact_b", "b", "side")
    with pytest.raises(Died):
        merging.merge(dying_at(bench.repo, point), request(bench), ADA, bench.now)
    assert bench.repo.ledger.records(MergeRecord) == []
    bench.repo.ledger.recover_orphans()
    records = bench.repo.ledger.records(MergeRecord)
    assert [record.merged_count for record in records] == [1] * done
    assert (bench.branch("side").merged_tip is not None) == done


def of_times(bench: Bench) -> list[object]:
    row = bench.present("fact_a")
    return [row["happened_at"], row["valid_until"]]


@pytest.mark.parametrize(("decision", "times"), [("taken", [50, 60]), ("dismissed", [30, 40])])
def test_both_held_times_of_a_row_are_one_decision(
    bench: Bench, decision: Resolution, times: list[int]
) -> None:
    correct(bench, "side", happened_at=50, valid_until=60)
    correct(bench, MAIN, happened_at=30, valid_until=40)
    merging.merge(bench.repo, request(bench), ADA, bench.now)
    assert of_times(bench) == [30, 40]
    offers = held.offers(bench.repo, bench.branch())
    assert {offer.item.cell for offer in offers} == {"status", "happened_at"}
    decided = held.HeldDecision(offers[0].item.id, decision)
    held.decide(bench.repo, bench.branch(), decided, Origin("judge"))
    assert of_times(bench) == times
    assert held.offers(bench.repo, bench.branch()) == []


def test_no_merge_makes_a_valid_time_of_two_branches(bench: Bench) -> None:
    correct(bench, "side", happened_at=50)
    correct(bench, MAIN, valid_until=40)
    seen = planning.preview(bench.repo, request(bench))
    assert [(row.id, cell) for row, cell in seen.plan.holds] == [("fact_a", "happened_at")]
    theirs = Choice("fact_a", "theirs", "happened_at")
    with pytest.raises(InvalidRequest, match=r"fact_a: .*earlier than"):
        merging.merge(bench.repo, request(bench, choices=(theirs,)), ADA, bench.now)
    merging.merge(bench.repo, request(bench), ADA, bench.now)
    assert of_times(bench) == [None, 40]
    (offer,) = held.offers(bench.repo, bench.branch())
    taken = held.HeldDecision(offer.item.id, "taken")
    with pytest.raises(InvalidRequest, match="earlier than"):
        held.decide(bench.repo, bench.branch(), taken, Origin("judge"))
    assert of_times(bench) == [None, 40]
