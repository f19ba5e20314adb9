"""Tools of engram that consolidate lessons: preview, plan, apply."""

from typing import Annotated, Any, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    Note,
    Read,
    Repeatable,
    Request,
    Response,
    Written,
    written,
)
from day1.call.operation import Effect, Operation
from day1.errors import StoreReadOnly
from day1.model.branches.branch import Branch
from day1.model.lessons.consolidation import Findings, is_exact
from day1.services.access.calls import agent_of, branch_of, write_here
from day1.services.lessons.consolidation import (
    Applying,
    ConsolidationRequest,
    consolidate_lessons,
    find_duplicates_and_stale,
    keep_plan,
    recommend,
)
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.fields import Confidence, Maybe, absent

_Days = Annotated[float, Field(ge=0, le=36_500, allow_inf_nan=False)]


class Preview(Request):
    """The arguments of `memory_consolidate_preview` (S4-013).

    Attributes:
        stale_days: Days after which a lesson that was not shown may be stale; default: 30.
        min_score: Such a lesson is stale if its mean judgement is below this; default: 0.3.
            Without a judgement it is 0.
    """

    stale_days: Maybe[_Days] = 30
    min_score: Maybe[Confidence] = 0.3


class DuplicateGroup(Response):
    """Lessons that say nearly the same."""

    ids: list[str]
    how: str
    """`exact` or `alike`."""


class Previewed(Response):
    """Duplicates, stale and garbage memories, as counts and ids (S4-013)."""

    duplicates: int
    stale: int
    garbage: int
    duplicate_groups: list[DuplicateGroup]
    stale_ids: list[str]
    garbage_ids: list[str]
    read: Read


def preview(ctx: Context, request: Preview) -> Previewed:
    """Find duplicates and stale memories; changes nothing, asks no LLM."""
    branch = branch_of(ctx)
    findings = find_duplicates_and_stale(
        ctx.repo, ctx.search, _service_request(ctx, branch, request)
    )
    duplicate_groups = [
        DuplicateGroup(ids=_ids(row_group), how="exact" if is_exact(row_group) else "alike")
        for row_group in findings.groups
    ]
    return Previewed(
        duplicates=sum(len(row_group.ids) - 1 for row_group in duplicate_groups),
        stale=len(findings.stale),
        garbage=len(findings.garbage),
        duplicate_groups=duplicate_groups,
        stale_ids=_ids(findings.stale),
        garbage_ids=_ids(findings.garbage),
        read=_read(ctx, branch, findings),
    )


class Consolidate(Preview):
    """The arguments of `memory_consolidate` (S4-014)."""


class Recommended(Response):
    """What to do with some rows: merge, archive, delete or keep."""

    action: str
    ids: list[str]
    into: str | None = absent()
    confidence: float
    reason: str


class Planned(Response):
    """The recommendations (S4-014); `digest` identifies this plan."""

    analyzed_count: int
    recommendations: list[Recommended]
    errors: list[dict[str, Any]]
    degraded: bool
    """Whether rules alone decided."""
    digest: str
    read: Read


def consolidate(ctx: Context, request: Consolidate) -> Planned:
    """Recommend what to merge, archive, delete or keep; changes no memory."""
    branch = branch_of(ctx)
    service_request = _service_request(ctx, branch, request)
    findings = find_duplicates_and_stale(ctx.repo, ctx.search, service_request)
    consolidation_plan = recommend(findings, ctx.chat, ctx.stopped)
    notes: list[str] = []
    if ctx.chat is not None:
        try:
            keep_plan(ctx.repo, service_request, _client(ctx), findings, consolidation_plan)
        except StoreReadOnly:
            notes.append("The store is read-only, so this plan is not kept for applying.")
    return Planned(
        analyzed_count=findings.analyzed,
        recommendations=_recommended(consolidation_plan.recommendations),
        errors=consolidation_plan.errors,
        degraded=ctx.chat is None,
        digest=consolidation_plan.digest,
        read=_read(ctx, branch, findings, *notes),
    )


class Apply(Repeatable):
    """The arguments of `memory_consolidate_apply` (S4-015).

    Attributes:
        stale_days: As with `memory_consolidate`; default: 30.
        min_score: As with `memory_consolidate`; default: 0.3.
        expect: The digest of the plan that you looked at; any other plan is refused. Without it,
            no more than a third of the branch is touched.
        min_confidence: Recommendations of less confidence are not applied; default: 0.
    """

    stale_days: Maybe[_Days] = 30
    min_score: Maybe[Confidence] = 0.3
    expect: Maybe[Annotated[Label, Field(description="digest of the plan you saw")]] = None
    min_confidence: Maybe[Confidence] = 0.0


class Applied(Response):
    """The applied recommendations, as one commit (S4-015)."""

    merged: int
    archived: int
    deleted: int
    applied: list[Recommended]
    errors: list[dict[str, Any]]
    written: Written


def apply(ctx: Context, request: Apply) -> Applied:
    """Merge, archive and delete as recommended: one commit, which can be reverted."""
    write_context = write_here(ctx, request)
    apply_result = consolidate_lessons(
        ctx.repo,
        ctx.search,
        _service_request(ctx, write_context.branch, request),
        Applying(
            write_context.origin,
            ctx.chat,
            _client(ctx),
            request.expect,
            request.min_confidence or 0.0,
        ),
    )
    count_by_action = {
        action: sum(
            len(recommendation.touched)
            for recommendation in apply_result.done
            if recommendation.action == action
        )
        for action in ("merge", "archive", "delete")
    }
    return Applied(
        merged=count_by_action["merge"],
        archived=count_by_action["archive"],
        deleted=count_by_action["delete"],
        applied=_recommended(apply_result.done),
        errors=apply_result.plan.errors,
        written=written(write_context.branch.name, apply_result.commit, notes=apply_result.notes),
    )


def _service_request(
    ctx: Context, branch: Branch, request: Preview | Apply
) -> ConsolidationRequest:
    stale_days = 30.0 if request.stale_days is None else request.stale_days
    min_score = 0.3 if request.min_score is None else request.min_score
    return ConsolidationRequest(branch, ctx.clock(), stale_days, min_score)


def _client(ctx: Context) -> str:
    """Return the owner of a kept plan: token, client and agent, as far as they are known."""
    caller, agent_id = ctx.caller, agent_of(ctx.caller) or ""
    token_and_client = caller.access.token_id, caller.client
    return (
        "/".join((*(client_id or "" for client_id in token_and_client), agent_id))
        if any(token_and_client)
        else agent_id
    )


def _read(ctx: Context, branch: Branch, findings: Findings, *notes: Note) -> Read:
    read_state = state_of(ctx, branch.name)
    return read_state.model_copy(update={"notes": [*read_state.notes, *findings.notes, *notes]})


def _ids(rows: Any) -> list[str]:
    return [str(row["id"]) for row in rows]


def _recommended(plan: Any) -> list[Recommended]:
    return [Recommended.from_record(recommendation) for recommendation in plan]


OPERATIONS: Final = (
    Operation("memory_consolidate_preview", preview, Effect.READ),
    Operation("memory_consolidate", consolidate, Effect.READ),
    Operation("memory_consolidate_apply", apply, Effect.DESTROY, idempotent=True),
)
