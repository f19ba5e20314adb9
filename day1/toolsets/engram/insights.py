"""The tool of engram for insights, which are derived from lessons."""

from typing import Annotated, Final, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Repeatable, Response, Written, written
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.lessons.experience import experience_of
from day1.model.rows.change import Ref
from day1.model.rows.kind import Row
from day1.model.values.instant import show
from day1.services.access.calls import branch_of, write_here
from day1.services.lessons.insights import delete, generate, insights_of, sources_of
from day1.services.lessons.portable import project_of, row_id_of
from day1.toolsets.shared.fields import Maybe, absent


class MemoryInsights(Repeatable):
    """The arguments of `memory_insights` (S4-016).

    Attributes:
        action: list shows insights; generate derives them anew from lessons, delete removes one:
            these two need a token with the scope write.
        id: The insight to delete.
    """

    action: Maybe[Literal["list", "generate", "delete"]] = "list"
    id: Maybe[Annotated[Label, Field(description="for delete")]] = None


class Insight(Response):
    """What several lessons have in common."""

    id: str
    memory_type: str
    text: str
    context: str | None = absent()
    action: str | None = absent()
    result: str | None = absent()
    project: str | None = absent()
    source_ids: list[str]
    created_at: str


class Insights(Response):
    """The insights after the call, and its changes (S4-017)."""

    insights: list[Insight]
    generated: int | None = absent()
    replaced: int | None = absent()
    deleted: str | None = absent()
    degraded: bool | None = absent()
    written: Written


def memory_insights(ctx: Context, request: MemoryInsights) -> Insights:
    """List, generate or delete insights drawn from lessons."""
    requested_action = request.action or "list"
    if requested_action != "list":
        ctx.caller.access.require("write", f"To {requested_action} insights")
    match requested_action:
        case "generate":
            write_context = write_here(ctx, request)
            generate_result = generate(
                ctx.repo, write_context.branch, write_context.origin, ctx.chat, ctx.clock()
            )
            return Insights(
                insights=[_shown(row) for row in generate_result.insights],
                generated=generate_result.added,
                replaced=generate_result.removed,
                degraded=generate_result.degraded,
                written=written(write_context.branch.name, generate_result.commit),
            )
        case "delete":
            if request.id is None:
                raise InvalidRequest(
                    "`id` is missing: name the insight to delete; action=list shows the ids."
                )
            write_context = write_here(ctx, request)
            row_id = row_id_of(request.id)
            delete_commit = delete(ctx.repo, write_context.branch, row_id, write_context.origin)
            remaining_insights, _ = _listed(ctx, write_context.branch.name)
            written_state = written(write_context.branch.name, delete_commit)
            return Insights(insights=remaining_insights, deleted=request.id, written=written_state)
        case _:
            all_insights, written_state = _listed(ctx, branch_of(ctx).name)
            return Insights(insights=all_insights, written=written_state)


def _listed(ctx: Context, branch: str) -> tuple[list[Insight], Written]:
    with ctx.repo.store.reading(Ref(branch=branch)) as reading:
        insight_rows = insights_of(reading, ctx.clock())
        return [_shown(row) for row in insight_rows], written(
            branch, reading.tip, reading.pending.count
        )


def _shown(row: Row) -> Insight:
    experience = experience_of(row)
    return Insight(
        id=str(row["id"]),
        memory_type=str(row["category"]),
        text=str(row["fact_text"]),
        context=None if experience is None else experience.context,
        action=None if experience is None else experience.action,
        result=None if experience is None else experience.result,
        project=project_of(row["space"]),
        source_ids=sources_of(row),
        created_at=show(int(row["created_at"] or 0)),
    )


OPERATIONS: Final = (
    Operation("memory_insights", memory_insights, Effect.DESTROY, idempotent=True, scope="read"),
)
