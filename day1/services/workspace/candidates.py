"""The memories that may compete for a workspace: where they come from, and how they are related.

They are the rows in the buffer and the workspace, the rows that a search for the goal finds, pinned
facts, rows linked with these, and in a task the newest rows of its agents. If these are all rows of
the task, no search is needed: each row is scored for the goal. Texts are read here, through the
mask, and only of rows that may be shown now.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from day1.errors import EmbedderUnavailable
from day1.model.records.task import TaskAgent
from day1.model.rows.change import NO_STATE, ReadState
from day1.model.rows.kind import Kind, Row, kind_of
from day1.model.search.wording import keyword_terms
from day1.model.workspace.item import Item
from day1.model.workspace.known_rows import KnownRows, Link
from day1.model.workspace.mind import Mind
from day1.ports.index import EmbedFirst, IndexBehind, IndexLost
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository
from day1.services.rows.spaces import empty_spaces
from day1.services.search.indexing import catch_up, lag_note
from day1.services.search.request import SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import ReadHits, search
from day1.services.tasks.sessions import WrittenBranch, ref_of
from day1.services.tasks.task_rows import task_branches_written
from day1.services.tasks.task_search import search_branches
from day1.services.tasks.tasks import task_state
from day1.services.workspace.desks import Seat
from day1.services.workspace.items import KINDS
from day1.services.workspace.known_rows import NEWEST, known_rows, newest_rows, read_rows, seen_rows
from day1.services.workspace.likeness import Likeness, goal_vector
from day1.services.workspace.pinned import pinned_facts

if TYPE_CHECKING:
    from day1.model.search.ranking import Mode
    from day1.ports.index import TextId, Vector

log = logging.getLogger(__name__)

_FOUND: Final = 30
"""Maximum number of rows that the search for the goal finds."""
_FOUND_IN_TASK: Final = 60
"""Rows that the search finds in a task, at most; its agents say one thing in several wordings."""
_LINKED: Final = 20
"""Maximum number of further rows that are added because they are linked with candidates."""
_STEPS: Final = 2
"""Maximum number of links between a found candidate and a linked row that is added."""
_PINNED: Final = 20
"""Pinned facts that are considered: the newest."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The instant, the spaces and the question of a call that fills a workspace."""

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
    """A row that competes for a place, and the branches that have it."""

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
    """By id, 0 to 1; a missing id means 0."""
    linked: Mapping[str, frozenset[str]]
    alike: Mapping[str, frozenset[str]]
    """By id, the candidates that say nearly the same, or the contrary."""
    likeness: Callable[[str], Mapping[str, float]]
    """Returns the similarity of the others to a candidate, 0 to 1, by id."""
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
    """Return the text to search for: the goal, its keywords and the question; "" without any."""
    goal = mind.goal
    text_parts = [] if goal is None else [goal.description, " ".join(goal.keywords)]
    return "\n".join(part for part in (*text_parts, question or "") if part)


def gather(repo: Repository, engine: SearchEngine, seat: Seat, mind: Mind, asked: Asked) -> Found:
    """Find the candidates for a workspace, and compare them.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
    """
    reader = _Reader(repo, engine, seat, asked)
    query = goal_text(mind, asked.question)
    vector, problem = goal_vector(engine, query)
    if reader.indexes_whole_task(query):
        mode: Mode = "keyword" if vector is None else "hybrid"
        notes = [f"keyword only: {problem}"] if problem else []
        search_result = _Searched({}, [*notes, *reader.notes], mode)
    else:
        search_result = reader.searched(query, vector)
    score_by_id = search_result.scores
    attended_ids = (place.id for place in (*mind.workspace, *mind.buffer))
    memory_by_id, linked_ids = reader.read(dict.fromkeys((*attended_ids, *score_by_id)))
    empty_space_notes = [] if memory_by_id or not query else reader.empty_spaces()
    similarities = Likeness(engine, {i: memory.item for i, memory in memory_by_id.items()})
    score_by_id |= similarities.scores(
        query, vector, [i for i in memory_by_id if i not in score_by_id]
    )
    priority = 1.0 if mind.goal is None else mind.goal.priority
    return Found(
        memories=memory_by_id,
        relevance={i: min(1.0, score_by_id.get(i, 0.0) * priority) for i in memory_by_id},
        linked={i: frozenset(linked_ids.get(i, ())) & memory_by_id.keys() for i in memory_by_id},
        alike=similarities.alike(),
        likeness=similarities.of,
        without_vector=similarities.without_vector,
        agents=reader.agents(),
        elsewhere=frozenset(reader.elsewhere),
        state=reader.state,
        notes=tuple(dict.fromkeys((*search_result.notes, *empty_space_notes))),
        mode=search_result.mode,
    )


def memories_of(
    repo: Repository, engine: SearchEngine, seat: Seat, ids: Iterable[str], asked: Asked
) -> dict[str, Memory]:
    """Read the rows of some ids that may be shown now, by id, in the order of the ids.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
    """
    return _Reader(repo, engine, seat, asked).shown(ids)


class _Searched(NamedTuple):
    """The result of a search for the goal: scores by id of a row. Empty without a goal."""

    scores: dict[str, float]
    notes: Sequence[str] = ()
    mode: Mode | None = None


class _Reader:
    """Reads candidates on the branches of a seat: on its own branch, or on all of its task."""

    def __init__(self, repo: Repository, engine: SearchEngine, seat: Seat, asked: Asked) -> None:
        self._repo, self._engine, self._seat, self._asked = repo, engine, seat, asked
        own_branch = WrittenBranch(seat.branch, ref_of(seat.branch))
        self._places, self._written = [own_branch], [own_branch]
        if seat.task_id is not None:
            self._written = task_branches_written(repo, task_state(repo, seat.task_id))
            other_places = (place for place in self._written if place.branch.id != seat.branch.id)
            self._places += other_places
        self.state = NO_STATE
        self._known: dict[str, KnownRows] = {}
        """By id of a branch, what is known of it at the state that was read last."""
        self.notes: tuple[str, ...] = ()
        self.elsewhere: set[str] = set()

    def indexes_whole_task(self, goal: str) -> bool:
        """Index the rows of the task; return whether its newest rows are all of them.

        No search is needed then: all rows are candidates, and each is scored for the goal. False
        without a task or a goal, or if the index cannot be used.
        """
        task_id, engine = self._seat.task_id, self._engine
        if task_id is None or not goal:
            return False
        row_by_id_by_kind: dict[Kind, dict[str, Row]] = {kind: {} for kind in KINDS}
        try:
            for branch_ref in self._places:
                branch_id = branch_ref.branch.id if branch_ref.ref.branch is not None else None
                with self._repo.store.reading(branch_ref.ref) as reading:
                    is_indexed = catch_up(
                        reading, engine.history, engine.index, branch_id, engine.words_wait_s
                    )
                    cache = self._at(branch_ref, reading)
                    newest_by_kind = newest_rows(cache, reading, task_id, self._asked.now)
                if not is_indexed:
                    self.notes = (lag_note(engine.index),)
                for kind, kind_rows in newest_by_kind.items():
                    row_by_id_by_kind[kind] |= {str(row["id"]): row for row in kind_rows}
                    if len(kind_rows) == NEWEST or len(row_by_id_by_kind[kind]) > NEWEST:
                        return False
            self._embed(row_by_id_by_kind, goal)
        except (IndexBehind, IndexLost) as error:
            log.warning("the task is searched, since its index fails: %s", error.code)
            return False
        return True

    def _embed(self, rows: Mapping[Kind, Mapping[str, Row]], goal: str) -> None:
        """Embed texts that wait for vectors as a search does, those of these rows first."""
        engine = self._engine
        if engine.embedder is None or not engine.index.vectors.pending(engine.embedder):
            return
        text_ids: list[TextId] = []
        for kind, row_by_id in rows.items():
            text_hashes = [str(row["content_hash"]) for row in row_by_id.values()]
            text_ids += engine.index.words.known(kind, text_hashes).values()
        with suppress(EmbedderUnavailable):  # `goal_vector` says so
            engine.embed_waiting(engine.embedder, EmbedFirst(text_ids, keyword_terms(goal)))

    def searched(self, goal: str, vector: Vector | None) -> _Searched:
        """Return the scores of the rows that a search for the goal finds."""
        if not goal:
            return _Searched({})
        request = SearchRequest(
            query=goal,
            kinds=tuple(kind.table for kind in KINDS),
            limit=_FOUND if self._seat.task_id is None else _FOUND_IN_TASK,
            spaces=self._asked.spaces,
            vector=vector,
        )
        if self._seat.task_id is None:
            branch_ref = self._places[0]
            read_hits = self._reading_hits(branch_ref)
            answer = search(self._engine, branch_ref.ref, branch_ref.branch.id, request, read_hits)
            score_by_id = {str(hit.row["id"]): hit.score for hit in answer.hits}
            return _Searched(score_by_id, answer.notes, answer.mode_used)
        task_id = self._seat.task_id
        team = search_branches(self._engine, self._written, task_id, request, self._reading_hits)
        score_by_id = {str(team_hit.hit.row["id"]): team_hit.hit.score for team_hit in team.hits}
        notes = [note for _, answer in team.asked for note in answer.notes]
        return _Searched(score_by_id, notes, team.asked[0][1].mode_used)

    def _reading_hits(self, place: WrittenBranch) -> ReadHits:
        """Return how the rows of a branch's hits are read; known rows are not read again."""
        spaces, now = self._asked.spaces, self._asked.now

        def read(reading: Reading, _: object, ids: Iterable[str]) -> dict[str, Row]:
            item_by_id = read_rows(self._at(place, reading), reading, ids, now, linked=False).items
            row_by_id = {row_id: item.row for row_id, item in item_by_id.items()}
            return {i: row for i, row in row_by_id.items() if not spaces or row["space"] in spaces}

        return read

    def read(self, ids: Iterable[str]) -> tuple[dict[str, Memory], dict[str, set[str]]]:
        """Read candidates and the rows that are linked with these.

        The newest rows of a task and the pinned facts are candidates too.

        Returns:
            The memories that may be shown now, in the order in which they were found, and by id of
            a row the ids of the rows that it is linked with.
        """
        candidate_ids = self._with_newest_and_pinned(list(ids))
        memories: dict[str, Memory] = {}
        linked_ids: dict[str, set[str]] = {}
        nearest_ids: Sequence[str] = list(candidate_ids)
        remaining_links = _LINKED
        for step in range(_STEPS + 1):
            links = self._show(nearest_ids, memories, linked=step < _STEPS)
            new_ids: dict[str, None] = {}
            for first_id, second_id in _sorted_links(links, nearest_ids):
                linked_ids.setdefault(first_id, set()).add(second_id)
                linked_ids.setdefault(second_id, set()).add(first_id)
                new_ids |= dict.fromkeys(
                    row_id for row_id in (first_id, second_id) if row_id not in candidate_ids
                )
            nearest_ids = list(new_ids)[:remaining_links]
            if not nearest_ids:
                break
            remaining_links -= len(nearest_ids)
            candidate_ids |= dict.fromkeys(nearest_ids)
        return {
            row_id: memories[row_id] for row_id in candidate_ids if row_id in memories
        }, linked_ids

    def shown(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Read the rows that may be shown now, by id, in the order of the ids."""
        row_ids = list(ids)
        memories: dict[str, Memory] = {}
        self._show(row_ids, memories, linked=False)
        return {row_id: memories[row_id] for row_id in row_ids if row_id in memories}

    def _with_newest_and_pinned(self, ids: Sequence[str]) -> dict[str, None]:
        """Return ids with those of the task's newest rows and of pinned facts.

        Each branch is opened, unless its state was read in the search and all of this is known.
        """
        asked, task_id = self._asked, self._seat.task_id
        newest: dict[Kind, set[tuple[int, str]]] = {kind: set() for kind in KINDS}
        pinned: list[str] = []
        for branch_ref in self._places:
            cache = self._known.get(branch_ref.branch.id)
            rows = None if cache is None or task_id is None else cache.newest(task_id, asked.now)
            if rows is None or branch_ref is self._places[0]:
                with self._repo.store.reading(branch_ref.ref) as reading:
                    cache = self._at(branch_ref, reading)
                    if branch_ref is self._places[0]:
                        pinned = pinned_facts(self._repo, reading, asked.spaces, asked.now, _PINNED)
                    rows = newest_rows(cache, reading, task_id, asked.now) if task_id else {}
                    row_ids = (str(row["id"]) for of_kind in rows.values() for row in of_kind)
                    # What `_show` needs next is read in the same opening.
                    read_rows(cache, reading, (*ids, *pinned, *row_ids), asked.now, linked=True)
            for kind, of_kind in rows.items():
                newest[kind] |= {(int(row["created_at"] or 0), str(row["id"])) for row in of_kind}
        newest_ids = (i for of_kind in newest.values() for _, i in sorted(of_kind)[-NEWEST:])
        return dict.fromkeys((*ids, *newest_ids, *pinned))

    def _at(self, place: WrittenBranch, reading: Reading) -> KnownRows:
        """Look up what is known of a branch at the state of `reading`."""
        cache = self._known[place.branch.id] = known_rows(self._repo, place.branch.id, reading)
        if place is self._places[0]:
            self.state = cache.state
        return cache

    def _show(self, ids: Sequence[str], memories: dict[str, Memory], *, linked: bool) -> set[Link]:
        """Add the rows of all branches that may be shown now; returns their links if `linked`.

        A branch is opened only if something of it is not known.
        """
        spaces, now = self._asked.spaces, self._asked.now
        links: set[Link] = set()
        for place in self._places:
            cache = self._known.get(place.branch.id)
            found_rows = None if cache is None else seen_rows(cache, ids, now, linked=linked)
            if found_rows is None:
                with self._repo.store.reading(place.ref) as reading:
                    cache = self._at(place, reading)
                    found_rows = read_rows(cache, reading, ids, now, linked=linked)
            links |= found_rows.links
            for row_id, item in found_rows.items.items():
                if spaces and item.row["space"] not in spaces:
                    self.elsewhere.add(row_id)
                else:
                    memories[row_id] = _with(memories.get(row_id), item, place)
        return links

    def empty_spaces(self) -> list[str]:
        """Return notes on the spaces of the call, if the seat's branch has no rows in them."""
        with self._repo.store.reading(self._places[0].ref) as reading:
            return empty_spaces(reading, self._asked.spaces)

    def agents(self) -> dict[str, str]:
        """Return the agents of the task, and the id of the branch of each."""
        if self._seat.task_id is None:
            return {}
        task_agents = self._repo.ledger.records(TaskAgent, task_id=self._seat.task_id)
        return {agent.agent_id: agent.branch_id for agent in task_agents}


def _sorted_links(links: Iterable[Link], ids: Sequence[str]) -> list[Link]:
    """Sort the links between rows that may compete, those of the first ids first."""
    rank_by_id = {row_id: rank for rank, row_id in enumerate(ids)}
    last_rank = len(rank_by_id)

    def rank_of_link(link: Link) -> tuple[int, Link]:
        return min(rank_by_id.get(end, last_rank) for end in link), link

    return sorted(
        (link for link in links if all(kind_of(i) in KINDS for i in link)), key=rank_of_link
    )


def _with(earlier: Memory | None, item: Item, place: WrittenBranch) -> Memory:
    """Join a branch's copy of a row to an earlier one; the one on its author's branch is shown."""
    copy = Memory(item, place.branch.name, frozenset({place.branch.id}))
    if earlier is None:
        return copy
    agent_id = item.row["agent_id"]
    shown_copy = copy if agent_id is not None and place.branch.agent_id == agent_id else earlier
    return replace(shown_copy, on=earlier.on | copy.on)
