"""Tools for handoffs: create, get."""

from typing import Literal

from day1.call.context import Context
from day1.call.fields import Label, Note, Read, Repeatable, Request, Response, Text, Written
from day1.call.operation import Effect, Operation
from day1.errors import Advice, Step
from day1.model.values.instant import show
from day1.services.access.calls import agent_of, branch_of, repeatable, writable
from day1.services.rows.transplanting import memories
from day1.services.sharing.handoffs import HandoffRequest, hand_over, open_packet
from day1.toolsets.day1.core.curation import (
    ConversationRecalled,
    FactGiven,
    Size,
    conversation_recalled,
    fact_given,
)
from day1.toolsets.shared.answers import state_of

HandoffType = Literal["task_continuation", "agent_switch", "session_handoff", "escalation"]


class HandoffCreate(Repeatable):
    """The arguments of `memory_handoff_create` (S1-081).

    Attributes:
        source_branch: The branch whose own facts and conversations are handed over: those added
            since it was forked.
        target_branch: The branch that gets them.
        handoff_type: Why the work changes hands; it is only shown.
        include_unverified: Whether facts that nobody judged are handed over too; invalidated ones
            never are.
        context_summary: What the next agent should know; default: how much is handed over.
    """

    source_branch: Label
    target_branch: Label
    handoff_type: HandoffType | None = "task_continuation"
    include_unverified: bool | None = False
    context_summary: Text | None = None


class HandoffCreated(Response):
    """A new handoff, and how many rows it hands over (S1-081, S1-082)."""

    handoff_id: str
    fact_count: int
    conversation_count: int
    left_out: int
    """Facts left out: invalidated, or not verified."""
    copied: int
    """Memories new to the target."""
    context_summary: str
    written: Written


def handoff_create(ctx: Context, request: HandoffCreate) -> HandoffCreated:
    """Hand a branch's own verified facts and conversations over to another branch, frozen."""
    target_branch = writable(ctx, request.target_branch)
    handoff_request = HandoffRequest(
        source=branch_of(ctx, request.source_branch),
        target=target_branch,
        handoff_type=request.handoff_type or "task_continuation",
        include_unverified=bool(request.include_unverified),
        context_summary=request.context_summary,
        created_by=agent_of(ctx.caller),
    )
    handover = hand_over(repeatable(ctx, request), handoff_request, ctx.clock())
    handoff = handover.handoff
    read_state = state_of(ctx, target_branch.name)
    notes: list[Note] = []
    if handoff.left_out:
        notes.append(
            Advice(
                "{facts} left out: {verify_batch} judges those that are not verified, {anyway} "
                "takes them as they are.",
                facts=_number(handoff.left_out, "fact was", "facts were"),
                anyway=Step("memory_handoff_create", {"include_unverified": True}),
            )
        )
    if handover.copied.left:
        notes.append(
            Advice(
                "{memories} of other content on the target, and stayed so there: "
                "{memory_branch_diff} shows both.",
                memories=_number(len(handover.copied.left), "memory is", "memories are"),
            )
        )
    return HandoffCreated(
        handoff_id=handoff.id,
        fact_count=len(handoff.facts),
        conversation_count=len(handoff.conversations),
        left_out=handoff.left_out,
        copied=memories(handover.copied.added),
        context_summary=handoff.context_summary,
        written=Written(branch=target_branch.name, commit=read_state.commit, notes=notes),
    )


def _number(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


class HandoffGet(Request):
    """The arguments of `memory_handoff_get` (S1-083).

    Attributes:
        handoff_id: The handoff, by the id that memory_handoff_create answered.
    """

    handoff_id: Label


class HandoffPacket(Response):
    """A handoff with its facts and conversations (S1-083)."""

    handoff_id: str
    handoff_type: str
    source_branch: str
    target_branch: str
    context_summary: str
    facts: list[FactGiven]
    conversations: list[ConversationRecalled]
    left_out: int
    size: Size
    created_by: str | None
    created_at: str
    read: Read


def handoff_get(ctx: Context, request: HandoffGet) -> HandoffPacket:
    """Read a handoff as it was made, whatever changed since."""
    packet = open_packet(ctx.repo, request.handoff_id)
    handoff, notes = packet.handoff, []
    if packet.room.left_out:
        target_name = packet.target or "the target"
        notes.append(f"{packet.room.left_out} rows do not fit here; they are on {target_name}.")
    return HandoffPacket.from_record(
        handoff,
        handoff_id=handoff.id,
        source_branch=packet.source,
        target_branch=packet.target,
        facts=[fact_given(quoted_row) for quoted_row in packet.facts],
        conversations=[
            conversation_recalled(conversation_end) for conversation_end in packet.talks
        ],
        size=Size.from_record(packet.room),
        created_at=show(handoff.created_at),
        read=Read(branch=packet.source or None, commit=handoff.commit, notes=notes),
    )


OPERATIONS = (
    Operation("memory_handoff_create", handoff_create, Effect.WRITE),
    Operation("memory_handoff_get", handoff_get, Effect.READ),
)
