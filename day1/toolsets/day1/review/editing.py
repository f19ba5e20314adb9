"""Tools that correct: update, supersede, retract (checklist S1-089)."""

from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Ending,
    Label,
    MemoryText,
    OnBranch,
    Response,
    Space,
    Text,
    When,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.errors import Advice
from day1.model.redaction.retention import valid_time
from day1.model.rows.kind import Row, revision
from day1.model.values.instant import show
from day1.services.access.calls import first_edit, origin_of, repeatable, writable, writer
from day1.services.rows.editing import (
    Correction,
    Edited,
    Removal,
    Replacement,
    remove,
    supersede,
    update,
)
from day1.toolsets.shared.corrections import corrected_columns
from day1.toolsets.shared.fields import Confidence, Sensitivity


class UpdateFact(WriteRequest):
    """The arguments of `memory_update_fact`; other memories take the columns that they have.

    Attributes:
        fact_id: The fact to correct, or the relation or observation.
        fact_text: The new text; the fact becomes unverified. Default for each column: as it is.
        category: The new category.
        confidence: The new confidence, from 0 to 1.
        happened_at: The new time at which it was true, or became so (ISO 8601).
        valid_until: When it ceased to be true (ISO 8601), or `never`.
        space: The space to move it to, such as project:metal; `shared`: none.
        expires_at: When answers stop showing it (ISO 8601), or `never`.
        sensitivity: `secret` takes its words out of the index, lists, exports and bundles;
            `public` brings them back.
        expect_revision: The `revision` that you read: if the fact was changed since, nothing is
            done (revision_changed).
        reason: Why it is changed; memory_history and memory_blame show it.
    """

    fact_id: Label
    fact_text: MemoryText | None = None
    category: Label | None = None
    confidence: Confidence | None = None
    happened_at: When | None = None
    valid_until: Ending | None = None
    space: Space | None = None
    expires_at: Ending | None = None
    sensitivity: Sensitivity | None = None
    expect_revision: Annotated[
        Label | None, Field(description="refuse if the row changed since you read it")
    ] = None
    reason: Text | None = None
    branch: OnBranch = None


class FactUpdated(Response):
    """The new revision of a corrected fact, and whether the correction decided held items."""

    id: str
    revision: str
    updated_at: str
    decides_held: bool
    """Whether the edit closed held items of its cells."""
    closed: list[str]
    written: Written


def update_fact(ctx: Context, request: UpdateFact) -> FactUpdated:
    """Correct a fact in place; a new text makes it unverified."""
    value_by_column = corrected_columns(request)
    branch = writable(ctx, request.branch)
    update_result = update(
        repeatable(ctx, request, branch),
        branch,
        Correction(
            request.fact_id,
            value_by_column,
            request.reason,
            request.expect_revision,
            first_edit(ctx, request, branch),
        ),
        origin_of(ctx, request, branch),
    )
    return _updated(branch.name, update_result)


def _updated(branch: str, result: Edited) -> FactUpdated:
    return FactUpdated(
        id=str(result.row["id"]),
        revision=revision(result.kind, result.row),
        updated_at=show(result.at),
        decides_held=bool(result.closed),
        closed=list(result.closed),
        written=Written(branch=branch, commit=result.commit),
    )


class SupersedeFact(WriteRequest):
    """The arguments of `memory_supersede_fact`.

    Attributes:
        fact_id: The fact to replace. It stays, marked as superseded, and search leaves it out.
        fact_text: The text of the new fact.
        category: The category of the new fact; default: that of the old one.
        confidence: The confidence of the new fact, from 0 to 1; default: 1.
        happened_at: When the new fact became true (ISO 8601); default: unknown. The old one's
            valid time ends then, or else now.
        valid_until: When the new fact ceases to be true (ISO 8601), or `never`.
        keep_valid_time: Whether the old fact's valid time stays as it is, because it was never
            true: then no search with `as_of_event` finds it.
        reason: Why it is replaced; memory_history and memory_blame show it.
    """

    fact_id: Label
    fact_text: MemoryText
    category: Annotated[Label | None, Field(description="default: the old one's")] = None
    confidence: Confidence | None = None
    happened_at: When | None = None
    valid_until: Ending | None = None
    keep_valid_time: bool | None = False
    reason: Text | None = None
    branch: OnBranch = None


class FactSuperseded(Response):
    """The new fact and the one it replaces."""

    id: str
    superseded: str
    created_at: str
    decides_held: bool
    written: Written


def supersede_fact(ctx: Context, request: SupersedeFact) -> FactSuperseded:
    """Replace a fact by a new one; the old stays, marked, out of search."""
    branch = writable(ctx, request.branch)
    replacement = Replacement(
        request.fact_id,
        request.fact_text,
        category=request.category,
        confidence=1.0 if request.confidence is None else request.confidence,
        **valid_time(request.happened_at, request.valid_until),
        closes=not request.keep_valid_time,
        reason=request.reason,
        first_edit=first_edit(ctx, request, branch),
    )
    repo = repeatable(ctx, request, branch)
    supersede_result = supersede(repo, branch, replacement, writer(ctx, request, branch))
    return FactSuperseded(
        id=str(supersede_result.row["id"]),
        superseded=request.fact_id,
        created_at=show(supersede_result.at),
        decides_held=bool(supersede_result.closed),
        written=Written(
            branch=branch.name,
            commit=supersede_result.commit,
            notes=_not_inherited(supersede_result.ends),
        ),
    )


def _not_inherited(ends: Row) -> list[str | Advice]:
    """Write notes on the ends of a replaced fact that the new fact does not have."""
    phrase_by_column = {"expires_at": "expires at", "valid_until": "was to be true until"}
    return [
        Advice(
            "The replaced fact {ends} {at}, and the new fact has no such end: give the new fact "
            "`{column}` with {memory_update_fact} if it has one.",
            ends=phrase_by_column[column],
            at=show(int(end_time or 0)),
            column=column,
        )
        for column, end_time in ends.items()
    ]


class RetractFact(WriteRequest):
    """The arguments of `memory_retract_fact`, which removes any memory.

    Attributes:
        fact_id: The memory to remove, by its id: a fact, observation, relation, conversation or
            message.
        reason: Why it is removed; memory_history shows it.
    """

    fact_id: Annotated[Label, Field(description="fact, observation or relation id")]
    reason: Text | None = None
    branch: OnBranch = None


class FactRetracted(Response):
    """The removed memory, and how to bring it back."""

    id: str
    retracted_at: str
    restore: dict[str, Any]
    written: Written


def retract_fact(ctx: Context, request: RetractFact) -> FactRetracted:
    """Remove a memory from a branch; history keeps it, memory_restore brings it back."""
    branch = writable(ctx, request.branch)
    removal = Removal([request.fact_id], request.reason, first_edit(ctx, request, branch))
    repo = repeatable(ctx, request, branch)
    remove_result = remove(repo, branch, removal, origin_of(ctx, request, branch))
    return FactRetracted(
        id=request.fact_id,
        retracted_at=show(remove_result.at),
        restore={"id": request.fact_id, "to": show(remove_result.at - 1), "branch": branch.name},
        written=Written(branch=branch.name, commit=remove_result.commit),
    )


class Remove(WriteRequest):
    """The arguments of `memory_remove`.

    Attributes:
        ids: The memories to remove, by their ids: facts, observations, relations, conversations
            or messages. If one is not on the branch, nothing is removed.
        reason: Why they are removed; memory_history shows it.
    """

    ids: Annotated[list[Label], Field(min_length=1, max_length=10_000)]
    reason: Text | None = None
    branch: OnBranch = None


class Removed(Response):
    """The removed ids; `before` is the time to which memory_restore brings them back."""

    ids: list[str]
    removed_at: str
    before: str
    written: Written


def remove_rows(ctx: Context, request: Remove) -> Removed:
    """Remove memories in one commit; memory_restore brings each back."""
    branch = writable(ctx, request.branch)
    row_ids = list(dict.fromkeys(request.ids))
    removal = Removal(row_ids, request.reason, first_edit(ctx, request, branch))
    repo = repeatable(ctx, request, branch)
    remove_result = remove(repo, branch, removal, origin_of(ctx, request, branch))
    return Removed(
        ids=row_ids,
        removed_at=show(remove_result.at),
        before=show(remove_result.at - 1),
        written=Written(branch=branch.name, commit=remove_result.commit),
    )


OPERATIONS = (
    Operation("memory_update_fact", update_fact, Effect.WRITE),
    Operation("memory_supersede_fact", supersede_fact, Effect.WRITE),
    Operation("memory_retract_fact", retract_fact, Effect.DESTROY),
    Operation("memory_remove", remove_rows, Effect.DESTROY),
)
