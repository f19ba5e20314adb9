"""The cycle of a workspace: the competition, the broadcast, and evictions by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from day1.errors import NotFound
from day1.model.lessons.rating import Votes
from day1.model.prime.choosing import PINNED
from day1.model.rows.kind import text_of
from day1.model.search.grouping import at_odds
from day1.model.workspace.activation import frequency, recency
from day1.model.workspace.broadcast import Line, Text, after_broadcast, told_to, write_text
from day1.model.workspace.bus import BusResult, applied
from day1.model.workspace.competition import (
    Contender,
    Neighbours,
    Outcome,
    Standing,
    compete,
)
from day1.model.workspace.mind import Mind
from day1.model.workspace.scoring import ALONE, SHARED, Rules
from day1.services.repository.repository import Repository
from day1.services.search.search_engine import SearchEngine
from day1.services.workspace.bus import SUBSCRIBERS, Scene, Subscriber, run_bus
from day1.services.workspace.candidates import Asked, Found, Memory, gather
from day1.services.workspace.desks import Seat, change_mind, mind_of

_NO_GOAL: Final = ""
"""The goal id in `Mind.evicted` for memories that were evicted while there was no goal."""
_VERDICTS: Final = {"verified": 1.0}
"""The stake of a fact by its verification; other facts have the usefulness of their votes."""


@dataclass(frozen=True, slots=True)
class Round:
    """A competition for the places of a workspace: its candidates, rules and outcome."""

    mind: Mind
    """The mind before the competition."""
    found: Found
    outcome: Outcome
    rules: Rules
    hidden: tuple[str, ...]
    """Ids in the workspace that this caller may not see."""

    @property
    def admitted(self) -> list[Standing]:
        """The chosen memories that are new in the workspace."""
        return [standing for standing in self.outcome.chosen if standing.reason == "admitted"]

    @property
    def evicted(self) -> list[str]:
        """Ids of the memories that leave the workspace, in its order."""
        staying_ids = {standing.id for standing in self.outcome.chosen} | {*self.hidden}
        return [place.id for place in self.mind.workspace if place.id not in staying_ids]

    def also(self, row_id: str) -> list[Memory]:
        """Return the other wordings that joined a chosen memory."""
        joined_ids = sorted(
            joined_id.id for joined_id in self.outcome.others if joined_id.joins == row_id
        )
        return [self.found.memories[joined_id] for joined_id in joined_ids]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A broadcast: the round, the mind after it, and the text for its reader."""

    round: Round
    mind: Mind
    text: Text
    known: frozenset[str]
    """Ids of the chosen memories that the reader knew before."""
    bus: BusResult
    """The decisions on what the subscribers of the bus proposed after the broadcast."""


def _same(mind: Mind) -> Mind:
    return mind


@dataclass(frozen=True, slots=True)
class Options:
    """Optional settings of a broadcast."""

    rules: Rules | None = None
    """The weights and limits; None: those of `rules_of`."""
    subscribers: Mapping[str, Subscriber] = field(default_factory=lambda: SUBSCRIBERS)
    """The functions that read the broadcast, by name."""
    before: Callable[[Mind], Mind] = _same
    """Changes the mind before the competition, in the same write."""
    after: Callable[[Mind], Mind] = _same
    """Changes the mind that has the result of the bus, in the same write."""


def rules_of(seat: Seat, slots: int | None = None) -> Rules:
    """Return the rules of a workspace: a task's, or a client's own."""
    rules = Rules(ALONE if seat.task_id is None else SHARED)
    return rules if slots is None else replace(rules, slots=slots)


def compete_now(
    repo: Repository, engine: SearchEngine, seat: Seat, asked: Asked, rules: Rules
) -> Round:
    """Let the candidates compete, without writing anything.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
    """
    mind = mind_of(repo, seat)
    candidates = gather(repo, engine, seat, mind, asked)
    return _round(candidates, mind, asked, rules, engine.votes())


@dataclass(frozen=True, slots=True)
class _Draft:
    """A broadcast before it is written to the desk."""

    round: Round
    text: Text
    mind: Mind
    """The mind after the broadcast."""
    bus: BusResult


def broadcast_now(
    repo: Repository, engine: SearchEngine, seat: Seat, asked: Asked, options: Options | None = None
) -> Broadcast:
    """Let the candidates compete, write the text for the caller, and let the bus read it.

    The winners and the proposals of the bus are written to the desk in one write.

    Args:
        repo: the repository.
        engine: the search engine that finds candidates.
        seat: the seat whose mind is changed.
        asked: the instant, the spaces and the question of the call.
        options: settings that differ from the usual ones.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
        StoreBusy: others change the same workspace all the time.
    """
    options = options or Options()
    rules = options.rules or rules_of(seat)
    drafts: list[_Draft] = []

    def draft(mind: Mind) -> _Draft:
        candidates = gather(repo, engine, seat, mind, asked)
        round_ = _round(candidates, mind, asked, rules, engine.votes())
        broadcast_text = _text(round_, seat)
        ids_and_scores = [(standing.id, standing.score) for standing in round_.outcome.chosen]
        mind_afterwards = after_broadcast(mind, ids_and_scores, round_.hidden, asked.now)
        if seat.task_id is not None and seat.agent is not None:
            mind_afterwards = told_to(mind_afterwards, seat.agent, broadcast_text.shown)
        bus_result = run_bus(
            _scene(repo, seat, round_, mind_afterwards, asked), options.subscribers
        )
        return _Draft(round_, broadcast_text, mind_afterwards, bus_result)

    def change(mind: Mind) -> Mind:
        mind = options.before(mind)
        if not drafts or drafts[-1].round.mind != mind:
            drafts.append(draft(mind))
        return options.after(applied(drafts[-1].mind, drafts[-1].bus, asked.now))

    mind_afterwards = change_mind(repo, seat, change, asked.now, takes_long=True)
    last_draft = drafts[-1]
    chosen_ids = [standing.id for standing in last_draft.round.outcome.chosen]
    known_ids = frozenset(
        row_id for row_id in chosen_ids if _knows(last_draft.round, seat.agent, row_id)
    )
    return Broadcast(last_draft.round, mind_afterwards, last_draft.text, known_ids, last_draft.bus)


def evict(repo: Repository, seat: Seat, row_id: str, now: int) -> str:
    """Take a memory out of the workspace and the buffer while the goal is active.

    Returns:
        Where the memory was: `workspace` or `buffer`.

    Raises:
        NotFound: it is in neither.
        StoreBusy: others change the same workspace all the time.
    """
    place_name = ""

    def change(mind: Mind) -> Mind:
        nonlocal place_name
        other_places = tuple(place for place in mind.workspace if place.id != row_id)
        other_waiting = tuple(place for place in mind.buffer if place.id != row_id)
        if len(other_places) + len(other_waiting) == len(mind.workspace) + len(mind.buffer):
            raise NotFound("This memory is neither in the workspace nor in the buffer.", id=row_id)
        place_name = "workspace" if len(other_places) < len(mind.workspace) else "buffer"
        goal_id = _goal_id(mind)
        evicted_goal_by_id = {
            evicted_id: goal for evicted_id, goal in mind.evicted.items() if goal == goal_id
        }
        evicted_goal_by_id[row_id] = goal_id
        return replace(
            mind, workspace=other_places, buffer=other_waiting, evicted=evicted_goal_by_id
        )

    change_mind(repo, seat, change, now)
    return place_name


def _goal_id(mind: Mind) -> str:
    return _NO_GOAL if mind.goal is None else mind.goal.id


def _round(found: Found, mind: Mind, asked: Asked, rules: Rules, votes: Votes) -> Round:
    workspace_ids = [place.id for place in mind.workspace]
    hidden_ids = tuple(
        row_id
        for row_id in workspace_ids
        if row_id not in found.memories and (asked.is_limited or row_id in found.elsewhere)
    )
    evicted_ids = {
        evicted_id for evicted_id, goal_id in mind.evicted.items() if goal_id == _goal_id(mind)
    }
    contenders = [
        _contender(found, mind, memory, asked.now, votes)
        for row_id, memory in found.memories.items()
        if row_id not in evicted_ids
    ]
    neighbours = Neighbours(found.linked, found.alike, found.likeness)
    free_rules = replace(rules, slots=max(0, rules.slots - len(hidden_ids)))
    has_goal_or_question = mind.goal is not None or asked.question is not None
    return Round(
        mind,
        found,
        compete(contenders, neighbours, free_rules, goal=has_goal_or_question),
        free_rules,
        hidden_ids,
    )


def _contender(found: Found, mind: Mind, memory: Memory, now: int, votes: Votes) -> Contender:
    """Build a memory's contender: the parts of its score that do not depend on other choices."""
    item, row_id = memory.item, memory.item.id
    question_count, last_found_at = mind.uses.get(row_id, (0, 0))
    wordings = _wordings(found, memory)
    verdict_stake = _VERDICTS.get(str(item.row.get("verification")), 0.0)
    usefulness = votes[row_id].usefulness(frozenset()) if row_id in votes else 0.0
    return Contender(
        id=row_id,
        text=item.text,
        created_at=item.created_at,
        relevance=found.relevance.get(row_id, 0.0),
        recency=recency(max(item.created_at, last_found_at), now),
        frequency=frequency(question_count),
        need=float(bool(found.agents.keys() - _agents_with(found, mind, wordings))),
        stake=max(verdict_stake, usefulness, _agreement(found, wordings)),
        is_held=any(place.id == row_id for place in mind.workspace),
        is_pinned=item.row.get("category") == PINNED,
    )


def _wordings(found: Found, memory: Memory) -> list[Memory]:
    """Return a memory and its other wordings in a task; without a task, only the memory."""
    similar_ids = found.alike.get(memory.item.id) if found.agents else None
    if not similar_ids:
        return [memory]
    similar_memories = (found.memories[row_id] for row_id in sorted(similar_ids))
    return [
        memory,
        *(
            similar_memory
            for similar_memory in similar_memories
            if not at_odds(memory.item.text, similar_memory.item.text)
        ),
    ]


def _agents_with(found: Found, mind: Mind, wordings: Iterable[Memory]) -> set[str]:
    """Return the agents that wrote one of the wordings, have it on their branch or were told it."""
    agents_with_wording: set[str] = set()
    for memory in wordings:
        agents_with_wording |= {text_of(memory.item.row["agent_id"]) or ""}
        agents_with_wording |= {
            agent for agent, branch_id in found.agents.items() if branch_id in memory.on
        }
        agents_with_wording |= {agent for agent, ids in mind.told.items() if memory.item.id in ids}
    return agents_with_wording


def _agreement(found: Found, wordings: Iterable[Memory]) -> float:
    """Return the share, 0 to 1, of the task's other agents that say the same as a memory."""
    author_ids = {memory.item.row["agent_id"] for memory in wordings}
    other_author_count = len(author_ids & found.agents.keys()) - 1
    return max(0, other_author_count) / max(1, len(found.agents) - 1)


def _knows(round_: Round, agent: str | None, row_id: str) -> bool:
    candidates = round_.found
    wordings = _wordings(candidates, candidates.memories[row_id])
    return agent is not None and agent in _agents_with(candidates, round_.mind, wordings)


def _scene(repo: Repository, seat: Seat, round_: Round, mind: Mind, asked: Asked) -> Scene:
    """Build the scene of a broadcast for the subscribers of the bus."""
    candidates, chosen = round_.found, round_.outcome.chosen
    return Scene(
        repo=repo,
        seat=seat,
        mind=mind,
        chosen={standing.id: candidates.memories[standing.id].item for standing in chosen},
        candidates=[memory.item.text for memory in candidates.memories.values()],
        contradicts={standing.id: standing.contradicts for standing in chosen},
        linked={standing.id: candidates.linked.get(standing.id, ()) for standing in chosen},
        now=asked.now,
        question=asked.question,
        answer_ids=asked.answer_ids,
    )


def _text(round_: Round, seat: Seat) -> Text:
    attributes = {"from": seat.branch.name}
    if seat.task_id is not None:
        attributes["task"] = seat.task_id
    goal = round_.mind.goal
    return write_text(
        list(_lines(round_, seat)),
        None if goal is None else goal.description,
        attributes,
        round_.rules.tokens,
        len(round_.hidden),
    )


def _lines(round_: Round, seat: Seat) -> Iterable[Line]:
    for standing in round_.outcome.chosen:
        memory = round_.found.memories[standing.id]
        agent_id = text_of(memory.item.row["agent_id"])
        other_agents = {text_of(other.item.row["agent_id"]) for other in round_.also(standing.id)}
        is_in_task = seat.task_id is not None
        yield Line(
            id=standing.id,
            text=memory.item.text,
            memory_type=memory.item.memory_type,
            score=standing.score,
            agent=agent_id,
            also=tuple(sorted(name for name in other_agents if name and name != agent_id)),
            is_merged=seat.home in memory.on if is_in_task else None,
            contradicts=standing.contradicts,
            is_known=is_in_task and _knows(round_, seat.agent, standing.id),
        )
