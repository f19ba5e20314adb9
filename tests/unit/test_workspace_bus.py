"""Arbitration: what is accepted, why the rest is inhibited, and what an accepted proposal does."""

from itertools import permutations

import pytest

from day1.model.workspace.bus import (
    Action,
    BusResult,
    Circuit,
    Decision,
    Proposal,
    Report,
    among_visible,
    applied,
    arbitrate,
    groups_of,
    read_result,
    summary_of,
)
from day1.model.workspace.mind import Mind, Place, read_mind


def proposal(key: str, confidence: float, action: Action = "admit", *ids: str) -> Proposal:
    return Proposal("recall", action, key, confidence, ids)


def decided(*proposals: Proposal, repeated: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(d.proposal.key, d.reason) for d in arbitrate(proposals, repeated)]


def test_a_proposal_is_accepted_from_one_half() -> None:
    assert decided(proposal("a", 0.5), proposal("b", 0.499)) == [
        ("a", "accepted"),
        ("b", "below_threshold"),
    ]


def test_a_key_is_accepted_once() -> None:
    one, other = proposal("a", 0.9), Proposal("exact", "admit", "a", 0.9)
    assert decided(one, other) == [("a", "accepted"), ("a", "duplicate_key")]
    assert arbitrate([one, other])[0].proposal.subscriber == "exact"
    assert decided(one, proposal("a", 0.4))[1] == ("a", "below_threshold")


def test_four_proposals_are_accepted_at_most() -> None:
    five = [proposal(key, 0.9) for key in "abcde"]
    assert [reason for _, reason in decided(*five)] == ["accepted"] * 4 + ["max_accepted"]
    assert decided(*five, proposal("a", 0.8))[-1] == ("a", "duplicate_key")


def test_nothing_is_accepted_after_an_answer() -> None:
    answer = proposal("answer:x", 0.95, "resolve_answer", "x")
    assert decided(answer, proposal("a", 1.0), proposal("b", 0.9), proposal("answer:x", 0.6)) == [
        ("a", "accepted"),
        ("answer:x", "accepted"),
        ("b", "resolved_answer_present"),
        ("answer:x", "duplicate_key"),
    ]


def test_what_the_last_cycle_accepted_weighs_less() -> None:
    decisions = arbitrate([proposal("a", 0.7), proposal("b", 0.69), proposal("c", 0.6)], ["a", "b"])
    assert [(d.proposal.key, d.proposal.confidence, d.reason) for d in decisions] == [
        ("c", 0.6, "accepted"),
        ("a", 0.5, "accepted"),
        ("b", 0.49, "below_threshold"),
    ]


def test_the_order_of_proposals_does_not_matter() -> None:
    some = [proposal("b", 0.9), proposal("a", 0.9), Proposal("gap", "note_gap", "a", 0.9)]
    (outcome,) = {tuple(arbitrate(each)) for each in permutations(some)}
    assert [d.proposal.key for d in outcome] == ["a", "a", "b"]


def test_a_circuit_opens_after_three_failures_for_ten_cycles() -> None:
    circuit = Circuit()
    for cycle in (5, 6):
        circuit = circuit.after("timeout", cycle)
        assert not circuit.is_open(cycle + 1)
    circuit = circuit.after("error", 7)
    assert [circuit.is_open(cycle) for cycle in (8, 17, 18)] == [True, True, False]
    assert circuit.after("circuit_open", 8) == circuit
    assert circuit.after("error", 18).is_open(28)
    assert circuit.after("ok", 18) == Circuit()
    assert Circuit(2).after("ok", 3) == Circuit()
    assert not Circuit().is_open(1)


def result(*decisions: Decision, cycle: int = 3) -> BusResult:
    return BusResult(cycle, decisions, [Report("recall", "ok", 2)], {"recall": Circuit(2, 1)})


def accepted(*proposals: Proposal) -> BusResult:
    return result(*(Decision(each, "accepted") for each in proposals))


def test_an_accepted_proposal_does_what_it_says() -> None:
    mind = Mind(workspace=(Place("w", 1, 0.5),))
    pair = proposal("c", 1.0, "flag_contradiction", "a", "b")
    gap = Proposal("gap", "note_gap", "gap:2", 0.6, (), 2)
    answer = proposal("answer", 0.95, "resolve_answer", "r")
    after = applied(mind, accepted(proposal("x", 0.9, "admit", "n", "w"), pair, gap, answer), 7)
    assert after.buffer == (Place("n", 7),)
    assert after.workspace == mind.workspace
    assert after.bus is not None
    assert after.bus["contradictions"] == [["a", "b"]]
    assert after.bus["answer_ids"] == ["r"]
    assert after.bus["gaps"] == [2]


def test_an_inhibited_proposal_does_nothing() -> None:
    inhibited = result(Decision(proposal("x", 0.4, "admit", "n"), "below_threshold"))
    after = applied(Mind(), inhibited, 7)
    assert after.buffer == ()
    assert after.bus is not None
    assert (after.bus["contradictions"], after.bus["answer_ids"], after.bus["gaps"]) == ([], [], [])


def test_pairs_are_kept_over_cycles_each_once_and_the_newest() -> None:
    mind = Mind()
    for number in [*range(25), 10]:
        pair = proposal("c", 1.0, "flag_contradiction", "a", f"b{number}")
        mind = read_mind(applied(mind, accepted(pair), 7).value)
    assert mind.bus is not None
    pairs = mind.bus["contradictions"]
    assert len(pairs) == 20
    assert pairs[-1] == ["a", "b10"]
    assert pairs[0] == ["a", "b5"]
    assert pairs.count(["a", "b10"]) == 1


def test_a_result_is_read_as_it_was_kept() -> None:
    decisions = (
        Decision(proposal("x", 0.9, "admit", "n"), "accepted"),
        Decision(Proposal("gap", "note_gap", "gap:1", 0.3, (), 1), "below_threshold"),
    )
    mind = read_mind(applied(Mind(), result(*decisions), 1).value)
    assert mind.bus is not None
    back = read_result(mind.bus)
    assert tuple(back.decisions) == decisions
    assert [*back.reports] == [Report("recall", "ok", 2)]
    assert (back.cycle, back.circuits) == (3, {"recall": Circuit(2, 1)})
    assert back.accepted == [decisions[0].proposal]
    assert back.inhibited == [decisions[1].proposal]


def test_a_summary_counts_and_groups() -> None:
    some = result(
        Decision(proposal("a", 0.9), "accepted"),
        Decision(proposal("a", 0.8), "duplicate_key"),
        Decision(proposal("b", 0.1), "below_threshold"),
        Decision(proposal("c", 0.1, "note_gap"), "below_threshold"),
    )
    assert summary_of(some) == {
        "cycle": 3,
        "proposal_count": 4,
        "accepted_count": 1,
        "inhibited_count": 3,
        "inhibited_reason_counts": {"below_threshold": 2, "duplicate_key": 1},
        "subscriber_status_counts": {"ok": 1},
    }
    assert groups_of(some) == [
        {"action": "admit", "proposal_count": 3, "accepted_count": 1, "keys": ["a", "b"]},
        {"action": "note_gap", "proposal_count": 1, "accepted_count": 0, "keys": ["c"]},
    ]


@pytest.mark.parametrize("count", [0, 3])
def test_decisions_are_accepted_and_inhibited_together(count: int) -> None:
    some = arbitrate([proposal(str(n), n / 4) for n in range(count)])
    both = result(*some)
    assert len(both.accepted) + len(both.inhibited) == len(some) == count


def test_ids_of_rows_that_may_not_be_shown_are_left_out_of_a_result() -> None:
    pair = Proposal("contradiction", "flag_contradiction", "contradiction:a:b", 1.0, ("a", "b"))
    gap = Proposal("gap", "note_gap", "gap:1", 0.6, (), 1)
    decisions = arbitrate([pair, gap, proposal("admit:a", 0.5, "admit", "a")])
    result = BusResult(3, decisions, [Report("gap", "ok", 1)], {})
    assert among_visible(result, {"a", "b"}) == result
    shown = among_visible(result, {"a"})
    assert [(each.proposal.key, each.proposal.ids, each.reason) for each in shown.decisions] == [
        ("flag_contradiction:gone", ("a",), "accepted"),
        ("gap:1", (), "accepted"),
        ("admit:a", ("a",), "accepted"),
    ]
    assert (shown.cycle, shown.reports, shown.circuits) == (3, result.reports, {})
