"""The cycle of a workspace on a store and an index in memory: who wins, and what is written."""

import math
from dataclasses import replace
from typing import Any

import pytest

from day1.errors import NotFound
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT, RELATION
from day1.model.workspace.item import LINKED, link_id
from day1.model.workspace.mind import Goal, Mind
from day1.services.rows.recording import NewRelation, relation_row
from day1.services.workspace.candidates import Asked, gather, goal_text
from day1.services.workspace.cycle import (
    Broadcast,
    Options,
    Round,
    broadcast_now,
    compete_now,
    evict,
    rules_of,
)
from day1.services.workspace.desks import Seat, change_mind, mind_of
from tests.unit.services.conftest import ADA
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture

GOAL = "Why is the upload retry of Kestrel slow?"
FIRST = "The upload retry of Kestrel is slow: it waits."


class Workspace:
    """One client's workspace on the main branch."""

    def __init__(self, searching: Searching) -> None:
        self.searching, self.bench = searching, searching.bench
        branch = self.bench.branch()
        self.seat = Seat(branch, branch.id, "ann", None, "ann")

    def goal(self, text: str = GOAL, **more: Any) -> None:
        goal = Goal(f"goal_{self.bench.now}", text, **more)
        self.change(lambda mind: mind.with_goal(goal))

    def change(self, change: Any) -> None:
        change_mind(self.bench.repo, self.seat, change, self.bench.now)

    def link(self, one: str, other: str) -> None:
        relation = NewRelation(one, LINKED, other)
        with self.bench.store.adding(MAIN) as work:
            work.add(RELATION, [relation_row(link_id(one, other), relation, ADA, work.now)])

    @property
    def mind(self) -> Mind:
        return mind_of(self.bench.repo, self.seat)

    def asked(self, **more: Any) -> Asked:
        return Asked(self.bench.now, **more)

    def compete(self, slots: int | None = None, **more: Any) -> Round:
        rules = rules_of(self.seat, slots)
        engine = self.searching.engine
        return compete_now(self.bench.repo, engine, self.seat, self.asked(**more), rules)

    def broadcast(self, slots: int | None = None, **more: Any) -> Broadcast:
        rules = rules_of(self.seat, slots)
        engine = self.searching.engine
        options = Options(rules)
        return broadcast_now(self.bench.repo, engine, self.seat, self.asked(**more), options)

    def attended(self) -> list[str]:
        return [place.id for place in self.mind.workspace]


@pytest.fixture(params=["vectors", "words"])
def workspace(request: pytest.FixtureRequest, searching: Searching) -> Workspace:
    if request.param == "words":
        searching.engine = replace(searching.engine, embedder=None)
    return Workspace(searching)


def reasons(competed: Round) -> dict[str, str]:
    return {each.id: each.reason for each in competed.outcome.standings}


def test_what_fits_the_goal_wins_and_what_is_only_new_does_not(workspace: Workspace) -> None:
    workspace.searching.fact("fit", FIRST)
    workspace.bench.now += 10**12
    for n in range(5):
        workspace.searching.fact(f"new_{n}", f"Lunch on day {n} was soup with bread.")
    workspace.change(lambda mind: mind.admitted(tuple(f"fact_new_{n}" for n in range(5)), 1))
    workspace.goal()
    done = workspace.broadcast()
    assert workspace.attended() == ["fact_fit"]
    assert FIRST in done.text.text
    assert f"Goal: {GOAL}" in done.text.text
    assert done.mind.cycles == 1
    assert {*reasons(done.round).values()} == {"admitted", "below_ignition"}


def test_a_score_is_the_sum_of_its_parts_to_the_last_bit(workspace: Workspace) -> None:
    workspace.searching.fact("fit", FIRST)
    workspace.searching.fact("linked", "Its queue is on port 7001.")
    workspace.link("fact_fit", "fact_linked")
    workspace.goal()
    competed = workspace.compete()
    for standing in competed.outcome.standings:
        weights = competed.rules.weights
        assert standing.score == math.fsum(weights[name] * standing.parts[name] for name in weights)
        assert all(0 <= part <= 1 for part in standing.parts.values())


def test_linked_rows_enter_without_a_word_of_the_goal(workspace: Workspace) -> None:
    workspace.searching.fact("a", GOAL)
    workspace.searching.fact("b", "Ada keeps it.")
    workspace.searching.fact("c", "She is on leave until May.")
    workspace.searching.fact("d", "Bo feeds ducks.")
    workspace.link("fact_a", "fact_b")
    workspace.link("fact_c", "fact_b")
    workspace.goal(priority=1.0 if workspace.searching.engine.embedder else 2.0)
    workspace.broadcast()
    done = workspace.broadcast()
    assert workspace.attended() == ["fact_a", "fact_b", "fact_c"]
    via = {each.id: each.via for each in done.round.outcome.chosen}
    assert via == {"fact_a": "fact_b", "fact_b": "fact_a", "fact_c": "fact_b"} | {"fact_a": None}


def test_competing_writes_nothing_and_a_broadcast_does_what_it_said(workspace: Workspace) -> None:
    workspace.searching.fact("upload", FIRST)
    workspace.searching.fact("heron", "Herons nest in the old mill by the river in May.")
    workspace.goal(priority=0.6 if workspace.searching.engine.embedder else 1.0)
    workspace.broadcast()
    workspace.bench.now += 1
    workspace.goal("Where do herons nest in May, and in which mill by the river?")
    before = workspace.mind
    competed = workspace.compete()
    again = workspace.compete()
    assert competed.outcome == again.outcome
    assert workspace.mind == before
    winners, leaving = [each.id for each in competed.admitted], competed.evicted
    assert winners
    assert leaving
    workspace.broadcast()
    after = set(workspace.attended())
    assert after - {place.id for place in before.workspace} == set(winners)
    assert {place.id for place in before.workspace} - after == set(leaving)


def test_other_wordings_join_a_winner(workspace: Workspace) -> None:
    workspace.searching.fact("one", FIRST)
    workspace.searching.fact("two", FIRST.upper())
    workspace.goal()
    done = workspace.broadcast()
    assert workspace.attended() == ["fact_two"]  # the newer one
    assert [memory.item.id for memory in done.round.also("fact_two")] == ["fact_one"]
    assert reasons(done.round)["fact_one"] == "other_wording"


def test_contradictions_are_shown_side_by_side(workspace: Workspace) -> None:
    workspace.searching.fact("slow", "The upload retry of Kestrel waits 60 seconds.")
    workspace.searching.fact("fast", "The upload retry of Kestrel waits 30 seconds.")
    workspace.goal("upload retry Kestrel waits seconds")
    done = workspace.broadcast()
    assert set(workspace.attended()) == {"fact_slow", "fact_fast"}
    assert "Memories 1 and 2 contradict each other." in done.text.text


@pytest.mark.parametrize(
    "hidden",
    [
        {"expires_at": 500},
        {"valid_until": 500},
        {"status": "superseded"},
        {"verification": "invalidated"},
    ],
)
def test_rows_that_may_not_be_shown_leave_with_the_next_broadcast(
    workspace: Workspace, hidden: dict[str, Any]
) -> None:
    workspace.searching.fact("fit", FIRST)
    workspace.searching.fact("other", "The upload of Kestrel is slow in the night.")
    workspace.goal()
    workspace.change(lambda mind: mind.admitted(("fact_fit", "fact_other"), 1))
    workspace.broadcast()
    assert "fact_fit" in workspace.attended()
    with workspace.bench.store.changing(MAIN) as work:
        work.change(FACT, "fact_fit", hidden)
        work.commit(Message("change", "hide a fact"))
    done = workspace.broadcast()
    assert "fact_fit" not in workspace.attended()
    assert "it waits" not in done.text.text
    assert "fact_fit" not in done.round.found.memories


def test_an_evicted_memory_stays_out_while_the_goal_is_active(workspace: Workspace) -> None:
    workspace.searching.fact("fit", FIRST)
    workspace.goal()
    workspace.broadcast()
    assert evict(workspace.bench.repo, workspace.seat, "fact_fit", 1) == "workspace"
    assert workspace.attended() == []
    workspace.broadcast()
    assert workspace.attended() == []
    workspace.bench.now += 1
    workspace.goal(f"{GOAL} Again: {FIRST}")
    workspace.broadcast()
    assert workspace.attended() == ["fact_fit"]
    workspace.change(lambda mind: replace(mind, workspace=()).admitted(("fact_fit",), 1))
    assert evict(workspace.bench.repo, workspace.seat, "fact_fit", 1) == "buffer"
    with pytest.raises(NotFound):
        evict(workspace.bench.repo, workspace.seat, "fact_fit", 1)


def test_pinned_facts_enter_first(workspace: Workspace) -> None:
    workspace.searching.fact("fit", GOAL)
    workspace.searching.fact("pinned", "Never push to main.", category="pinned")
    workspace.goal()
    workspace.broadcast(slots=2)
    assert workspace.attended() == ["fact_pinned", "fact_fit"]


def test_without_a_goal_the_score_of_what_waits_decides(workspace: Workspace) -> None:
    workspace.searching.fact("a", "A note.")
    workspace.change(lambda mind: mind.admitted(("fact_a",), 1))
    done = workspace.broadcast()
    assert workspace.attended() == ["fact_a"]
    assert "Goal:" not in done.text.text
    assert done.round.found.mode is None
    workspace.searching.fact("old", "Boats lie in the harbour.")
    workspace.bench.now += 10**12
    workspace.change(lambda mind: mind.admitted(("fact_old",), 1))
    assert reasons(workspace.compete())["fact_old"] == "below_ignition"


def test_only_the_spaces_of_the_caller_are_shown(workspace: Workspace) -> None:
    workspace.searching.fact("mine", FIRST, space="project:a")
    workspace.searching.fact(
        "theirs",
        "On Monday Bo measured how slow each retry of an upload by Kestrel is.",
        space="project:b",
    )
    workspace.goal()
    workspace.broadcast()
    assert set(workspace.attended()) == {"fact_mine", "fact_theirs"}
    done = workspace.broadcast(spaces=("project:a",))
    assert set(workspace.attended()) == {"fact_mine", "fact_theirs"}
    assert done.round.hidden == ("fact_theirs",)
    assert done.text.shown == ("fact_mine",)
    assert "+1 not shown" in done.text.text


def test_a_question_counts_beside_the_goal(workspace: Workspace) -> None:
    workspace.searching.fact("fit", FIRST)
    assert workspace.compete().outcome.standings == ()
    assert workspace.compete(question=GOAL).outcome.chosen[0].id == "fact_fit"
    mind = Mind().with_goal(Goal("g", "One.", ("two", "three")))
    assert goal_text(mind, "Four?") == "One.\ntwo three\nFour?"
    assert goal_text(Mind()) == ""


def test_priority_raises_relevance_to_at_most_one(workspace: Workspace) -> None:
    workspace.searching.fact("fit", GOAL)
    relevance = []
    for priority in (0.5, 1.0, 2.0):
        workspace.bench.now += 1
        workspace.goal(priority=priority)
        mind = workspace.mind
        found = gather(
            workspace.bench.repo,
            workspace.searching.engine,
            workspace.seat,
            mind,
            workspace.asked(),
        )
        relevance.append(found.relevance["fact_fit"])
    half, one, two = relevance
    assert half == one * 0.5
    assert two == min(1.0, one * 2)
