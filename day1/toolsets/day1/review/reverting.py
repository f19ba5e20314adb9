"""The tool that undoes a commit or a merge by a new commit, or previews that."""

from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Read, Response, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.model.merge.row_merge import PlanRow
from day1.services.access.calls import branch_of, note_token, origin_of, repeatable
from day1.services.branches.lookup import name_of
from day1.services.history.reverting import Revert, RevertRequest, preview, revert
from day1.services.repository.idempotency import BY_REQUEST
from day1.services.repository.repository import Repository
from day1.toolsets.shared.choices import Choices
from day1.toolsets.shared.shown import ConflictShown, conflicts_of, summary


class Undo(WriteRequest):
    """The arguments of `memory_revert`.

    Attributes:
        commit: What to undo: a commit of the branch itself, or a merge by its id.
        preview: Whether to show only what would be undone, and change nothing.
        choices: Decisions about rows that changed since, which otherwise stay; `theirs` takes the
            value from before the commit.
        expect: The `digest` of the preview: a plan that is different by now is refused
            (plan_changed).
    """

    commit: Annotated[Label, Field(description="or merge id")]
    branch: OnBranch = None
    preview: Annotated[bool | None, Field(description="change nothing")] = False
    choices: Choices = None
    expect: Annotated[Label | None, Field(description="digest of the preview")] = None


class Depends(Response):
    """An object that contains or changed what the commit brought; the revert leaves it."""

    type: str
    """row (changed since), held (item that the merge made), snapshot, template, handoff, …"""
    id: str
    name: str | None


class Undone(Response):
    """What a revert does, or would do; pass `digest` as `expect` to do exactly this."""

    reverts: str
    """The commit to undo."""
    op: str
    digest: str
    reverted_count: int
    rows: list[dict[str, Any]]
    """`effect` is removed, changed or restored; `kept` has the cells that stay, and why."""
    kept: list[ConflictShown]
    """Cells that stay; `source` is the value before the commit, `target` the present one."""
    depends: list[Depends]
    read: Read | None
    written: Written | None


def undo(ctx: Context, request: Undo) -> Undone:
    """Undo a commit or merge as a new commit; what changed since stays unless choices decide."""
    choices = tuple(decision.choice() for decision in request.choices or ())
    if request.preview:
        branch = branch_of(ctx, request.branch)
        revert_preview = preview(ctx.repo, RevertRequest(branch, request.commit, choices))
        read_state = Read(
            branch=branch.name,
            commit=revert_preview.tip,
            pending=revert_preview.pending,
            notes=_notes(ctx, revert_preview),
        )
        return _answer(ctx, revert_preview, read_state, None)
    branch = branch_of(ctx, request.branch)
    note_token(ctx, branch)
    revert_request = RevertRequest(branch, request.commit, choices, request.expect)
    repo = repeatable(ctx, request, branch)
    revert_result = revert(repo, revert_request, origin_of(ctx, request, branch))
    notes = (
        _notes(ctx, revert_result)
        if revert_result.done
        else ["Nothing was undone: all of it stays."]
    )
    if revert_result.repeated:
        notes.append(BY_REQUEST)
    written_state = Written(branch=branch.name, commit=revert_result.tip, notes=notes)
    return _answer(ctx, revert_result, None, written_state)


def _answer(ctx: Context, result: Revert, read: Read | None, written: Written | None) -> Undone:
    revert_plan = result.plan
    return Undone(
        reverts=result.undone.id,
        op=result.undone.op,
        digest=revert_plan.digest,
        reverted_count=result.count,
        rows=[_row(row, ctx.clock()) for row in revert_plan.rows],
        kept=conflicts_of(revert_plan, ctx.clock()),
        depends=[Depends.from_record(dependent) for dependent in result.depends],
        read=read,
        written=written,
    )


def _row(row: PlanRow, at: int) -> dict[str, Any]:
    row_summary = summary(row, at)
    kept_cells = row_summary.pop("held")
    return {
        **row_summary,
        "effect": "restored" if row.effect == "new" else row.effect,
        "kept": kept_cells,
    }


def _notes(ctx: Context, result: Revert) -> list[str]:
    undone_commit = result.undone
    source_name = _source(ctx.repo, result)
    if undone_commit.op == "merge":
        return [
            f"Merging {source_name} again brings none of this back: revert the revert, or take "
            "rows with strategy cherry_pick."
        ]
    return [f"{source_name} stays closed."] if undone_commit.op == "squash" else []


def _source(repo: Repository, result: Revert) -> str:
    branch_name = name_of(repo, str(result.undone.meta.get("source_id")))
    return repr(branch_name) if branch_name else "that branch"


OPERATIONS = (Operation("memory_revert", undo, Effect.WRITE, scope="merge"),)
