"""Who gets a place in a workspace, and the score by which: pure rules."""

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.workspace.competition import (
    Contender,
    Neighbours,
    Outcome,
    compete,
    contradict,
)
from day1.model.workspace.scoring import ALONE, PARTS, SHARED, Rules, score_of

RULES = Rules(ALONE)
TEAM = Rules(SHARED)
NONE = Neighbours()


def one(name: str, text: str = "", **more: Any) -> Contender:
    return Contender(name, text or f"note {name}", more.pop("created_at", 1), **more)


def chosen(outcome: Outcome) -> list[str]:
    return [standing.id for standing in outcome.chosen]


def reasons(outcome: Outcome) -> dict[str, str]:
    return {standing.id: standing.reason for standing in outcome.standings}


def linked(*pairs: tuple[str, str]) -> dict[str, set[str]]:
    of: dict[str, set[str]] = {}
    for a, b in pairs:
        of.setdefault(a, set()).add(b)
        of.setdefault(b, set()).add(a)
    return of


@pytest.mark.parametrize("weights", [ALONE, SHARED])
def test_weights_sum_to_one(weights: dict[str, float]) -> None:
    assert math.fsum(weights.values()) == pytest.approx(1, abs=1e-12)
    assert tuple(weights) == PARTS


@pytest.mark.parametrize(
    "weights",
    [
        {**ALONE, "relevance": 0.36},
        {**ALONE, "relevance": 0.34},
        {**ALONE, "relevance": 0.55, "links": -0.0001, "novelty": 0.1501},
        {name: weight for name, weight in ALONE.items() if name != "need"},
        {**ALONE, "luck": 0.0},
    ],
)
def test_other_weights_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        Rules(weights)


def test_a_score_is_an_exact_sum() -> None:
    parts = dict.fromkeys(PARTS, 1.0)
    assert score_of(parts, ALONE) == 1.0
    assert score_of({**parts, "relevance": 0.0}, ALONE) == pytest.approx(0.65)


def test_the_highest_score_is_chosen_first_and_places_are_few() -> None:
    some = [one(f"{n}", relevance=n / 10) for n in range(10)]
    outcome = compete(some, NONE, Rules(ALONE, slots=3), goal=True)
    assert chosen(outcome) == ["9", "8", "7"]
    assert reasons(outcome)["6"] == "no_place"
    assert reasons(outcome)["2"] == "no_place"
    assert reasons(outcome)["1"] == "below_ignition"
    assert [standing.round for standing in outcome.chosen] == [1, 2, 3]
    assert {standing.round for standing in outcome.others} == {3}


def test_a_note_that_is_only_new_recent_held_and_frequent_never_ignites() -> None:
    new = one("new", recency=1.0, frequency=1.0, is_held=True, need=1.0)
    assert reasons(compete([new], NONE, RULES, goal=True)) == {"new": "below_ignition"}
    assert reasons(compete([new], NONE, RULES, goal=False)) == {"new": "kept"}


@pytest.mark.parametrize(("relevance", "reason"), [(0.2, "admitted"), (0.1999, "below_ignition")])
def test_the_ignition(relevance: float, reason: str) -> None:
    outcome = compete([one("a", relevance=relevance)], NONE, RULES, goal=True)
    assert reasons(outcome) == {"a": reason}


def test_stake_ignites_only_where_it_counts() -> None:
    agreed = one("a", stake=0.5)
    assert reasons(compete([agreed], NONE, TEAM, goal=True)) == {"a": "admitted"}
    assert reasons(compete([agreed], NONE, RULES, goal=True)) == {"a": "below_ignition"}


def test_links_pull_less_with_each_step() -> None:
    some = [one("a", relevance=0.6), one("b"), one("c"), one("d"), one("e")]
    near = Neighbours(linked(("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")))
    outcome = compete(some, near, RULES, goal=True)
    links = {standing.id: standing.parts["links"] for standing in outcome.standings}
    assert links["b"] == pytest.approx(0.48)
    assert links["c"] == pytest.approx(0.384)
    assert links["d"] == pytest.approx(0.3072)
    assert links["e"] == pytest.approx(0.24576)
    assert links["a"] == 0
    assert chosen(outcome) == list("abcde")
    assert {standing.id: standing.via for standing in outcome.chosen} == dict(zip("abcde", [None, *"abcd"], strict=True))  # fmt: skip


def test_a_link_with_another_wording_of_a_winner_counts() -> None:
    some = [one("a", "Tea is hot", relevance=0.6), one("b", "tea is hot."), one("c")]
    near = Neighbours(linked(("b", "c")), linked(("a", "b")))
    outcome = compete(some, near, RULES, goal=True)
    assert chosen(outcome) == ["a", "c"]
    assert outcome.chosen[1].via == "a"
    assert outcome.chosen[1].parts["links"] == pytest.approx(0.48)
    (wording,) = outcome.others
    assert (wording.id, wording.reason, wording.joins, wording.round) == (
        "b",
        "other_wording",
        "a",
        1,
    )


def test_the_strongest_link_counts_and_names_its_row() -> None:
    some = [one("a", relevance=0.9), one("b", relevance=0.3), one("c")]
    near = Neighbours(linked(("a", "c"), ("b", "c")))
    outcome = compete(some, near, Rules(ALONE, slots=3), goal=True)
    last = next(standing for standing in outcome.chosen if standing.id == "c")
    assert last.parts["links"] == pytest.approx(0.72)
    assert last.via == "a"


def test_novelty_is_what_is_least_like_the_chosen_ones() -> None:
    like = {"a": {"b": 0.9, "c": 0.1}, "c": {"b": 0.2}}
    near = Neighbours(likeness=lambda i: like.get(i, {}))
    some = [one("a", relevance=0.9), one("b", relevance=0.6), one("c", relevance=0.55)]
    outcome = compete(some, near, RULES, goal=True)
    assert chosen(outcome) == ["a", "c", "b"]
    novelty = {standing.id: standing.parts["novelty"] for standing in outcome.chosen}
    assert novelty == {"a": 1.0, "b": pytest.approx(0.1), "c": pytest.approx(0.9)}


def test_contradictions_stand_side_by_side() -> None:
    slow, fast = "Kestrel waits 60 seconds before each retry.", "Kestrel waits 30 seconds before each retry."  # fmt: skip
    some = [
        one("a", slow, relevance=0.9),
        one("b", relevance=0.8),
        one("c", relevance=0.7),
        one("d", fast, relevance=0.1),
        one("e", slow.upper(), relevance=0.1),
    ]
    near = Neighbours(alike=linked(("a", "d"), ("a", "e"), ("d", "e")))
    outcome = compete(some, near, TEAM, goal=True)
    assert chosen(outcome) == ["a", "d", "b", "c"]
    assert [standing.contradicts for standing in outcome.chosen] == [(), ("a",), (), ()]
    assert [standing.parts["stake"] for standing in outcome.chosen] == [1, 1, 0, 0]
    assert reasons(outcome)["e"] == "other_wording"


def test_texts_that_differ_in_a_name_neither_join_nor_contradict() -> None:
    some = [
        one("a", "Ticket 12 of Ada is open.", relevance=0.9),
        one("b", "Ticket 13 of Bo is open."),
    ]
    outcome = compete(some, Neighbours(alike=linked(("a", "b"))), RULES, goal=True)
    assert reasons(outcome) == {"a": "admitted", "b": "below_ignition"}
    assert outcome.others[0].contradicts == ()
    assert contradict("It waits 30 seconds.", "It waits 60 seconds.")
    assert not contradict("It waits 30 seconds.", "It waits 30 seconds again.")


def test_pinned_memories_are_first_whatever_they_are_about() -> None:
    some = [
        one("a", relevance=0.9),
        one("p", is_pinned=True),
        one("q", is_pinned=True, recency=0.5),
    ]
    assert chosen(compete(some, NONE, Rules(ALONE, slots=2), goal=True)) == ["q", "p"]


def test_who_is_in_the_workspace_is_kept_or_leaves() -> None:
    some = [one("a", relevance=0.5, is_held=True), one("b", relevance=0.5), one("c", is_held=True)]
    outcome = compete(some, NONE, RULES, goal=True)
    assert reasons(outcome) == {"a": "kept", "b": "admitted", "c": "below_ignition"}
    assert chosen(outcome) == ["a", "b"]


def test_ties_go_to_the_older_then_by_id() -> None:
    some = [one("b", relevance=0.5), one("a", relevance=0.5), one("z", relevance=0.5, created_at=0)]
    assert chosen(compete(some, NONE, RULES, goal=True)) == ["z", "a", "b"]
    below = [one("b"), one("a"), one("z", created_at=0)]
    assert [s.id for s in compete(below, NONE, RULES, goal=True).others] == ["z", "a", "b"]


def test_nobody_competes() -> None:
    assert compete([], NONE, RULES, goal=True) == Outcome((), ())
    nobody = compete([one("a", relevance=1.0)], NONE, Rules(ALONE, slots=0), goal=True)
    assert reasons(nobody) == {"a": "no_place"}
    assert nobody.others[0].round == 1


PART = st.floats(0, 1)
NAMES = [f"n{number}" for number in range(12)]


@st.composite
def fields(draw: st.DrawFn) -> tuple[list[Contender], Neighbours]:
    words = ["waits 30 seconds", "waits 60 seconds", "never sleeps", "sleeps", "tea"]
    some = [
        Contender(
            name,
            draw(st.sampled_from(words)),
            draw(st.integers(0, 3)),
            draw(PART),
            draw(PART),
            draw(PART),
            draw(PART),
            draw(PART),
            is_held=draw(st.booleans()),
            is_pinned=draw(st.integers(0, 9)) == 0,
        )
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True))
    ]
    ids = [each.id for each in some]
    pair = st.tuples(st.sampled_from(ids or NAMES), st.sampled_from(ids or NAMES))
    links = linked(*(p for p in draw(st.lists(pair, max_size=8)) if p[0] != p[1]))
    alike = linked(*(p for p in draw(st.lists(pair, max_size=8)) if p[0] != p[1]))
    values = {p: draw(PART) for p in draw(st.lists(pair, max_size=8))}

    def likeness(row_id: str) -> dict[str, float]:
        return {b: value for (a, b), value in values.items() if a == row_id}

    return some, Neighbours(links, alike, likeness)


@given(fields(), st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_candidates_changes_nothing(
    drawn: tuple[list[Contender], Neighbours], chance: random.Random, goal: bool
) -> None:
    some, near = drawn
    first = compete(some, near, TEAM, goal=goal)
    chance.shuffle(some)
    assert compete(some, near, TEAM, goal=goal) == first


@given(fields(), st.booleans())
def test_every_score_adds_up_and_each_candidate_is_told_once(
    drawn: tuple[list[Contender], Neighbours], goal: bool
) -> None:
    some, near = drawn
    outcome = compete(some, near, TEAM, goal=goal)
    assert sorted(standing.id for standing in outcome.standings) == sorted(c.id for c in some)
    assert len(outcome.chosen) <= TEAM.slots
    for standing in outcome.standings:
        assert standing.score == math.fsum(SHARED[name] * standing.parts[name] for name in PARTS)
        assert all(0 <= part <= 1 for part in standing.parts.values())


@given(fields())
def test_a_note_below_ignition_changes_no_winner(drawn: tuple[list[Contender], Neighbours]) -> None:
    some, near = drawn
    dull = Contender("dull", "Lunch was soup.", 0, 0.19, 1.0, 1.0, 1.0, 0.1)
    before = compete(some, near, TEAM, goal=True)
    after = compete([*some, dull], near, TEAM, goal=True)
    assert after.chosen == before.chosen


def test_a_candidate_of_which_nothing_is_known_is_only_new() -> None:
    (standing,) = compete([one("a")], NONE, RULES, goal=True).standings
    assert standing.parts == {**dict.fromkeys(PARTS, 0.0), "novelty": 1.0}
    two = compete([one("a", relevance=1.0), one("b")], NONE, RULES, goal=True)
    assert two.others[0].parts["novelty"] == 1.0
