"""The bus of a workspace: small processors that read a broadcast and propose what to do next.

Each is asked at the same time as the others, in threads of the bus, and has a fraction of a second;
one that fails again and again is left out for some cycles.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from itertools import islice
from threading import Event
from typing import Final

from day1.model.records.task import Objective
from day1.model.search.wording import content_words
from day1.model.workspace.bus import (
    BUDGET_S,
    MOST_PROPOSED,
    BusResult,
    Circuit,
    Proposal,
    Report,
    arbitrate,
    read_result,
)
from day1.model.workspace.evidence import looked_up, records_in
from day1.model.workspace.item import Item
from day1.model.workspace.mind import Mind
from day1.services.repository.repository import Repository
from day1.services.workspace.desks import Seat
from day1.services.workspace.items import record_source

log = logging.getLogger(__name__)

_THREADS: Final = 16
"""Threads of the bus in one process: a subscriber that does not end keeps one of them."""
_ANSWER_CONFIDENCE: Final = 0.95
_CONTRADICTION_CONFIDENCE: Final = 1.0
_GAP_CONFIDENCE: Final = 0.6
_LINK_CONFIDENCE: Final = 0.5
_SCORE_BONUS: Final = 0.4
"""How much the score of a memory adds to the confidence in its linked memories."""
_COVERED: Final = 0.5
"""Least share of an objective's words in a memory that counts as being about the objective."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The data that the subscribers of a bus cycle read: a broadcast and its memories."""

    repo: Repository
    seat: Seat
    mind: Mind
    """The mind after the broadcast."""
    chosen: Mapping[str, Item]
    """The memories that were broadcast, by id, best first."""
    candidates: Sequence[str]
    """The texts of all memories that competed."""
    contradicts: Mapping[str, Sequence[str]]
    """By id of a broadcast memory, the ids of the broadcast memories that it contradicts."""
    linked: Mapping[str, Collection[str]]
    """By id of a broadcast memory, the ids of the visible memories that it is linked with."""
    now: int
    """Microseconds UTC."""
    question: str | None = None
    """The question of the call; None: there is only the goal."""
    answer_ids: tuple[str, ...] = ()
    """The rows that have an exact answer to the question, if that is known already."""


Stopped = Callable[[], bool]
"""A function that tells whether the time of a subscriber is over."""
Subscriber = Callable[[Scene, Stopped], Iterable[Proposal]]


def recall(scene: Scene, stopped: Stopped) -> Iterable[Proposal]:
    """Propose to admit the memories that are linked with the broadcast ones."""
    present_ids = {place.id for place in (*scene.mind.workspace, *scene.mind.buffer)}
    score_by_id = {place.id: place.score or 0.0 for place in scene.mind.workspace}
    evicted_ids = scene.mind.evicted
    for row_id in scene.chosen:
        for linked_id in sorted(scene.linked.get(row_id, ())):
            if stopped():
                return
            if linked_id not in present_ids and linked_id not in evicted_ids:
                confidence = round(
                    _LINK_CONFIDENCE + _SCORE_BONUS * min(1.0, score_by_id.get(row_id, 0.0)), 6
                )
                yield Proposal("recall", "admit", f"admit:{linked_id}", confidence, (linked_id,))


def exact(scene: Scene, stopped: Stopped) -> Iterable[Proposal]:
    """Propose the rows with the exact answer to the question, or else to the goal."""
    answer_ids = scene.answer_ids
    goal = scene.mind.goal
    question = scene.question or (None if goal is None else goal.description)
    if not answer_ids and question is not None and not stopped():
        looked_up_answer = looked_up(
            question, records_in(map(record_source, scene.chosen.values()))
        )
        answer_ids = () if looked_up_answer is None else looked_up_answer.row_ids
    if answer_ids:
        proposal_key = f"answer:{answer_ids[0]}"
        yield Proposal(
            "exact", "resolve_answer", proposal_key, _ANSWER_CONFIDENCE, answer_ids[:MOST_PROPOSED]
        )


def contradiction(scene: Scene, stopped: Stopped) -> Iterable[Proposal]:
    """Propose to flag each pair of broadcast memories that contradict each other."""
    contradicting_pairs = {
        tuple(sorted((row_id, second_id)))
        for row_id, other_ids in scene.contradicts.items()
        for second_id in other_ids
    }
    for first_id, second_id in sorted(contradicting_pairs):
        if stopped():
            return
        proposal_key = f"contradiction:{first_id}:{second_id}"
        yield Proposal(
            "contradiction",
            "flag_contradiction",
            proposal_key,
            _CONTRADICTION_CONFIDENCE,
            (first_id, second_id),
        )


def gap(scene: Scene, stopped: Stopped) -> Iterable[Proposal]:
    """Propose to note each open objective of the task that no memory is about."""
    if scene.seat.task_id is None:
        return
    objectives = scene.repo.ledger.records(Objective, task_id=scene.seat.task_id)
    memory_texts = scene.candidates if objectives else ()
    words_of_memories = [frozenset(content_words(text)) for text in memory_texts]
    for objective in sorted(objectives, key=lambda each: each.position):
        objective_words = frozenset(content_words(objective.description))
        if stopped():
            return
        shared_count = max(
            (len(objective_words & memory_words) for memory_words in words_of_memories), default=0
        )
        if (
            objective.status != "completed"
            and objective_words
            and shared_count < _COVERED * len(objective_words)
        ):
            objective_index = objective.position
            yield Proposal(
                "gap", "note_gap", f"gap:{objective_index}", _GAP_CONFIDENCE, (), objective_index
            )


SUBSCRIBERS: Final[Mapping[str, Subscriber]] = {
    "recall": recall,
    "exact": exact,
    "contradiction": contradiction,
    "gap": gap,
}
"""The functions that read each broadcast, by name."""


def run_bus(
    scene: Scene,
    subscribers: Mapping[str, Subscriber] = SUBSCRIBERS,
    budget_s: float = BUDGET_S,
) -> BusResult:
    """Ask the subscribers after a broadcast, and decide which proposals are accepted.

    Args:
        scene: the broadcast and its memories.
        subscribers: the subscribers to ask, by name.
        budget_s: time limit in seconds for all of them together.
    """
    last_result = None if scene.mind.bus is None else read_result(scene.mind.bus)
    circuit_by_name = {} if last_result is None else dict(last_result.circuits)
    cycle_number = scene.mind.cycles
    asked_subscribers = {
        name: subscriber
        for name, subscriber in subscribers.items()
        if not circuit_by_name.get(name, Circuit()).is_open(cycle_number)
    }
    proposals, report_by_name = _ask(scene, asked_subscribers, budget_s)
    report_by_name |= {
        name: Report(name, "circuit_open") for name in subscribers if name not in asked_subscribers
    }
    repeated_keys = (
        () if last_result is None else [proposal.key for proposal in last_result.accepted]
    )
    return BusResult(
        cycle_number,
        arbitrate(proposals, repeated_keys),
        [report_by_name[name] for name in subscribers],
        {
            name: circuit_by_name.get(name, Circuit()).after(
                report_by_name[name].status, cycle_number
            )
            for name in subscribers
        },
    )


def _ask(
    scene: Scene, subscribers: Mapping[str, Subscriber], budget_s: float
) -> tuple[list[Proposal], dict[str, Report]]:
    """Ask subscribers at the same time; whoever is late or fails proposes nothing."""
    end_event = Event()
    future_by_name: dict[str, Future[list[Proposal]]] = {
        name: _pool().submit(_proposed, subscriber, scene, end_event.is_set)
        for name, subscriber in subscribers.items()
    }
    wait(future_by_name.values(), budget_s)
    end_event.set()
    proposals: list[Proposal] = []
    report_by_name: dict[str, Report] = {}
    for name, future in future_by_name.items():
        if not future.done():
            future.cancel()
            report_by_name[name] = Report(name, "timeout")
        elif (error := future.exception()) is not None:
            log.warning("the subscriber %s failed: %s", name, type(error).__name__)
            report_by_name[name] = Report(name, "error")
        else:
            proposals += future.result()
            report_by_name[name] = Report(name, "ok", len(future.result()))
    return proposals, report_by_name


def _proposed(subscriber: Subscriber, scene: Scene, stopped: Stopped) -> list[Proposal]:
    return list(islice(subscriber(scene, stopped), MOST_PROPOSED))


@cache
def _pool() -> ThreadPoolExecutor:
    """Make the threads of the bus, at its first use."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="gwt-bus")
