"""Answers about a round of a workspace and its bus, for the tools that compete and broadcast."""

from collections.abc import Mapping, Sequence
from typing import Final

from day1.call.context import Context
from day1.call.fields import Read
from day1.errors import Json
from day1.model.prime.framing import one_line
from day1.model.records.task import Objective
from day1.model.rows.kind import text_of
from day1.model.values.instant import show
from day1.model.workspace.bus import (
    ACCEPT,
    BUDGET_S,
    FAILURES,
    MOST_ACCEPTED,
    MOST_PROPOSED,
    OPEN_CYCLES,
    REPETITION,
    BusResult,
    Decision,
    Proposal,
    among_visible,
    groups_of,
    read_result,
    summary_of,
)
from day1.model.workspace.competition import Standing
from day1.model.workspace.mind import Mind, Place
from day1.services.access.calls import spaces_of
from day1.services.workspace.bus import SUBSCRIBERS
from day1.services.workspace.candidates import Asked, Memory, memories_of
from day1.services.workspace.cycle import (
    Broadcast,
    Round,
    broadcast_now,
    compete_now,
    evict,
    rules_of,
)
from day1.services.workspace.desks import Seat, mind_of, seat_of
from day1.toolsets.gwt.fields import (
    Attended,
    BroadcastText,
    Competed,
    Explained,
    Part,
    PlaceShown,
    Summary,
    goal_shown,
)
from day1.toolsets.shared.answers import read_of

__all__ = [
    "asked_by",
    "broadcast",
    "broadcast_shown",
    "bus_shown",
    "competed",
    "evict",
    "mind_of",
    "placed",
    "places",
    "seat_of",
]

_PREVIEW: Final = 120
"""Maximum number of characters of a preview."""
_SETTINGS: Final[dict[str, Json]] = {
    "accept_threshold": ACCEPT,
    "max_accepted": MOST_ACCEPTED,
    "repetition_penalty": REPETITION,
    "max_proposals_per_subscriber": MOST_PROPOSED,
    "budget_seconds": BUDGET_S,
    "failures_to_open": FAILURES,
    "open_cycles": OPEN_CYCLES,
}


def asked_by(ctx: Context, question: str | None = None) -> Asked:
    """Return the instant, the spaces and the question for which a call fills its workspace."""
    is_limited = bool(ctx.caller.access.branches)
    return Asked(ctx.clock(), spaces_of(ctx, None), question, is_limited=is_limited)


def competed(ctx: Context, slots: int | None) -> Competed:
    """Let memories compete for the workspace; return the winners and change nothing."""
    workspace_owner = seat_of(ctx)
    workspace_round = compete_now(
        ctx.repo, ctx.search, workspace_owner, asked_by(ctx), rules_of(workspace_owner, slots)
    )
    memory_standings = workspace_round.outcome.standings
    score_by_id = {standing.id: standing.score for standing in memory_standings}
    return Competed(
        winners=[
            _part(workspace_round, winner.id, winner.score) for winner in workspace_round.admitted
        ],
        would_evict=[
            _part(workspace_round, row_id, score_by_id.get(row_id))
            for row_id in workspace_round.evicted
        ],
        all_scores=score_by_id,
        reason=_reason(workspace_round),
        reason_breakdown={standing.id: standing.reason for standing in memory_standings},
        explained=[_explained(workspace_round, standing) for standing in memory_standings],
        read=_read(workspace_owner, workspace_round),
    )


def broadcast(ctx: Context) -> BroadcastText:
    """Fill the workspace with the winners of a competition, and return them as one text."""
    workspace_owner = seat_of(ctx)
    return broadcast_shown(
        workspace_owner, broadcast_now(ctx.repo, ctx.search, workspace_owner, asked_by(ctx))
    )


def broadcast_shown(seat: Seat, done: Broadcast) -> BroadcastText:
    """Convert a broadcast to its form in answers."""
    chosen_standings = done.round.outcome.chosen
    kept_ids = [standing.id for standing in chosen_standings if standing.reason == "kept"]
    goal = done.mind.goal
    return BroadcastText(
        text=done.text.text,
        status="broadcast" if chosen_standings else "empty",
        items=[_attended(seat, done, standing) for standing in chosen_standings],
        goal=None if goal is None else goal_shown(goal, is_active=True),
        summary=Summary(
            cycle=done.mind.cycles,
            slots=done.round.rules.slots,
            admitted=[standing.id for standing in done.round.admitted],
            kept=kept_ids,
            evicted=done.round.evicted,
            shown=list(done.text.shown),
            not_shown=len(chosen_standings) - len(done.text.shown) + len(done.round.hidden),
            without_vector=done.round.found.without_vector,
            tokens=done.text.tokens,
            bus=summary_of(done.bus),
        ),
        read=_read(seat, done.round),
    )


def _read(seat: Seat, competed: Round) -> Read:
    found_memories = competed.found
    read_state = read_of(found_memories.state, seat.branch.name, *found_memories.notes)
    return read_state.model_copy(update={"mode": found_memories.mode})


def _part(competed: Round, row_id: str, score: float | None) -> Part:
    memory = competed.found.memories.get(row_id)
    preview = "" if memory is None else one_line(memory.item.text, _PREVIEW)
    return Part(id=row_id, score=score, preview=preview)


def _explained(competed: Round, standing: Standing) -> Explained:
    return Explained(
        id=standing.id,
        score=standing.score,
        parts=dict(standing.parts),
        weights=dict(competed.rules.weights),
        round=standing.round,
        reason=standing.reason,
        via=standing.via,
        joins=standing.joins,
        contradicts=list(standing.contradicts) or None,
    )


def _reason(competed: Round) -> str:
    winners, losers = competed.outcome.chosen, competed.outcome.others
    other_wording_count = sum(standing.reason == "other_wording" for standing in losers)
    return (
        f"{len(winners)} of {len(winners) + len(losers)} memories win a place of "
        f"{competed.rules.slots}: {len(competed.admitted)} are new, {len(competed.evicted)} leave, "
        f"{other_wording_count} are other wordings of a winner."
    )


def _attended(seat: Seat, done: Broadcast, standing: Standing) -> Attended:
    memory = done.round.found.memories[standing.id]
    return Attended(
        id=standing.id,
        memory_type=memory.item.memory_type,
        content=memory.item.text,
        score=standing.score,
        agent=text_of(memory.item.row["agent_id"]),
        also=[
            {
                "id": other_memory.item.id,
                "agent": text_of(other_memory.item.row["agent_id"]),
                "branch": other_memory.branch,
            }
            for other_memory in done.round.also(standing.id)
        ],
        branch=memory.branch,
        merged=seat.home in memory.on if seat.task_id is not None else None,
        known=standing.id in done.known,
        contradicts=list(standing.contradicts),
        explained=_explained(done.round, standing),
    )


def places(ctx: Context, seat: Seat, taken: Sequence[Place], state: str) -> list[PlaceShown]:
    """Read the memories of workspace places, and show those that the caller may see."""
    memory_ids = [place.id for place in taken]
    return placed(taken, memories_of(ctx.repo, ctx.search, seat, memory_ids, asked_by(ctx)), state)


def placed(taken: Sequence[Place], memories: Mapping[str, Memory], state: str) -> list[PlaceShown]:
    """Show workspace places with their memories; a place without a memory is shown as gone."""
    return [_place(place, memories.get(place.id), state) for place in taken]


def _place(place: Place, memory: Memory | None, state: str) -> PlaceShown:
    since_text = show(place.since)
    if memory is None:
        return PlaceShown(id=place.id, state="gone", since=since_text, score=place.score)
    return PlaceShown(
        id=place.id,
        state=state,
        since=since_text,
        score=place.score,
        memory_type=memory.item.memory_type,
        content=memory.item.text,
        agent=text_of(memory.item.row["agent_id"]),
        branch=memory.branch,
    )


def bus_shown(ctx: Context, seat: Seat, mind: Mind) -> dict[str, Json]:
    """Show the bus: its subscribers, its settings, and the result of the last cycle (S0-021)."""
    bus_json: dict[str, Json] = {
        "configured": True,
        "subscribers": list[Json](SUBSCRIBERS),
        "settings": dict(_SETTINGS),
        "result": None,
        "summary": None,
        "proposal_groups": [],
        "reactivations": [],
    }
    if mind.bus is not None:
        bus_result = read_result(mind.bus)
        contradiction_pairs, answer_ids = (
            mind.bus.get("contradictions", ()),
            mind.bus.get("answer_ids", ()),
        )
        named_ids = {*answer_ids, *(row_id for pair in contradiction_pairs for row_id in pair)}
        named_ids |= {
            row_id for decision in bus_result.decisions for row_id in decision.proposal.ids
        }
        memory_by_id = memories_of(ctx.repo, ctx.search, seat, sorted(named_ids), asked_by(ctx))
        bus_result = among_visible(bus_result, memory_by_id)
        bus_json["result"] = shown_result = _result(bus_result)
        bus_json |= {key: shown_result[key] for key in ("summary", "proposal_groups")}
        bus_json["reactivations"] = _reactivations(mind, bus_result, memory_by_id)
        bus_json["contradictions"] = [
            pair for pair in contradiction_pairs if memory_by_id.keys() >= {*pair}
        ]
        bus_json["answer_ids"] = [row_id for row_id in answer_ids if row_id in memory_by_id]
        bus_json["gaps"] = _gaps(ctx, seat, mind)
    return bus_json


def _result(result: BusResult) -> dict[str, Json]:
    """Show the result of a cycle (S0-022)."""
    return {
        "proposals": [_proposal(decision.proposal) for decision in result.decisions],
        "accepted": [_proposal(proposal) for proposal in result.accepted],
        "inhibited": [_proposal(proposal) for proposal in result.inhibited],
        "decisions": [_decision(decision) for decision in result.decisions],
        "summary": summary_of(result),
        "proposal_groups": list[Json](groups_of(result)),
        "subscriber_reports": [
            {
                "subscriber": report.subscriber,
                "status": report.status,
                "proposal_count": report.proposed,
            }
            for report in result.reports
        ],
    }


def _decision(decision: Decision) -> dict[str, Json]:
    return {
        "status": "accepted" if decision.is_accepted else "inhibited",
        "reason": decision.reason,
        "proposal": _proposal(decision.proposal),
    }


def _proposal(proposal: Proposal) -> dict[str, Json]:
    proposal_json: dict[str, Json] = {
        "subscriber": proposal.subscriber,
        "action": proposal.action,
        "key": proposal.key,
        "confidence": proposal.confidence,
        "item_ids": list[Json](proposal.ids),
    }
    return (
        proposal_json
        if proposal.number is None
        else {**proposal_json, "objective": proposal.number}
    )


def _reactivations(mind: Mind, result: BusResult, memories: Mapping[str, Memory]) -> list[Json]:
    """Show the linked memories that the last cycle of the bus admitted."""
    return [
        {
            "id": row_id,
            "state": mind.state_of(row_id),
            "memory_type": memories[row_id].item.memory_type,
        }
        for row_id in dict.fromkeys(result.admitted_ids)
    ]


def _gaps(ctx: Context, seat: Seat, mind: Mind) -> list[Json]:
    """Show the objectives of the task about which there is no memory."""
    objective_numbers = () if mind.bus is None else mind.bus.get("gaps", ())
    if seat.task_id is None or not objective_numbers:
        return []
    objectives = ctx.repo.ledger.records(Objective, task_id=seat.task_id)
    description_by_number = {objective.position: objective.description for objective in objectives}
    return [
        {"objective": number, "description": description_by_number[number]}
        for number in objective_numbers
        if number in description_by_number
    ]
