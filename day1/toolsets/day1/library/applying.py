"""The operation that makes several changes of a branch together."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Ending,
    JsonObject,
    Label,
    LongText,
    MemoryText,
    OnBranch,
    Request,
    Response,
    Space,
    Text,
    When,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.model.branches.branch import Branch
from day1.model.redaction.retention import parse_optional, retention, valid_time
from day1.model.rows.validation import secret_notes
from day1.model.values.instant import show
from day1.services.access.calls import first_edit, new_space, repeatable, writable, writer
from day1.services.batches.applying import Change, EntryChange, Numbered, apply
from day1.services.rows.editing import Correction, Removal
from day1.services.rows.recording import NewFact, NewObservation, NewRelation
from day1.toolsets.shared.corrections import corrected_columns
from day1.toolsets.shared.entries import (
    EntryExpected,
    EntryGiven,
    new_entry,
    place_of,
    texts_of_entry,
)
from day1.toolsets.shared.fields import Confidence, ObservationType, Sensitivity
from day1.toolsets.shared.messages import (
    SayMessages,
    UnsayMessages,
    said_messages,
    texts_of_messages,
    unsaid_messages,
)


class AddFact(Request):
    """A fact to add; its arguments are those of `memory_write_fact`."""

    action: Literal["add"]
    fact_text: MemoryText
    category: Label | None = None
    confidence: Confidence | None = 1.0
    happened_at: When | None = None
    valid_until: Ending | None = None
    space: Space | None = None
    expires_at: Ending | None = None
    sensitivity: Sensitivity | None = None


class AddObservation(Request):
    """An observation to add; its arguments are those of `memory_write_observation`."""

    action: Literal["observe"]
    observation_type: ObservationType
    summary: MemoryText
    tool_name: Label | None = None
    raw_input: LongText | None = None
    raw_output: LongText | None = None
    happened_at: When | None = None
    space: Space | None = None
    expires_at: Ending | None = None
    sensitivity: Sensitivity | None = None


class AddRelation(Request):
    """A relation to add; its arguments are those of `memory_write_relation`."""

    action: Literal["relate"]
    source_entity: Label
    target_entity: Label
    relation_type: Label
    properties: JsonObject | None = None
    happened_at: When | None = None
    valid_until: Ending | None = None
    space: Space | None = None


class UpdateRow(Request):
    """A memory to correct; its arguments are those of `memory_update_fact`."""

    action: Literal["update"]
    id: Label
    fact_text: MemoryText | None = None
    category: Label | None = None
    confidence: Confidence | None = None
    happened_at: When | None = None
    valid_until: Ending | None = None
    space: Space | None = None
    expires_at: Ending | None = None
    sensitivity: Sensitivity | None = None
    expect_revision: Label | None = None


class RetractRow(Request):
    """A memory to remove, by its id."""

    action: Literal["retract"]
    id: Label


class SetEntry(EntryGiven):
    """An entry to put; its arguments are those of `entry_put`."""

    action: Literal["set"]


class DeleteEntry(EntryExpected):
    """An entry to remove, by its key; nothing is done if it is not there."""

    action: Literal["delete"]


ChangeAsked = Annotated[
    AddFact
    | AddObservation
    | AddRelation
    | UpdateRow
    | RetractRow
    | SetEntry
    | DeleteEntry
    | SayMessages
    | UnsayMessages,
    Field(discriminator="action"),
]


class Apply(WriteRequest):
    """The arguments of `rows_apply`.

    Attributes:
        changes: 1 to 1,000 changes, in their order: `add`, `observe` or `relate` a memory,
            `update` or `retract` one by its id, `set` or `delete` an entry by its key,
            `say` messages under keys, or `unsay` those that no entry leads to.
        reason: Why; memory_history and memory_blame show it.
    """

    changes: Annotated[list[ChangeAsked], Field(min_length=1, max_length=1_000)]
    reason: Text | None = None
    branch: OnBranch = None


class Applied(Response):
    """What was done: the memory of each change, in their order."""

    ids: list[str]
    applied_at: str
    written: Written


def rows_apply(ctx: Context, request: Apply) -> Applied:
    """Make several changes of a branch in one commit, or none of them."""
    notes = dict.fromkeys(
        note
        for requested_change in request.changes
        for note in secret_notes(ctx.limits.secrets, *_texts(requested_change))
    )
    changes = [
        _change(ctx, requested_change, request.reason) for requested_change in request.changes
    ]
    branch = writable(ctx, request.branch)
    numbered_changes = [
        _numbered(ctx, request, branch, index_and_change) for index_and_change in enumerate(changes)
    ]
    apply_result = apply(ctx.repo, branch, numbered_changes, writer(ctx, request, branch))
    return Applied(
        ids=list(apply_result.row_ids),
        applied_at=show(apply_result.at),
        written=Written(
            branch=branch.name, commit=apply_result.commit, notes=[*notes, *apply_result.notes]
        ),
    )


def _texts(asked: ChangeAsked) -> tuple[str | None, ...]:
    """Return the texts that may hold a secret."""
    if isinstance(asked, AddFact):
        return (asked.fact_text,)
    if isinstance(asked, AddObservation):
        return (asked.summary, asked.raw_input, asked.raw_output)
    if isinstance(asked, SetEntry):
        return texts_of_entry(asked)
    if isinstance(asked, SayMessages):
        return texts_of_messages(asked.messages)
    return ()


def _numbered(ctx: Context, request: Apply, branch: Branch, placed: tuple[int, Change]) -> Numbered:
    """Prepare a change whose new ids follow from the request and the change's position."""
    index, change = placed
    repo = repeatable(ctx, request, branch, index)
    if isinstance(change, Correction | Removal | EntryChange):
        change = replace(change, first_edit=first_edit(ctx, request, branch, index))
    return Numbered(change, repo, request.request_id)


def _change(ctx: Context, asked: ChangeAsked, reason: str | None) -> Change:
    match asked:
        case UpdateRow():
            return Correction(asked.id, corrected_columns(asked), reason, asked.expect_revision)
        case RetractRow():
            return Removal([asked.id], reason)
        case SetEntry() | DeleteEntry():
            entry_to_set = new_entry(ctx, asked) if isinstance(asked, SetEntry) else None
            return EntryChange(place_of(ctx, asked), entry_to_set, reason, asked.expect_revision)
        case SayMessages():
            return said_messages(ctx, asked)
        case UnsayMessages():
            return unsaid_messages(ctx, asked, reason)
        case AddFact():
            return NewFact(
                asked.fact_text,
                asked.category,
                1.0 if asked.confidence is None else asked.confidence,
                **valid_time(asked.happened_at, asked.valid_until),
                space=new_space(ctx, asked.space),
                **retention(asked.expires_at, asked.sensitivity, ctx.clock()),
            )
        case AddObservation():
            return _observation(ctx, asked)
        case AddRelation():
            return NewRelation(
                asked.source_entity,
                asked.relation_type,
                asked.target_entity,
                asked.properties,
                **valid_time(asked.happened_at, asked.valid_until),
                space=new_space(ctx, asked.space),
            )


def _observation(ctx: Context, asked: AddObservation) -> NewObservation:
    max_characters = ctx.limits.raw_characters
    return NewObservation(
        asked.observation_type,
        asked.summary,
        asked.tool_name,
        asked.raw_input and asked.raw_input[:max_characters],
        asked.raw_output and asked.raw_output[:max_characters],
        parse_optional(asked.happened_at),
        new_space(ctx, asked.space),
        **retention(asked.expires_at, asked.sensitivity, ctx.clock()),
    )


OPERATIONS = (Operation("rows_apply", rows_apply, Effect.DESTROY, long_values=True),)
