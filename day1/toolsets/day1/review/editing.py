"""Tools that correct: update, supersede, retract (checklist S1-089)."""

from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Response, Text, When, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.rows.kind import EDIT, Cell, revision
from day1.model.values.instant import parse, show
from day1.services.rows.editing import (
    Correction,
    Edited,
    Removal,
    Replacement,
    remove,
    supersede,
    update,
)
from day1.toolsets.shared.fields import Confidence


class UpdateFact(WriteRequest):
    """What to change of a fact.

    Attributes:
        fact_id: The fact to correct.
        fact_text: The new text; the fact becomes unverified. Default for each column: as it is.
        category: The new category.
        confidence: The new confidence, from 0 to 1.
        happened_at: The new time at which it was true (ISO 8601).
        expect_revision: The `revision` that you read: if the fact was changed since, nothing is
            done (revision_changed).
        reason: Why it is changed; memory_history and memory_blame show it.
    """

    fact_id: Label
    fact_text: Text | None = None
    category: Label | None = None
    confidence: Confidence | None = None
    happened_at: When | None = None
    expect_revision: Annotated[
        Label | None, Field(description="refuse if the row changed since you read it")
    ] = None
    reason: Text | None = None
    branch: OnBranch = None


class FactUpdated(Response):
    """The fact as it is now."""

    id: str
    revision: str
    updated_at: str
    decides_held: bool
    """The edit closed open held items of the cells it set."""
    closed: list[str]
    written: Written


def update_fact(ctx: Context, request: UpdateFact) -> FactUpdated:
    """Correct a fact in place; a new text makes it unverified."""
    columns: dict[str, Cell] = {
        name: value
        for name in ("fact_text", "category", "confidence")
        if (value := getattr(request, name)) is not None
    }
    if request.happened_at is not None:
        columns["happened_at"] = parse(request.happened_at)
    if not columns:
        raise InvalidRequest("Give at least one of fact_text, category, confidence, happened_at.")
    branch = ctx.writable(request.branch)
    done = update(
        ctx.repeatable(request, branch),
        branch,
        Correction(
            request.fact_id,
            columns,
            request.reason,
            request.expect_revision,
            _first_edit(ctx, request, branch),
        ),
        ctx.origin(request, branch),
    )
    return _updated(branch.name, done)


def _first_edit(ctx: Context, request: WriteRequest, branch: Branch) -> str | None:
    """The id of the first edit that a request makes; None where nothing tells it again."""
    if request.request_id is None:
        return None
    return ctx.repeatable(request, branch).new_id(EDIT.prefix, 0)


def _updated(branch: str, done: Edited) -> FactUpdated:
    return FactUpdated(
        id=str(done.row["id"]),
        revision=revision(done.kind, done.row),
        updated_at=show(done.at),
        decides_held=bool(done.closed),
        closed=list(done.closed),
        written=Written(branch=branch, commit=done.commit),
    )


class SupersedeFact(WriteRequest):
    """What replaces a fact.

    Attributes:
        fact_id: The fact to replace. It stays, marked as superseded, and search leaves it out.
        fact_text: The text of the new fact.
        category: The category of the new fact; default: that of the old one.
        confidence: The confidence of the new fact, from 0 to 1; default: 1.
        reason: Why it is replaced; memory_history and memory_blame show it.
    """

    fact_id: Label
    fact_text: Text
    category: Annotated[Label | None, Field(description="default: the old one's")] = None
    confidence: Confidence | None = None
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
    branch = ctx.writable(request.branch)
    new = Replacement(
        request.fact_id,
        request.fact_text,
        category=request.category,
        confidence=1.0 if request.confidence is None else request.confidence,
        reason=request.reason,
        first_edit=_first_edit(ctx, request, branch),
    )
    repo = ctx.repeatable(request, branch)
    done = supersede(repo, branch, new, ctx.writer(request, branch))
    return FactSuperseded(
        id=str(done.row["id"]),
        superseded=request.fact_id,
        created_at=show(done.at),
        decides_held=bool(done.closed),
        written=Written(branch=branch.name, commit=done.commit),
    )


class RetractFact(WriteRequest):
    """What to remove; observations and relations too.

    Attributes:
        fact_id: The memory to remove, by its id: a fact, observation, relation, conversation or
            message.
        reason: Why it is removed; memory_history shows it.
    """

    fact_id: Annotated[Label, Field(description="fact, observation or relation id")]
    reason: Text | None = None
    branch: OnBranch = None


class FactRetracted(Response):
    """What was removed, and how to bring it back."""

    id: str
    retracted_at: str
    restore: dict[str, Any]
    written: Written


def retract_fact(ctx: Context, request: RetractFact) -> FactRetracted:
    """Remove a memory from a branch; history keeps it, memory_restore brings it back."""
    branch = ctx.writable(request.branch)
    removal = Removal([request.fact_id], request.reason, _first_edit(ctx, request, branch))
    repo = ctx.repeatable(request, branch)
    done = remove(repo, branch, removal, ctx.origin(request, branch))
    return FactRetracted(
        id=request.fact_id,
        retracted_at=show(done.at),
        restore={"id": request.fact_id, "to": show(done.at - 1), "branch": branch.name},
        written=Written(branch=branch.name, commit=done.commit),
    )


OPERATIONS = (
    Operation("memory_update_fact", UpdateFact, FactUpdated, update_fact, Effect.WRITE),
    Operation("memory_supersede_fact", SupersedeFact, FactSuperseded, supersede_fact, Effect.WRITE),
    Operation("memory_retract_fact", RetractFact, FactRetracted, retract_fact, Effect.DESTROY),
)
