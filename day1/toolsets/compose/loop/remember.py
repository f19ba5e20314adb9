"""The step of the loop that keeps a durable fact."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator

from day1.call.context import Context
from day1.call.fields import Response, Written, written
from day1.call.operation import Effect, Operation
from day1.model.contexts.keyed import sensitivity
from day1.model.layers.row_detail import detail_of
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import text_of
from day1.services.contexts.vectors import embeds
from day1.services.items import remembering
from day1.services.items.remembering import POLICIES, Outcome, Policy, Remembered, ToRemember
from day1.services.rows.recording import NewFact
from day1.toolsets.compose.fields import (
    AgentMemoryLoopEnvelope,
    AgentMemoryScope,
    Content,
    Name,
    Part,
    envelope,
)
from day1.toolsets.compose.scope import expiry_of, own_words, owner_of, write_of
from day1.toolsets.compose.shown import vector_id
from day1.toolsets.shared.fields import Maybe, absent

FACT_TYPE: Final = "fact"
"""Type of a fact if the caller names no type."""
_NOTES: Final[dict[Outcome, tuple[str, ...]]] = {
    "written": (),
    "known": ("The same content is known: nothing was written.",),
    "kept": ("A known fact conflicts with the content and was kept: nothing was written.",),
}


def _policy(word: str) -> str:
    if word not in POLICIES:
        raise ValueError(f"must be one of {', '.join(POLICIES)}")
    return word


class AgentMemoryRememberRequest(AgentMemoryScope):
    """The arguments of `remember` (S2-074).

    Attributes:
        content: The fact, in words that can be understood alone. With a `key` in `metadata` it is
            what is known under that key.
        type: What kind of fact it is, such as preference, decision or lesson. Default: fact.
        retention: How long it is kept: a span such as 12h, 7d or 4w ends it; other words are kept
            with it. Default: no end.
        conflictPolicy: What to do with a fact of the same owner that has the same `key`, or says
            the same in other words: `supersede` replaces it, `keep` keeps it and not this one,
            `merge` joins both. Default: supersede.
        confidence: How certain it is, from 0 to 1. Default: 1.
        enableGraph: Whether relations may be read out of it. None are, so it changes nothing.
    """

    content: Content
    type: Maybe[Name] = None
    retention: Maybe[Name] = None
    conflictPolicy: Maybe[Annotated[str, AfterValidator(_policy)]] = None
    confidence: Maybe[Part] = None
    enableGraph: Maybe[bool] = None


class MemoryRememberedItem(Response):
    """A remembered fact (S2-076)."""

    id: Maybe[str] = absent()
    text: str
    type: str
    retention: Maybe[str] = absent()
    confidence: Maybe[float] = absent()
    status: Literal["active"]


class AgentMemoryRememberResponse(Response):
    """The fact that holds the content, and whether it was saved (S2-075)."""

    loop: AgentMemoryLoopEnvelope
    success: bool
    graphSaved: bool
    vectorSaved: bool
    vectorId: Maybe[str] = absent()
    memory: Maybe[MemoryRememberedItem] = absent()
    written: Written


def remember(ctx: Context, request: AgentMemoryRememberRequest) -> AgentMemoryRememberResponse:
    """Keep a durable fact, preference, correction, decision or lesson."""
    content, notes = own_words(ctx, "content", request.content)
    owner = owner_of(ctx, request)
    new_fact = NewFact(
        content,
        request.type or FACT_TYPE,
        1.0 if request.confidence is None else request.confidence,
        space=owner.space,
        expires_at=expiry_of(ctx, request.retention),
        sensitivity=sensitivity(None, request.metadata),
    )
    fact_detail = detail_of(
        owner,
        threadId=request.threadId,
        metadata=request.metadata,
        retention=request.retention,
    )
    value_by_field = {"category": request.type, **dict(request)}
    set_field_names = frozenset(
        field for field, value in value_by_field.items() if value is not None
    )
    conflict_policy: Policy = next(
        (policy_name for policy_name in POLICIES if policy_name == request.conflictPolicy),
        "supersede",
    )
    write_context = write_of(ctx, owner)
    new_memory = ToRemember(new_fact, fact_detail, set_field_names, conflict_policy)
    remember_result = remembering.remember(
        write_context.repo, write_context.branch, new_memory, write_context.origin
    )
    written_state = written(
        write_context.branch.name,
        remember_result.commit,
        remember_result.pending,
        [*notes, *_NOTES[remember_result.outcome]],
    )
    return _answered(ctx, remember_result, written_state)


def _answered(ctx: Context, result: Remembered, state: Written) -> AgentMemoryRememberResponse:
    fact_row, is_saved = result.row, result.outcome != "kept"
    saved_vector_id = (
        vector_id(fact_row, has_vectors=embeds(ctx.search.embedder)) if is_saved else None
    )
    return AgentMemoryRememberResponse(
        loop=envelope("remember", "pre_turn", "post_turn", "remember"),
        success=True,
        graphSaved=is_saved,
        vectorSaved=saved_vector_id is not None,
        vectorId=saved_vector_id,
        memory=MemoryRememberedItem(
            id=str(fact_row["id"]),
            text=str(fact_row["fact_text"]),
            type=str(fact_row["category"] or FACT_TYPE),
            retention=text_of(read_detail(fact_row["detail"]).get("retention")),
            confidence=float(fact_row["confidence"] or 0),
            status="active",
        ),
        written=state,
    )


OPERATIONS: Final = (Operation("remember", remember, Effect.WRITE),)
