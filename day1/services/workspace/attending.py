"""Attend to a question: make it the goal, let the found memories compete, broadcast the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from day1.model.workspace.bus import read_result
from day1.model.workspace.evidence import computed
from day1.model.workspace.mind import Goal, Mind
from day1.model.workspace.trace import Phase, Trace, phase
from day1.services.access.calls import Call
from day1.services.search.search_engine import SearchEngine
from day1.services.workspace.candidates import Asked, memories_of
from day1.services.workspace.collecting import collected
from day1.services.workspace.cycle import Broadcast, Options, broadcast_now
from day1.services.workspace.desks import Seat, change_mind
from day1.services.workspace.resolving import (
    Evidence,
    Question,
    exact_in,
    look_further,
    resolve,
)

_MOST_ANSWER_IDS: Final = 20


@dataclass(frozen=True, slots=True)
class Attention:
    """A question to attend to, and how to look for evidence."""

    question: str
    keywords: tuple[str, ...] = ()
    k: int = 5
    """Memories that each search finds, at most."""
    passes: int = 1
    planner: str = "auto"
    admit: bool = True
    """Whether the found memories wait for a place, and the winners are broadcast."""


@dataclass(slots=True)
class Attended:
    """The result of attending to a question."""

    evidence: Evidence
    trace: Trace
    mind: Mind
    """The mind afterwards."""
    admitted: tuple[str, ...] = ()
    """Ids of the found memories, which wait for a place or have one."""
    broadcast: Broadcast | None = None
    """The last broadcast; None if nothing was admitted on purpose."""


@dataclass(slots=True)
class _Passes:
    """The state of one call of `attend`, whose passes search and broadcast."""

    call: Call
    engine: SearchEngine
    seat: Seat
    asked: Asked
    attention: Attention
    phases: list[Phase] = field(default_factory=list)
    done: int = 0
    """The number of passes begun so far."""
    broadcast: Broadcast | None = None

    def trace(self, evidence: Evidence, phases: Sequence[Phase]) -> Trace:
        exact_answer = evidence.exact
        return Trace(
            question=self.attention.question,
            planner=self.attention.planner,
            strategy=evidence.strategy,
            operation=None if exact_answer is None else exact_answer.operation,
            answer_ids=() if exact_answer is None else exact_answer.row_ids[:_MOST_ANSWER_IDS],
            passes=self.done,
            calls=tuple(evidence.calls),
            phases=tuple(phases),
            at=self.asked.now,
        )

    def show(self, evidence: Evidence, ids: Sequence[str]) -> bool:
        """Let the found memories wait for a place, and broadcast the winners.

        Returns whether the bus admitted further memories.
        """
        found_ids, now = tuple(ids), self.asked.now
        question_goal = Goal(
            self.call.repo.new_id("goal", now),
            self.attention.question,
            self.attention.keywords,
            created_at=now,
            agent=self.seat.agent,
        )

        def admit(mind: Mind) -> Mind:
            if self.done == 1 and _is_new(question_goal, mind, self.seat):
                mind = mind.with_goal(question_goal)
            return mind.found(found_ids, now).admitted(found_ids, now)

        self.phases.append(phase("admit", self.done, found_ids))
        exact_answer = evidence.exact
        asked_with_answer = replace(
            self.asked, answer_ids=() if exact_answer is None else exact_answer.row_ids
        )
        evidence.calls += ["broadcast", "bus"]

        def note(mind: Mind) -> Mind:
            all_phases = [*self.phases, *_broadcast_phases(mind, self.done)]
            return replace(mind, trace=self.trace(evidence, all_phases).value)

        options = Options(before=admit, after=note)
        self.broadcast = broadcast_now(
            self.call.repo, self.engine, self.seat, asked_with_answer, options
        )
        broadcast_phases = _broadcast_phases(self.broadcast.mind, self.done)
        self.phases += broadcast_phases
        return broadcast_phases[-1].count > 0


def _broadcast_phases(mind: Mind, number: int) -> list[Phase]:
    """Build the phases `broadcast` and `bus` of a pass: the workspace, and what the bus added."""
    admitted_ids = [] if mind.bus is None else read_result(mind.bus).admitted_ids
    return [
        phase("broadcast", number, [place.id for place in mind.workspace]),
        phase("bus", number, admitted_ids),
    ]


def attend(
    call: Call, engine: SearchEngine, seat: Seat, asked: Asked, attention: Attention
) -> Attended:
    """Attend to a question in one pass or several.

    Each pass searches: the first one for the question, the others for the best memory that was
    found. What is found is admitted and broadcast. Passes end early when the exact answer is known
    or nothing new is found.

    Raises:
        NotFound: the task is gone.
        UnknownBranch: the branch was deleted meanwhile.
        StoreBusy: others change the same workspace all the time.
    """
    pass_state = _Passes(call, engine, seat, asked, attention)
    question = Question(attention.question, attention.k, attention.keywords)
    evidence = resolve(call, engine, question, attention.planner)
    new_ids = list(evidence.items)
    while True:
        pass_state.done += 1
        pass_state.phases.append(phase("search", pass_state.done, new_ids))
        has_new_memories = bool(new_ids)
        if attention.admit:
            has_new_memories = pass_state.show(evidence, new_ids) or has_new_memories
        if (
            pass_state.done == attention.passes
            or evidence.exact is not None
            or not has_new_memories
        ):
            break
        new_ids = look_further(call, engine, question, evidence)
    trace = pass_state.trace(evidence, pass_state.phases)
    if pass_state.broadcast is not None:
        mind, admitted_ids = pass_state.broadcast.mind, tuple(evidence.items)
        return Attended(evidence, trace, mind, admitted_ids, pass_state.broadcast)
    mind = change_mind(call.repo, seat, lambda mind: replace(mind, trace=trace.value), asked.now)
    return Attended(evidence, trace, mind)


def answer_of(call: Call, engine: SearchEngine, seat: Seat, asked: Asked, trace: Trace) -> str:
    """Find the exact answer of a trace again, in memories that may be shown now; "" without one."""
    if trace.operation is None:
        return ""
    if trace.operation != "lookup":
        exact_answer = computed(trace.question, collected(call).collection)
    else:
        memory_by_id = memories_of(call.repo, engine, seat, trace.answer_ids, asked)
        exact_answer = exact_in(trace.question, (memory.item for memory in memory_by_id.values()))
    return "" if exact_answer is None else exact_answer.answer


def _is_new(goal: Goal, mind: Mind, seat: Seat) -> bool:
    """Whether a question becomes the goal: the agents of a task keep the goal that they have."""
    if mind.goal is None:
        return True
    is_same_goal = (mind.goal.description, mind.goal.keywords) == (goal.description, goal.keywords)
    return seat.task_id is None and not is_same_goal
