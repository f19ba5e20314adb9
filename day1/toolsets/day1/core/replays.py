"""The tool that tells what tasks of one type had in common."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Read, Request, Response, Space
from day1.call.operation import Effect, Operation
from day1.model.branches.branch import MAIN
from day1.model.records.task import Objective, status_of
from day1.model.records.task_pattern import Pattern, TaskStep
from day1.model.values.instant import show, show_optional
from day1.services.access.calls import in_space
from day1.services.tasks.replaying import Replay, replay, seconds
from day1.toolsets.shared.answers import state_of

_ERRORS = 20
"""Maximum number of errors shown of one task: the newest."""


class ReplayTaskType(Request):
    """The arguments of `memory_replay_task_type` (S1-061).

    Attributes:
        task_type: The type of the tasks to compare, as memory_task_create was given it.
        limit: How many tasks to compare at most; the newest are chosen.
        space: As in memory_search.
    """

    task_type: Label
    limit: Annotated[int, Field(ge=1, le=100, description="tasks, the newest")] | None = 20
    space: Space | None = None


class StepShown(Response):
    """An observation, as a step of a task that is replayed."""

    id: str
    type: str
    summary: str
    agent_id: str | None


class ErrorShown(StepShown):
    """An error and its agent's next observation."""

    followed_by: StepShown | None


class ObjectiveReplayed(Response):
    """An objective; `id` is its index."""

    id: int
    description: str
    status: str
    agent_id: str | None
    duration_s: float | None


class TaskReplayed(Response):
    """The history of one task."""

    task_id: str
    name: str
    status: str
    branch: str | None
    created_at: str
    completed_at: str | None
    duration_s: float | None
    agents: list[str]
    objectives: list[ObjectiveReplayed]
    completed_order: list[int]
    tools: dict[str, int]
    errors: list[ErrorShown]
    counts: dict[str, int]


class PatternShown(Response):
    """A pattern that recurs in `support` of `of` tasks, with the ids of its rows."""

    pattern: str
    text: str
    support: int
    of: int
    tasks: list[str]
    ids: list[str]
    value: float | None
    followed_by: list[StepShown]


class Replayed(Response):
    """How tasks of a type went, and what they have in common (S1-061)."""

    task_type: str
    task_count: int
    tasks: list[TaskReplayed]
    patterns: list[PatternShown]
    read: Read


def memory_replay_task_type(ctx: Context, request: ReplayTaskType) -> Replayed:
    """Compare tasks of a type: times, order of objectives, tools, errors, recurring facts."""
    replay_result = replay(
        ctx.repo, ctx.search, request.task_type, request.limit or 20, in_space(ctx, request.space)
    )
    notes = list(replay_result.notes)
    if any(len(task.errors) > _ERRORS for task in replay_result.tasks):
        notes.append(f"Of each task the newest {_ERRORS} errors are shown.")
    if len(replay_result.tasks) < replay_result.count:
        notes.append(
            f"These are the newest {len(replay_result.tasks)} of {replay_result.count} tasks."
        )
    return Replayed(
        task_type=request.task_type,
        task_count=replay_result.count,
        tasks=[_task(task) for task in replay_result.tasks],
        patterns=[
            _pattern(pattern, len(replay_result.tasks)) for pattern in replay_result.patterns
        ],
        read=state_of(ctx, MAIN).model_copy(update={"notes": notes}),
    )


def _task(replayed: Replay) -> TaskReplayed:
    task_state = replayed.state
    return TaskReplayed.from_record(
        replayed,
        task_id=task_state.task.id,
        name=task_state.task.name,
        status=status_of(task_state.objectives),
        created_at=show(task_state.task.created_at),
        completed_at=show_optional(replayed.completed_at),
        agents=[agent.agent_id for agent in task_state.agents],
        objectives=[_objective(objective) for objective in task_state.objectives],
        completed_order=[objective.position for objective in replayed.finished],
        tools=dict(replayed.tools.most_common()),
        errors=[_error(error_step) for error_step in replayed.errors[-_ERRORS:]],
    )


def _objective(objective: Objective) -> ObjectiveReplayed:
    return ObjectiveReplayed.from_record(
        objective,
        id=objective.position,
        duration_s=seconds(objective.started_at, objective.completed_at),
    )


def _error(step: TaskStep) -> ErrorShown:
    next_step = step.followed_by
    return ErrorShown(
        **_step(step).model_dump(), followed_by=None if next_step is None else _step(next_step)
    )


def _step(step: TaskStep) -> StepShown:
    return StepShown.from_record(step, type=step.observation_type)


def _pattern(pattern: Pattern, of: int) -> PatternShown:
    return PatternShown.from_record(
        pattern,
        pattern=pattern.name,
        support=len(pattern.tasks),
        of=of,
        followed_by=[_step(step) for step in pattern.followed_by],
    )


REPLAY = Operation("memory_replay_task_type", memory_replay_task_type, Effect.READ)
