"""The tools for goals and the workspace: what competes, what is attended to, and what leaves."""

from typing import Annotated, Any, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Request, Response, ShortText
from day1.call.operation import Effect, Operation
from day1.model.workspace.mind import Goal, Mind
from day1.toolsets.gwt.errors import unsupported
from day1.toolsets.gwt.fields import (
    TARGETS,
    BroadcastText,
    Competed,
    GoalShown,
    PlaceShown,
    Stats,
    TargetName,
    goal_shown,
    stats_shown,
)
from day1.toolsets.shared.fields import Maybe, absent

Priority = Annotated[float, Field(ge=0.1, le=2.0, allow_inf_nan=False)]


class GwtSetGoal(Request):
    """The arguments of `gwt_set_goal` (S0-003).

    Attributes:
        description: What the work is for.
        keywords: Words that matter to it.
        priority: How much it weighs, from 0.1 to 2.0.
    """

    description: ShortText
    keywords: Maybe[Labels] = None
    priority: Priority = 1.0


class GoalSet(Response):
    """The goal that is active now."""

    goal_id: str
    description: str
    priority: float
    status: Label


def gwt_set_goal(ctx: Context, request: GwtSetGoal) -> GoalSet:
    """Say what the work is for; memories that fit the goal enter the workspace."""
    from day1.services.workspace.desks import (  # noqa: PLC0415 - a server starts without it
        change_mind,
        seat_of,
    )

    workspace_owner, now = seat_of(ctx), ctx.clock()
    goal = Goal(
        ctx.repo.new_id("goal", now),
        request.description,
        tuple(dict.fromkeys(request.keywords or ())),
        request.priority,
        now,
        workspace_owner.agent,
    )

    def change(mind: Mind) -> Mind:
        return mind.with_goal(goal)

    change_mind(ctx.repo, workspace_owner, change, now)
    return GoalSet(
        goal_id=goal.id, description=goal.description, priority=goal.priority, status="active"
    )


class GwtCompete(Request):
    """The arguments of `gwt_compete` (S0-005).

    Attributes:
        n_slots: How many places there are.
    """

    n_slots: Maybe[Annotated[int, Field(ge=1, le=50)]] = None


def gwt_compete(ctx: Context, request: GwtCompete) -> Competed:
    """Show which memories would win a place now, and why; changes nothing."""
    from day1.toolsets.gwt import rounds  # noqa: PLC0415 - a server starts without it

    return rounds.competed(ctx, request.n_slots)


class GwtBroadcast(Request):
    """`gwt_broadcast` has no arguments (S0-004)."""


def gwt_broadcast(ctx: Context, _: GwtBroadcast) -> BroadcastText:
    """Fill the workspace with the winners and return it as one text."""
    from day1.toolsets.gwt import rounds  # noqa: PLC0415 - a server starts without it

    return rounds.broadcast(ctx)


class GwtEvict(Request):
    """The arguments of `gwt_evict` (S0-039).

    Attributes:
        item_id: The id of the memory.
    """

    item_id: Label


class Evicted(Response):
    """A memory that was taken from the workspace or buffer; the store keeps it (S0-039)."""

    status: Label
    id: str
    item_id: str
    state: str
    message: str


def gwt_evict(ctx: Context, request: GwtEvict) -> Evicted:
    """Take a memory out of the workspace, for as long as the goal is active."""
    from day1.toolsets.gwt import rounds  # noqa: PLC0415 - a server starts without it

    place = rounds.evict(ctx.repo, rounds.seat_of(ctx), request.item_id, ctx.clock())
    return Evicted(
        status="evicted",
        id=request.item_id,
        item_id=request.item_id,
        state="long_term",
        message=f"It left the {place} and stays out while the goal is active; memory keeps it.",
    )


class GwtInspect(Request):
    """The arguments of `gwt_inspect` (S0-020).

    Attributes:
        target: What to show.
    """

    target: TargetName = "workspace"


class Inspected(Response):
    """The part of a workspace that `target` names (S0-020); other parts are missing."""

    target: str
    status: Label
    items: list[PlaceShown] | None = absent()
    goals: list[GoalShown] | None = absent()
    stats: Stats | None = absent()
    broadcast_bus: dict[str, Any] | None = absent()


def gwt_inspect(ctx: Context, request: GwtInspect) -> Inspected:
    """Show the workspace, the buffer, the goals, numbers, or the last bus result."""
    from day1.toolsets.gwt import rounds  # noqa: PLC0415 - a server starts without it

    if request.target not in TARGETS:
        raise unsupported("target", request.target, "supported_targets", TARGETS)
    workspace_owner = rounds.seat_of(ctx)
    workspace_state = rounds.mind_of(ctx.repo, workspace_owner)
    answer_fields: dict[str, Any] = {}
    match request.target:
        case "workspace":
            answer_fields["items"] = rounds.places(
                ctx, workspace_owner, workspace_state.workspace, "conscious"
            )
        case "buffer":
            answer_fields["items"] = rounds.places(
                ctx, workspace_owner, workspace_state.buffer, "preconscious"
            )
        case "goals":
            newest_index = len(workspace_state.goals) - 1
            answer_fields["goals"] = [
                goal_shown(goal, is_active=index == newest_index)
                for index, goal in enumerate(workspace_state.goals)
            ]
        case "stats":
            answer_fields["stats"] = stats_shown(workspace_state)
        case _:
            answer_fields["broadcast_bus"] = rounds.bus_shown(ctx, workspace_owner, workspace_state)
    return Inspected(target=request.target, status="ok", **answer_fields)


OPERATIONS: Final = (
    Operation("gwt_set_goal", gwt_set_goal, Effect.WRITE, scope="read"),
    Operation("gwt_broadcast", gwt_broadcast, Effect.WRITE, scope="read", plain=True),
    Operation("gwt_compete", gwt_compete, Effect.READ),
    Operation("gwt_evict", gwt_evict, Effect.WRITE, scope="read"),
    Operation("gwt_inspect", gwt_inspect, Effect.READ),
)
