"""The memories that may compete for a workspace: where they come from, and how they are related.

They are what waits and what is attended to, what a search for the goal finds, pinned facts, rows
linked with these, and in a task the newest rows of its agents. Words are read here, through the
mask, and only of rows that may be shown now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from day1.model.prime.choosing import PINNED
from day1.model.records.task import TaskAgent
from day1.model.rows.change import NOTHING_PENDING, Query, ReadState
from day1.model.rows.kind import FACT, RELATION, kind_of
from day1.model.workspace.item import Item
from day1.model.workspace.mind import Mind
from day1.services.repository.repository import Repository
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search
from day1.services.tasks.sessions import WrittenBranch, ref_of
from day1.services.tasks.task_rows import newest_rows, task_branches_written
from day1.services.tasks.task_search import search_task
from day1.services.workspace.desks import Seat
from day1.services.workspace.items import KINDS, present_items, visible_items
from day1.services.workspace.likeness import Likeness, goal_vector

_FOUND: Final = 30
"""Rows that the search for the goal finds, at most."""
_FOUND_IN_TASK: Final = 60
"""The same in a task, whose agents say one thing in several wordings."""
_LINKED: Final = 20
"""Further rows that are linked with candidates, at most."""
_STEPS: Final = 2
"""Links between a candidate and a row that becomes one by them, at most."""
_NEWEST: Final = 200
"""The newest rows of a task that are considered, of each kind."""
_PINNED: Final = 20
"""Pinned facts that are considered: the newest."""
_RELATIONS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What a workspace is filled for."""

    now: int
    """Microseconds UTC."""
    spaces: tuple[str | None, ...] = ()
    """The spaces whose rows may be shown; empty: all."""
    question: str | None = None
    """A question beside the goal."""
    answer_ids: tuple[str, ...] = ()
    """The rows that have an exact answer to the question, if that is known."""
    is_limited: bool = False
    """Whether the caller sees only some branches: a row it does not find may be on another."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A row that competes."""

    item: Item
    branch: str
    """The name of a branch that has it: its author's, else the first."""
    on: frozenset[str]
    """Ids of the branches that have it."""


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates, and how they are related."""

    memories: Mapping[str, Memory]
    relevance: Mapping[str, float]
    """By id, 0 to 1; 0 for those that are missing."""
    linked: Mapping[str, frozenset[str]]
    alike: Mapping[str, frozenset[str]]
    """By id, the candidates that say nearly the same, or the contrary."""
    likeness: Callable[[str], Mapping[str, float]]
    """Returns how like a candidate the others are, 0 to 1."""
    without_vector: int
    """The number of candidates whose texts have no vector yet."""
    agents: Mapping[str, str]
    """The agents of the task, and the id of the branch of each."""
    elsewhere: frozenset[str]
    """Ids of rows that are in other spaces than the caller's."""
    state: ReadState
    """The state of the seat's branch that was read."""
    notes: tuple[str, ...] = ()
    mode: str | None = None
    """How the search for the goal worked; None without a goal."""


def goal_text(mind: Mind, question: str | None = None) -> str:
    """Return what is searched for: the goal, its keywords and the question; "" without any."""
    goal = mind.goal
    parts = [] if goal is None else [goal.description, " ".join(goal.keywords)]
    return "\n".join(part for part in (*parts, question or "") if part)


def gather(repo: Repository, engine: SearchEngine, seat: Seat, mind: Mind, asked: Asked) -> Found:
    """Find the candidates for a workspace, and compare them.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
    """
    reader = _Reader(repo, engine, seat, asked)
    goal = goal_text(mind, asked.question)
    vector = goal_vector(engine, goal)
    scores, answers = reader.searched(goal, vector)
    ids = dict.fromkeys((*(place.id for place in (*mind.workspace, *mind.buffer)), *scores))
    ids |= dict.fromkeys((*reader.newest(), *reader.pinned()))
    linked = reader.links(ids)
    memories = reader.shown(ids)
    near = Likeness(engine, {i: memory.item for i, memory in memories.items()})
    scores |= near.scores(goal, vector, [i for i in memories if i not in scores])
    priority = 1.0 if mind.goal is None else mind.goal.priority
    return Found(
        memories=memories,
        relevance={i: min(1.0, scores.get(i, 0.0) * priority) for i in memories},
        linked={i: frozenset(linked.get(i, ())) & memories.keys() for i in memories},
        alike=near.alike(),
        likeness=near.of,
        without_vector=near.without_vector,
        agents=reader.agents(),
        elsewhere=frozenset(reader.elsewhere),
        state=reader.state,
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        mode=answers[0].mode_used if answers else None,
    )


def memories_of(
    repo: Repository, engine: SearchEngine, seat: Seat, ids: Iterable[str], asked: Asked
) -> dict[str, Memory]:
    """Read those of these rows that may be shown now, by id, in the order of the ids.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
    """
    return _Reader(repo, engine, seat, asked).shown(ids)


class _Reader:
    """Reads the branches of a seat: its own, or all of its task."""

    def __init__(self, repo: Repository, engine: SearchEngine, seat: Seat, asked: Asked) -> None:
        self._repo, self._engine, self._seat, self._asked = repo, engine, seat, asked
        own = WrittenBranch(seat.branch, ref_of(seat.branch))
        self._places = [own]
        if seat.task_id is not None:
            written = task_branches_written(repo, seat.task_id)
            self._places += [place for place in written if place.branch.id != seat.branch.id]
        self.state = ReadState("", NOTHING_PENDING)
        self.elsewhere: set[str] = set()

    def searched(self, goal: str, vector: object) -> tuple[dict[str, float], list[SearchAnswer]]:
        """Return the scores of the rows that a search for the goal finds, and its answers."""
        if not goal:
            return {}, []
        request = SearchRequest(
            query=goal,
            kinds=tuple(kind.table for kind in KINDS),
            limit=_FOUND if self._seat.task_id is None else _FOUND_IN_TASK,
            spaces=self._asked.spaces,
            vector=vector,  # type: ignore[arg-type]
        )
        if self._seat.task_id is None:
            place = self._places[0]
            answer = search(self._engine, place.ref, place.branch.id, request)
            return {str(hit.row["id"]): hit.score for hit in answer.hits}, [answer]
        team = search_task(self._repo, self._engine, self._seat.task_id, request)
        scores = {str(each.hit.row["id"]): each.hit.score for each in team.hits}
        return scores, [answer for _, answer in team.asked]

    def newest(self) -> list[str]:
        """Return the ids of the newest rows of the task; none outside of a task."""
        if self._seat.task_id is None:
            return []
        query = Query(equal={"task_id": self._seat.task_id}, limit=_NEWEST)
        rows = [newest_rows(self._repo, self._places, kind, (), query).rows for kind in KINDS]
        return [str(row["id"]) for kind_rows in rows for row in kind_rows]

    def pinned(self) -> list[str]:
        """Return the ids of the newest pinned facts of the caller's branch."""
        newest = Query(
            equal={"category": PINNED}, order="created_at", descending=True, limit=_PINNED
        )
        query = present_items(self._asked.spaces, self._asked.now, newest)[FACT.table]
        with self._repo.store.reading(self._places[0].ref) as reading:
            return [str(row_id) for (row_id,) in reading.scan(FACT, ("id",), query)]

    def links(self, ids: dict[str, None]) -> dict[str, set[str]]:
        """Return with which rows each candidate is linked; add linked rows to the candidates."""
        linked: dict[str, set[str]] = {}
        nearest, added = list(ids), 0
        for _ in range(_STEPS):
            fresh: dict[str, None] = {}
            for one, other in self._relations(nearest):
                linked.setdefault(one, set()).add(other)
                linked.setdefault(other, set()).add(one)
                fresh |= dict.fromkeys(each for each in (one, other) if each not in ids)
            nearest = list(fresh)[: _LINKED - added]
            added += len(nearest)
            ids |= dict.fromkeys(nearest)
            if not nearest:
                break
        return linked

    def _relations(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """List the links from or to rows on all branches, those of the first rows first."""
        pairs: set[tuple[str, str]] = set()
        for place in self._places:
            with self._repo.store.reading(place.ref) as reading:
                for side in ("source_entity", "target_entity"):
                    query = Query(among={side: ids}, present_at=self._asked.now, limit=_RELATIONS)
                    ends = reading.scan(RELATION, ("source_entity", "target_entity"), query)
                    pairs.update((str(one), str(other)) for one, other in ends)
        rank_of = {row_id: number for number, row_id in enumerate(ids)}
        last = len(rank_of)

        def first(pair: tuple[str, str]) -> tuple[int, tuple[str, str]]:
            return min(rank_of.get(end, last) for end in pair), pair

        rows = (pair for pair in pairs if all(kind_of(end) in KINDS for end in pair))
        return sorted(rows, key=first)

    def shown(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Read the rows that may be shown now, by id, in the order of the ids."""
        wanted, spaces = list(ids), self._asked.spaces
        memories: dict[str, Memory] = {}
        for place in self._places:
            with self._repo.store.reading(place.ref) as reading:
                if place is self._places[0]:
                    self.state = ReadState(reading.tip, reading.pending)
                items = visible_items(reading, wanted, (), self._asked.now)
            for row_id, item in items.items():
                if spaces and item.row["space"] not in spaces:
                    self.elsewhere.add(row_id)
                else:
                    memories[row_id] = _with(memories.get(row_id), item, place)
        return {row_id: memories[row_id] for row_id in wanted if row_id in memories}

    def agents(self) -> dict[str, str]:
        """Return the agents of the task, and the id of the branch of each."""
        if self._seat.task_id is None:
            return {}
        agents = self._repo.ledger.records(TaskAgent, task_id=self._seat.task_id)
        return {agent.agent_id: agent.branch_id for agent in agents}


def _with(known: Memory | None, item: Item, place: WrittenBranch) -> Memory:
    """Join a branch's copy of a row to the known one; the copy on its author's branch is shown."""
    copy = Memory(item, place.branch.name, frozenset({place.branch.id}))
    if known is None:
        return copy
    agent = item.row["agent_id"]
    shown = copy if agent is not None and place.branch.agent_id == agent else known
    return replace(shown, on=known.on | copy.on)
