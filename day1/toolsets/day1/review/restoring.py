"""The tool that brings a row or a branch back to a past state (checklist S1-047)."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Response, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.errors import ConfirmationNeeded, NotFound
from day1.model.branches.branch import Branch
from day1.model.rows.change import Ref
from day1.model.values.instant import parse, show
from day1.services.access.calls import repeatable, writable
from day1.services.branches.snapshots import find_snapshot
from day1.services.history import restoring
from day1.services.repository.idempotency import BY_REQUEST


class Restore(WriteRequest):
    """The arguments of `memory_restore`.

    Attributes:
        to: The state to go back to: a snapshot's id or label, or a time (ISO 8601).
        id: The row to bring back; default: every row of the branch.
        confirm: For a whole branch: its name, so that it is not done by mistake.
    """

    to: Annotated[Label, Field(description="snapshot id or label, or ISO time")]
    id: Annotated[Label | None, Field(description="one row; else the whole branch")] = None
    branch: OnBranch = None
    confirm: Annotated[Label | None, Field(description="whole branch: its name")] = None


class Restored(Response):
    """The restored rows, and the snapshot that undoes it."""

    restored_rows: int
    snapshot_before: str
    restored_at: str
    written: Written


def restore(ctx: Context, request: Restore) -> Restored:
    """Bring a row or a branch back to a snapshot or a moment, as a new commit."""
    branch = writable(ctx, request.branch)
    past_ref = _state(ctx, branch, request.to)
    if request.id is None and request.confirm != branch.name:
        raise ConfirmationNeeded(
            f"This changes the whole branch: repeat with confirm={branch.name!r}. A snapshot is "
            "taken before.",
            confirm=branch.name,
        )
    restore_request = restoring.RestoreRequest(branch, past_ref, request.to, request.id)
    repo = repeatable(ctx, request, branch)
    result = restoring.restore(repo, restore_request, ctx.clock())
    notes = [] if result.restored.commit else ["It was in that state already."]
    if result.repeated:
        notes.append(BY_REQUEST)
    branch_tip = result.restored.commit or result.snapshot_before.commit
    return Restored(
        restored_rows=result.restored.rows,
        snapshot_before=result.snapshot_before.id,
        restored_at=show(result.restored.at),
        written=Written(branch=branch.name, commit=branch_tip, notes=notes),
    )


def _state(ctx: Context, branch: Branch, to: str) -> Ref:
    try:
        named_snapshot = find_snapshot(ctx.repo, to)
    except NotFound:
        if not to[:4].isdigit():
            raise
        return ctx.repo.history.at(branch.name, parse(to, end=True))
    if named_snapshot.branch_id != branch.id:
        is_deleted = ctx.repo.ledger.record(Branch, named_snapshot.branch_id) is None
        raise NotFound(
            f"The snapshot {to!r} is of another branch than {branch.name!r}"
            + (", which was deleted." if is_deleted else ": name its branch."),
            snapshot=named_snapshot.id,
        )
    return Ref(commit=named_snapshot.commit)


OPERATIONS = (Operation("memory_restore", restore, Effect.DESTROY),)
