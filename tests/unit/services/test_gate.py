"""The gate: which facts of a merge count, and which verdict each would have."""

import pytest

from day1.model.branches.branch import MAIN
from day1.model.merge.row_merge import Choice
from day1.model.rows.kind import OBSERVATION, Cell
from day1.services.merges.gate import gate, verdicts
from day1.services.rows.editing import Removal, remove
from day1.services.rows.recording import NewObservation, observation_row
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.writers import SIDE, correct, plan, write


def gated(bench: Bench) -> dict[str, str]:
    return dict(gate(bench.repo, bench.branch(SIDE), bench.branch()).facts)


@pytest.mark.parametrize("verdict", ["unverified", "verified", "invalidated"])
def test_a_new_fact_has_its_own_verdict(bench: Bench, verdict: str) -> None:
    bench.fork(SIDE)
    write(bench, "fact_a", verification=verdict)
    assert gated(bench) == {"fact_a": verdict}


@pytest.mark.parametrize("status", ["superseded", "archived", "invalidated"])
def test_a_fact_that_is_not_active_needs_no_verdict(bench: Bench, status: str) -> None:
    bench.fork(SIDE)
    write(bench, "fact_a", status=status)
    assert gated(bench) == {}


def test_what_the_merge_leaves_as_it_is_needs_no_verdict(bench: Bench) -> None:
    write(bench, "fact_kept", MAIN)
    write(bench, "fact_removed", MAIN)
    bench.fork(SIDE)
    remove(bench.repo, bench.branch(SIDE), Removal(["fact_removed"]), ADA)
    with bench.store.adding(SIDE) as work:
        row = observation_row("obs_a", NewObservation("note", "seen"), ADA, work.now)
        work.add(OBSERVATION, [row])
    assert gated(bench) == {}


@pytest.mark.parametrize(
    ("ours", "theirs", "worse"),
    [
        ("verified", "invalidated", "invalidated"),
        ("invalidated", "verified", "invalidated"),
        ("verified", "unverified", "unverified"),
        ("unverified", "invalidated", "invalidated"),
        ("verified", "verified", "verified"),
    ],
)
def test_a_fact_in_conflict_has_the_worse_verdict_of_both_sides(
    bench: Bench, ours: str, theirs: str, worse: str
) -> None:
    write(bench, "fact_a", MAIN)
    bench.fork(SIDE)
    for branch, verdict in ((MAIN, ours), (SIDE, theirs)):
        columns: dict[str, Cell] = {"fact_text": f"as {branch} has it"}
        correct(bench, "fact_a", branch, **columns)
        correct(bench, "fact_a", branch, verification=verdict)
    seen = gate(bench.repo, bench.branch(SIDE), bench.branch())
    assert (seen.facts, seen.held) == ({"fact_a": worse}, 1)


def test_a_decided_conflict_has_the_verdict_of_the_side_that_was_taken(bench: Bench) -> None:
    write(bench, "fact_a", MAIN, verification="verified")
    bench.fork(SIDE)
    correct(bench, "fact_a", SIDE, fact_text="theirs")
    correct(bench, "fact_a", MAIN, fact_text="ours")
    correct(bench, "fact_a", SIDE, verification="verified")
    taken = plan(bench, Choice("fact_a", "theirs")).plan
    assert verdicts(taken) == {"fact_a": "verified"}


def test_verdicts_are_counted(bench: Bench) -> None:
    bench.fork(SIDE)
    for number, verdict in enumerate(["verified", "verified", "unverified"]):
        write(bench, f"fact_{number}", verification=verdict)
    seen = gate(bench.repo, bench.branch(SIDE), bench.branch())
    assert dict(seen.counts) == {"verified": 2, "unverified": 1}
    assert seen.held == 0
