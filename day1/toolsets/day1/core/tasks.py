"""Tools for tasks: create, join, status, update."""

from typing import Annotated

from pydantic import AfterValidator, Field

from day1.call.context import Context
from day1.call.fields import Label, Labels, Read, Repeatable, Request, Response, Text, Time, Written
from day1.call.operation import Effect, Operation
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.task import Objective, ObjectiveStatus, Task, TaskAgent, status_of
from day1.model.rows.validation import MAX_INTEGER
from day1.model.values.instant import show
from day1.services.access.calls import agent_of, branch_of, repeatable
from day1.services.branches.lookup import name_of
from day1.services.branches.tree import states
from day1.services.tasks.tasks import (
    JoinRequest,
    NewObjective,
    ObjectiveUpdate,
    TaskState,
    create_task,
    join,
    task_state,
    update_objective,
)
from day1.toolsets.shared.answers import state_of

MOST_OBJECTIVES = 200
ObjectiveIndex = Annotated[int, Field(ge=0, lt=MOST_OBJECTIVES)]


def _within(number: int) -> int:
    if not -MAX_INTEGER <= number <= MAX_INTEGER:
        raise ValueError("must be a number from -2^53 to 2^53")
    return number


Number = Annotated[int, Field(strict=True), AfterValidator(_within)]


class ObjectiveAsked(Request):
    """A new objective (S1-048).

    Attributes:
        description: What is to be reached.
        priority: How urgent it is, as a word or a number; it is only shown.
    """

    description: Text
    priority: Label | Number | None = None


class TaskCreate(Repeatable):
    """The arguments of `memory_task_create` (S1-048).

    Attributes:
        name: The task's name. Its branch is named after it: task/ and the name in small letters.
        description: What the task is about.
        task_type: The kind of task, such as bug_fix or feature: memory_replay_task_type compares
            tasks of one type.
        tags: Labels of the task; they are only shown.
        objectives: What is to be reached. Later calls name an objective by its place in this list,
            from 0.
        parent_branch: The branch that the task's own branch is forked from.
    """

    name: Label
    description: Text | None = None
    task_type: Annotated[Label | None, Field(description="bug_fix, feature …")] = None
    tags: Labels | None = None
    objectives: Annotated[list[ObjectiveAsked], Field(max_length=MOST_OBJECTIVES)] | None = None
    parent_branch: Label | None = MAIN


class ObjectiveShown(Response):
    """An objective; `id` is its index, from 0 (S1-055)."""

    id: int
    description: str
    priority: str | None
    status: str
    assigned_to: list[str]
    agent_id: str | None
    notes: str | None
    started_at: Time | None
    completed_at: Time | None
    updated_at: Time


class TaskCreated(Response):
    """A new task, and its branch (S1-049)."""

    task_id: str
    branch_name: str
    objectives: list[ObjectiveShown]
    written: Written


def task_create(ctx: Context, request: TaskCreate) -> TaskCreated:
    """Open a task with objectives, on a branch of its own."""
    now, repo = ctx.clock(), repeatable(ctx, request)
    task = Task(
        id=repo.new_id("task", now),
        name=request.name,
        description=request.description,
        task_type=request.task_type,
        tags=tuple(request.tags or ()),
        branch_id="",
        created_by=agent_of(ctx.caller),
        created_at=now,
    )
    new_objectives = [
        NewObjective(
            objective.description, None if objective.priority is None else str(objective.priority)
        )
        for objective in request.objectives or ()
    ]
    task_branch = create_task(
        repo, task, branch_of(ctx, request.parent_branch or MAIN), new_objectives
    )
    return TaskCreated(
        task_id=task.id,
        branch_name=task_branch.name,
        objectives=_objectives(task_state(ctx.repo, task.id)),
        written=_forked(task_branch),
    )


class TaskJoin(Repeatable):
    """The arguments of `memory_task_join` (S1-050).

    Attributes:
        task_id: The task, by the id that memory_task_create answered.
        agent_id: Who joins. Joining again under the same name answers the same branch.
        role: What the agent does in it, such as implementer, reviewer or tester; default: the role
            it has.
        assigned_objectives: The objectives that the agent takes on, by their places from 0;
            default: those it has.
    """

    task_id: Label
    agent_id: Label
    role: Annotated[Label | None, Field(description="implementer, reviewer, tester …")] = None
    assigned_objectives: list[ObjectiveIndex] | None = None


class TaskJoined(Response):
    """The agent's own branch of a task (S1-051)."""

    branch_name: str
    objectives: list[ObjectiveShown]
    task_id: str
    task_branch: str
    written: Written


def task_join(ctx: Context, request: TaskJoin) -> TaskJoined:
    """Join a task: you get your own branch of it, the same one each time. Write there."""
    agent_id = agent_of(ctx.caller, request.agent_id) or request.agent_id
    join_request = JoinRequest(request.task_id, agent_id, request.role, request.assigned_objectives)
    agent_branch = join(ctx.repo, join_request, ctx.clock())
    joined_task = task_state(ctx.repo, request.task_id)
    return TaskJoined(
        branch_name=agent_branch.name,
        objectives=_objectives(joined_task),
        task_id=request.task_id,
        task_branch=name_of(ctx.repo, joined_task.task.branch_id),
        written=_forked(agent_branch),
    )


class TaskStatus(Request):
    """The arguments of `memory_task_status` (S1-052).

    Attributes:
        task_id: The task, by the id that memory_task_create answered.
    """

    task_id: Label


class TaskShown(Response):
    """A task; its status follows from its objectives."""

    task_id: str
    name: str
    description: str | None
    task_type: str | None
    tags: list[str]
    status: str
    branch_name: str
    branch_status: str
    created_by: str | None
    created_at: Time


class AgentShown(Response):
    """An agent that joined."""

    agent_id: str
    role: str | None
    branch_name: str
    branch_status: str
    assigned_objectives: list[int]
    joined_at: Time


class TaskWhole(Response):
    """A task with its agents, their branches, and its objectives (S1-052)."""

    task: TaskShown
    agents: list[AgentShown]
    objectives: list[ObjectiveShown]
    read: Read


def task_status(ctx: Context, request: TaskStatus) -> TaskWhole:
    """A task with its agents, their branches, and its objectives."""
    current_state = task_state(ctx.repo, request.task_id)
    task = current_state.task
    name_and_status_by_branch_id = {
        branch_state.branch.id: (branch_state.branch.name, branch_state.status)
        for branch_state in states(ctx.repo)
    }
    branch_name, branch_status = name_and_status_by_branch_id.get(task.branch_id, ("", "gone"))
    return TaskWhole(
        task=TaskShown.from_record(
            task,
            task_id=task.id,
            status=status_of(current_state.objectives),
            branch_name=branch_name,
            branch_status=branch_status,
        ),
        agents=[
            _agent(agent, *name_and_status_by_branch_id.get(agent.branch_id, ("", "gone")))
            for agent in current_state.agents
        ],
        objectives=_objectives(current_state),
        read=_branch_state(ctx, current_state),
    )


class TaskUpdate(Repeatable):
    """The arguments of `memory_task_update` (S1-053).

    Attributes:
        task_id: The task, by the id that memory_task_create answered.
        objective_id: The objective, by its place from 0.
        status: How far it is. The status of the task follows from those of its objectives.
        agent_id: Who works on it; default: the connection's or token's agent, else who did before.
        notes: Notes on it; default: the notes it has.
    """

    task_id: Label
    objective_id: Annotated[ObjectiveIndex, Field(description="index, from 0")]
    status: ObjectiveStatus
    agent_id: Label | None = None
    notes: Text | None = None


class TaskUpdated(Response):
    """The state of an objective and of its task (S1-054)."""

    task_id: str
    objective_id: int
    status: str
    previous_status: str
    agent_id: str | None
    updated_at: str
    task_status: str
    written: Written


def task_update(ctx: Context, request: TaskUpdate) -> TaskUpdated:
    """Set how far an objective is."""
    agent_id = agent_of(ctx.caller, request.agent_id)
    objective_update = ObjectiveUpdate(
        request.task_id, request.objective_id, request.status, agent_id, request.notes
    )
    update_result = update_objective(ctx.repo, objective_update, ctx.clock())
    read_state = _branch_state(ctx, update_result.state)
    return TaskUpdated(
        task_id=request.task_id,
        objective_id=request.objective_id,
        status=update_result.after.status,
        previous_status=update_result.before.status,
        agent_id=update_result.after.agent_id,
        updated_at=show(update_result.after.updated_at),
        task_status=status_of(update_result.state.objectives),
        written=Written(branch=read_state.branch or MAIN, commit=read_state.commit),
    )


def _branch_state(ctx: Context, state: TaskState) -> Read:
    """Describe the state of the task's branch, or of main if that branch is deleted."""
    task_branch = ctx.repo.ledger.record(Branch, state.task.branch_id)
    if task_branch is None or task_branch.retired_tip is not None:
        return state_of(ctx, MAIN)
    return state_of(ctx, task_branch.name)


def _objectives(state: TaskState) -> list[ObjectiveShown]:
    return [_objective(objective, state.agents) for objective in state.objectives]


def _objective(objective: Objective, agents: list[TaskAgent]) -> ObjectiveShown:
    return ObjectiveShown.from_record(
        objective,
        id=objective.position,
        assigned_to=[agent.agent_id for agent in agents if objective.position in agent.assigned],
    )


def _agent(agent: TaskAgent, branch: str, status: str) -> AgentShown:
    return AgentShown.from_record(
        agent,
        branch_name=branch,
        branch_status=status,
        assigned_objectives=agent.assigned,
        joined_at=agent.created_at,
    )


def _forked(branch: Branch) -> Written:
    return Written(branch=branch.name, commit=str(branch.fork_commit))


OPERATIONS = (
    Operation("memory_task_create", task_create, Effect.WRITE),
    Operation("memory_task_join", task_join, Effect.WRITE, idempotent=True),
    Operation("memory_task_status", task_status, Effect.READ),
    Operation("memory_task_update", task_update, Effect.WRITE, idempotent=True),
)
