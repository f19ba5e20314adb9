"""The cycle of a workspace: what competes, what is broadcast, and what is evicted by hand."""

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
"""The id in `Mind.evicted` for what was evicted while there was no goal."""
_VERDICTS: Final = {"verified": 1.0}
"""The stake of a fact by its verification; other facts have the usefulness of their votes."""


@dataclass(frozen=True, slots=True)
class Round:
    """A competition, and what it was about."""

    mind: Mind
    """The mind before it."""
    found: Found
    outcome: Outcome
    rules: Rules
    hidden: tuple[str, ...]
    """Ids in the workspace that this caller may not see."""

    @property
    def admitted(self) -> list[Standing]:
        """Those who are new in the workspace."""
        return [standing for standing in self.outcome.chosen if standing.reason == "admitted"]

    @property
    def evicted(self) -> list[str]:
        """Ids that leave the workspace, in its order."""
        stays = {standing.id for standing in self.outcome.chosen} | {*self.hidden}
        return [place.id for place in self.mind.workspace if place.id not in stays]

    def also(self, row_id: str) -> list[Memory]:
        """Return the other wordings that joined a chosen memory."""
        joined = sorted(each.id for each in self.outcome.others if each.joins == row_id)
        return [self.found.memories[each] for each in joined]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A broadcast: the round, the mind after it, and the text for its reader."""

    round: Round
    mind: Mind
    text: Text
    known: frozenset[str]
    """Ids of the chosen memories that the reader knew before."""
    bus: BusResult
    """What the subscribers of the bus proposed after it."""


def _same(mind: Mind) -> Mind:
    return mind


@dataclass(frozen=True, slots=True)
class Options:
    """How a broadcast differs from the usual one."""

    rules: Rules | None = None
    """None: those of `rules_of`."""
    subscribers: Mapping[str, Subscriber] = field(default_factory=lambda: SUBSCRIBERS)
    """Who reads the broadcast."""
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
    found = gather(repo, engine, seat, mind, asked)
    return _round(found, mind, asked, rules, engine.votes())


@dataclass(frozen=True, slots=True)
class _Told:
    """A round, its text for the caller, and what the bus said to it."""

    round: Round
    text: Text
    mind: Mind
    """The mind after the broadcast."""
    bus: BusResult


def broadcast_now(
    repo: Repository, engine: SearchEngine, seat: Seat, asked: Asked, options: Options | None = None
) -> Broadcast:
    """Let the candidates compete, write the text for the caller, and let the bus read it.

    Who won and what the bus proposed is written to the desk in one write.

    Args:
        repo: the repository.
        engine: finds what competes.
        seat: whose mind.
        asked: what the workspace is filled for.
        options: how it differs from the usual broadcast.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
        StoreBusy: others change the same workspace all the time.
    """
    options = options or Options()
    rules = options.rules or rules_of(seat)
    told: list[_Told] = []

    def tell(mind: Mind) -> _Told:
        found = gather(repo, engine, seat, mind, asked)
        round_ = _round(found, mind, asked, rules, engine.votes())
        text = _text(round_, seat)
        chosen = [(standing.id, standing.score) for standing in round_.outcome.chosen]
        after = after_broadcast(mind, chosen, round_.hidden, asked.now)
        if seat.task_id is not None and seat.agent is not None:
            after = told_to(after, seat.agent, text.shown)
        bus = run_bus(_scene(repo, seat, round_, after, asked), options.subscribers)
        return _Told(round_, text, after, bus)

    def change(mind: Mind) -> Mind:
        mind = options.before(mind)
        if not told or told[-1].round.mind != mind:
            told.append(tell(mind))
        return options.after(applied(told[-1].mind, told[-1].bus, asked.now))

    after = change_mind(repo, seat, change, asked.now)
    last = told[-1]
    chosen_ids = [standing.id for standing in last.round.outcome.chosen]
    known = frozenset(i for i in chosen_ids if _knows(last.round, seat.agent, i))
    return Broadcast(last.round, after, last.text, known, last.bus)


def evict(repo: Repository, seat: Seat, row_id: str, now: int) -> str:
    """Take a memory out of the workspace and the buffer, for as long as the goal is active.

    Returns:
        Where it was: `workspace` or `buffer`.

    Raises:
        NotFound: it is in neither.
        StoreBusy: others change the same workspace all the time.
    """
    was = ""

    def change(mind: Mind) -> Mind:
        nonlocal was
        attended = tuple(place for place in mind.workspace if place.id != row_id)
        waiting = tuple(place for place in mind.buffer if place.id != row_id)
        if len(attended) + len(waiting) == len(mind.workspace) + len(mind.buffer):
            raise NotFound("This memory is neither in the workspace nor in the buffer.", id=row_id)
        was = "workspace" if len(attended) < len(mind.workspace) else "buffer"
        goal_id = _goal_id(mind)
        evicted = {i: goal for i, goal in mind.evicted.items() if goal == goal_id}
        evicted[row_id] = goal_id
        return replace(mind, workspace=attended, buffer=waiting, evicted=evicted)

    change_mind(repo, seat, change, now)
    return was


def _goal_id(mind: Mind) -> str:
    return _NO_GOAL if mind.goal is None else mind.goal.id


def _round(found: Found, mind: Mind, asked: Asked, rules: Rules, votes: Votes) -> Round:
    attended = [place.id for place in mind.workspace]
    hidden = tuple(
        row_id
        for row_id in attended
        if row_id not in found.memories and (asked.is_limited or row_id in found.elsewhere)
    )
    out = {i for i, goal_id in mind.evicted.items() if goal_id == _goal_id(mind)}
    words = frozenset[str]()
    contenders = [
        Contender(
            id=row_id,
            text=memory.item.text,
            created_at=memory.item.created_at,
            relevance=found.relevance.get(row_id, 0.0),
            recency=recency(_touched(mind, memory), asked.now),
            frequency=frequency(mind.uses.get(row_id, (0, 0))[0]),
            need=_need(found, mind, row_id),
            stake=max(
                _VERDICTS.get(str(memory.item.row.get("verification")), 0.0),
                votes[row_id].usefulness(words) if row_id in votes else 0.0,
                _agreement(found, row_id),
            ),
            is_held=row_id in attended,
            is_pinned=memory.item.row.get("category") == PINNED,
        )
        for row_id, memory in found.memories.items()
        if row_id not in out
    ]
    neighbours = Neighbours(found.linked, found.alike, found.likeness)
    left = replace(rules, slots=max(0, rules.slots - len(hidden)))
    goal = mind.goal is not None or asked.question is not None
    return Round(mind, found, compete(contenders, neighbours, left, goal=goal), left, hidden)


def _touched(mind: Mind, memory: Memory) -> int:
    """Return when a memory was written, or when a question last found it."""
    return max(memory.item.created_at, mind.uses.get(memory.item.id, (0, 0))[1])


def _wordings(found: Found, row_id: str) -> list[Memory]:
    """Return a memory and its other wordings."""
    own = found.memories[row_id]
    others = (found.memories[i] for i in sorted(found.alike.get(row_id, ())))
    return [own, *(other for other in others if not at_odds(own.item.text, other.item.text))]


def _having(found: Found, mind: Mind, row_id: str) -> set[str]:
    """Return the agents that wrote a memory, have it on their branch or were told it.

    Another wording of it counts too.
    """
    having: set[str] = set()
    for memory in _wordings(found, row_id):
        having |= {text_of(memory.item.row["agent_id"]) or ""}
        having |= {agent for agent, branch_id in found.agents.items() if branch_id in memory.on}
        having |= {agent for agent, ids in mind.told.items() if memory.item.id in ids}
    return having


def _agreement(found: Found, row_id: str) -> float:
    """Return how many of the task's other agents say the same as a memory, 0 to 1."""
    sayers = {memory.item.row["agent_id"] for memory in _wordings(found, row_id)}
    others = len(sayers & found.agents.keys()) - 1
    return max(0, others) / max(1, len(found.agents) - 1)


def _need(found: Found, mind: Mind, row_id: str) -> float:
    """Return 1 while an agent of the task does not know a memory, else 0."""
    return float(bool(found.agents.keys() - _having(found, mind, row_id)))


def _knows(round_: Round, agent: str | None, row_id: str) -> bool:
    return agent is not None and agent in _having(round_.found, round_.mind, row_id)


def _scene(repo: Repository, seat: Seat, round_: Round, mind: Mind, asked: Asked) -> Scene:
    """Show the subscribers what was broadcast."""
    found, chosen = round_.found, round_.outcome.chosen
    return Scene(
        repo=repo,
        seat=seat,
        mind=mind,
        chosen={each.id: found.memories[each.id].item for each in chosen},
        candidates=[memory.item.text for memory in found.memories.values()],
        contradicts={each.id: each.contradicts for each in chosen},
        linked={each.id: found.linked.get(each.id, ()) for each in chosen},
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
        agent = text_of(memory.item.row["agent_id"])
        others = {text_of(other.item.row["agent_id"]) for other in round_.also(standing.id)}
        in_task = seat.task_id is not None
        yield Line(
            id=standing.id,
            text=memory.item.text,
            memory_type=memory.item.memory_type,
            score=standing.score,
            agent=agent,
            also=tuple(sorted(name for name in others if name and name != agent)),
            is_merged=seat.home in memory.on if in_task else None,
            contradicts=standing.contradicts,
            is_known=in_task and _knows(round_, seat.agent, standing.id),
        )
