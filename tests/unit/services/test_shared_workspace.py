"""A task's workspace: what each agent lacks, who says it, and what nobody loses."""

from dataclasses import replace
from threading import Thread
from typing import Any

import pytest

from day1.errors import StoreBusy
from day1.model.branches.branch import MAIN
from day1.model.records.task import Task
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.workspace.mind import Goal, Mind
from day1.ports.index import IndexBehind, IndexLost
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.indexing import follow
from day1.services.search.search_engine import SWITCHED_OFF
from day1.services.tasks import tasks
from day1.services.tasks.task_search import search_branches
from day1.services.tasks.tasks import JoinRequest
from day1.services.workspace import candidates, known_rows
from day1.services.workspace.candidates import Asked
from day1.services.workspace.cycle import Broadcast, broadcast_now
from day1.services.workspace.desks import Seat, change_mind, mind_of
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture

TASK = "task_1"
GOAL = "Why is the upload retry of Kestrel slow?"


class Team:
    """A task of three agents."""

    def __init__(self, searching: Searching) -> None:
        self.searching, self.bench = searching, searching.bench
        task = Task(TASK, "mend", None, None, (), "", None, self.bench.now)
        self.home = tasks.create_task(self.bench.repo, task, self.bench.branch(), ())
        self.branch = {
            agent: tasks.join(self.bench.repo, JoinRequest(TASK, agent), self.bench.now)
            for agent in ("ada", "bo", "cyd")
        }

    def seat(self, agent: str) -> Seat:
        return Seat(self.branch[agent], self.home.id, f"task:{TASK}", TASK, agent)

    def fact(self, agent: str, name: str, text: str, branch: str | None = None) -> None:
        self.bench.now += 1
        with self.bench.store.adding(branch or self.branch[agent].name) as work:
            row = fact_row(f"fact_{name}", NewFact(text), Origin(agent, None, TASK), work.now)
            work.add(FACT, [row])

    def goal(self, text: str = GOAL) -> None:
        goal = Goal(f"goal_{self.bench.now}", text)
        change_mind(self.bench.repo, self.seat("ada"), lambda m: m.with_goal(goal), self.bench.now)

    def broadcast(self, agent: str, **asked: Any) -> Broadcast:
        self.bench.now += 1
        seat, engine = self.seat(agent), self.searching.engine
        return broadcast_now(self.bench.repo, engine, seat, Asked(self.bench.now, **asked))

    @property
    def mind(self) -> Mind:
        return mind_of(self.bench.repo, self.seat("ada"))


@pytest.fixture
def team(searching: Searching) -> Team:
    return Team(searching)


def test_agents_share_a_workspace_and_are_told_what_they_lack_first(team: Team) -> None:
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.fact("bo", "disk", "Kestrel keeps each upload on a slow disk, says the retry log.")
    team.goal()
    to_ada, to_bo, to_cyd = (team.broadcast(agent) for agent in ("ada", "bo", "cyd"))
    assert to_ada.text.shown == ("fact_disk", "fact_lock")
    assert to_bo.text.shown == ("fact_lock", "fact_disk")
    assert {*to_cyd.text.shown} == {"fact_disk", "fact_lock"}
    assert "|bo, not merged]" in to_ada.text.text
    assert to_ada.known == {"fact_lock"}
    assert to_cyd.known == set()
    again = team.broadcast("cyd")
    assert again.known == {"fact_disk", "fact_lock"}
    assert team.mind.told == {
        "ada": to_ada.text.shown,
        "bo": to_bo.text.shown,
        "cyd": to_cyd.text.shown,
    }
    assert team.mind.cycles == 4


def test_what_all_know_is_needed_by_nobody(team: Team) -> None:
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.goal()
    needs = []
    for agent in ("ada", "bo", "cyd", "ada"):
        done = team.broadcast(agent)
        needs.append(done.round.outcome.chosen[0].parts["need"])
    assert needs == [1, 1, 1, 0]


def test_another_wording_counts_as_known_and_as_agreement(team: Team) -> None:
    text = "The upload retry of Kestrel is slow: it waits for a lock."
    team.fact("ada", "one", text)
    team.fact("bo", "two", text.upper())
    team.fact("cyd", "merged", "Kestrel keeps each upload on a slow disk.", team.home.name)
    team.goal()
    done = team.broadcast("bo")
    chosen = {each.id: each for each in done.round.outcome.chosen}
    (winner,) = chosen.keys() & {"fact_one", "fact_two"}
    assert chosen[winner].parts["stake"] == 0.5
    assert chosen["fact_merged"].parts["stake"] == 0
    assert winner in done.known
    assert "also" in done.text.text
    assert "|cyd, merged]" in done.text.text


def test_contradictions_between_agents_stand_side_by_side(team: Team) -> None:
    team.fact("ada", "slow", "The upload retry of Kestrel waits 60 seconds.")
    team.fact("bo", "fast", "The upload retry of Kestrel waits 30 seconds.")
    team.goal("upload retry Kestrel waits seconds")
    done = team.broadcast("cyd")
    assert {*done.text.shown} == {"fact_slow", "fact_fast"}
    assert "Memories 1 and 2 contradict each other." in done.text.text
    assert [each.parts["stake"] for each in done.round.outcome.chosen] == [1, 1]


def test_what_a_limited_reader_may_not_see_keeps_its_place_and_is_counted(team: Team) -> None:
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.goal()
    team.broadcast("ada")
    change_mind(
        team.bench.repo,
        team.seat("ada"),
        lambda mind: replace(
            mind, workspace=(*mind.workspace, replace(mind.workspace[0], id="fact_hidden"))
        ),
        team.bench.now,
    )
    done = team.broadcast("bo", is_limited=True)
    assert [place.id for place in done.mind.workspace] == ["fact_lock", "fact_hidden"]
    assert "+1 not shown" in done.text.text
    assert done.round.rules.slots == 6
    whole = team.broadcast("bo")
    assert [place.id for place in whole.mind.workspace] == ["fact_lock"]
    assert "not shown" not in whole.text.text


def test_two_agents_swap_one_desk_200_times_and_lose_nothing(team: Team) -> None:
    """Each notes what it was told a hundred times, while the other does the same."""

    def tell(agent: str) -> None:
        for number in range(100):
            told = (f"{agent}_{number}",)

            def change(mind: Mind, told: tuple[str, ...] = told) -> Mind:
                return replace(mind, told={**mind.told, agent: (*mind.told.get(agent, ()), *told)})

            while True:
                try:
                    change_mind(team.bench.repo, team.seat(agent), change, 1)
                    break
                except StoreBusy:
                    continue

    threads = [Thread(target=tell, args=(agent,)) for agent in ("ada", "bo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = team.mind.told
    assert told == {a: tuple(f"{a}_{n}" for n in range(100)) for a in ("ada", "bo")}


def test_rows_of_other_branches_without_the_task_are_no_candidates(team: Team) -> None:
    with team.bench.store.adding(MAIN) as work:
        work.add(FACT, [fact_row("fact_main", NewFact(GOAL), Origin("eve"), work.now)])
    team.goal()
    assert team.broadcast("ada").round.outcome.standings == ()


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The searches of tasks that are made from now on."""
    made: list[Any] = []

    def counted(*given: Any) -> Any:
        made.append(given)
        return search_branches(*given)

    monkeypatch.setattr(candidates, "search_branches", counted)
    return made


def few_newest(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    for module in (candidates, known_rows):
        monkeypatch.setattr(module, "NEWEST", limit)


def test_a_task_whose_rows_are_all_candidates_is_indexed_and_not_searched(
    team: Team, searches: list[Any]
) -> None:
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.fact("bo", "menu", "Soup is served at noon.")
    team.goal()
    found = team.broadcast("cyd").round.found
    assert (searches, found.mode, found.notes) == ([], "hybrid", ())
    assert found.relevance["fact_lock"] > 0.3 > found.relevance["fact_menu"]
    assert found.without_vector == 0


def test_a_space_without_rows_is_said(team: Team) -> None:
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.goal()
    candidates = team.broadcast("ada", spaces=("project:none",)).round.found
    assert len(candidates.memories) == 0
    assert [note for note in candidates.notes if "project:none" in note]
    assert team.broadcast("ada").round.found.notes == ()


def test_the_texts_of_a_task_are_embedded_before_others(team: Team) -> None:
    for number in range(40):
        team.searching.fact(f"other{number}", f"Number {number} is of no task.")
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    for number in range(40, 80):
        team.searching.fact(f"other{number}", f"Number {number} is of no task.")
    engine = team.searching.engine
    follow(engine.store, engine.history, engine.index, MAIN, team.bench.branch().id)
    team.goal()
    assert team.broadcast("cyd").round.found.without_vector == 0
    assert engine.embedder is not None
    assert engine.index.vectors.pending(engine.embedder) > 0


def test_a_task_with_more_rows_than_are_candidates_is_searched(
    team: Team, searches: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_newest(monkeypatch, 2)
    team.goal()
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.fact("bo", "menu", "Soup is served at noon.")
    team.broadcast("cyd")
    assert searches == [], "two rows, each on a branch of its own"
    team.fact("cyd", "disk", "Kestrel keeps each upload on a slow disk.")
    team.broadcast("cyd")
    assert len(searches) == 1, "three rows on three branches"


def test_a_branch_that_may_have_more_rows_is_searched(
    team: Team, searches: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_newest(monkeypatch, 2)
    team.goal()
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.fact("ada", "menu", "Soup is served at noon.")
    team.broadcast("cyd")
    assert len(searches) == 1


@pytest.mark.parametrize("failure", [IndexLost("x"), IndexBehind("x", retryable=True)])
def test_a_task_is_searched_if_its_index_fails(
    team: Team, searches: list[Any], monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: Any) -> Any:
        raise failure

    monkeypatch.setattr(candidates, "catch_up", fail)
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.goal()
    assert team.broadcast("bo").round.found.relevance["fact_lock"] > 0.3
    assert len(searches) == 1


def test_a_workspace_says_what_its_index_and_its_model_lack(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "catch_up", lambda *_: False)
    team.searching.engine = replace(team.searching.engine, embedder=None)
    team.fact("ada", "lock", "The upload retry of Kestrel is slow: it waits for a lock.")
    team.goal()
    found = team.broadcast("bo").round.found
    assert found.mode == "keyword"
    assert found.notes == (
        f"keyword only: {SWITCHED_OFF}",
        "the index lags: what was written last may not be found",
    )
