"""The tools for goals and the workspace: what competes, what is attended to, and what leaves."""

from typing import Annotated, Final

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Request, Response, Text
from day1.call.operation import Effect, Operation
from day1.model.workspace.mind import Goal, Mind
from day1.services.workspace.desks import change_mind, seat_of
from day1.toolsets.shared.fields import Maybe

Priority = Annotated[float, Field(ge=0.1, le=2.0, allow_inf_nan=False)]


class GwtSetGoal(Request):
    """The arguments of `gwt_set_goal` (S0-003).

    Attributes:
        description: What the work is for.
        keywords: Words that matter to it.
        priority: How much it weighs, from 0.1 to 2.0.
    """

    description: Annotated[Text, Field(max_length=2_000)]
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
    seat, now = seat_of(ctx), ctx.clock()
    goal = Goal(
        ctx.repo.new_id("goal", now),
        request.description,
        tuple(dict.fromkeys(request.keywords or ())),
        request.priority,
        now,
        seat.agent,
    )

    def change(mind: Mind) -> Mind:
        return mind.with_goal(goal)

    change_mind(ctx.repo, seat, change, now)
    return GoalSet(
        goal_id=goal.id, description=goal.description, priority=goal.priority, status="active"
    )


OPERATIONS: Final = (Operation("gwt_set_goal", gwt_set_goal, Effect.WRITE, scope="read"),)
