"""Tasks: each has a branch, a branch below it for every agent that joins, and objectives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from day1.errors import Advice, InvalidRequest, NotFound
from day1.model.branches.branch import Branch
from day1.model.branches.names import branch_part
from day1.model.records.task import ROOT, Objective, ObjectiveStatus, Task, TaskAgent
from day1.model.values.ids import short_hash
from day1.services.branches.forking import NewBranch, fork_under, new_below
from day1.services.branches.lookup import revival_of
from day1.services.branches.retiring import revive
from day1.services.repository.idempotency import made_by
from day1.services.repository.repository import Repository, find_record


@dataclass(frozen=True, slots=True)
class NewObjective:
    """An objective to create."""

    description: str
    priority: str | None = None


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task with its agents and objectives, the latter in the order of their index."""

    task: Task
    agents: list[TaskAgent]
    objectives: list[Objective]


def create_task(
    repo: Repository, task: Task, parent: Branch, aims: Sequence[NewObjective]
) -> Branch:
    """Create a task and its branch `task/{name}`; a number is added if the name is taken.

    The `branch_id` of `task` is set to that of the new branch.

    Raises:
        RequestReused: the request opened another task.
    """
    now = task.created_at

    def make_branch(name: str) -> NewBranch:
        branch = new_below(repo, parent, name, now)
        branch = replace(branch, description=task.description, task_id=task.id)
        objectives = [_objective(task.id, position, aim, now) for position, aim in enumerate(aims)]
        return branch, (replace(task, branch_id=branch.id), *objectives)

    def existing_branch() -> Branch | None:
        task_fields = {
            "name": task.name,
            "description": task.description,
            "task_type": task.task_type,
        }
        earlier_task = made_by(repo.ledger, Task, task.id, **task_fields, tags=task.tags)
        return None if earlier_task is None else repo.ledger.record(Branch, earlier_task.branch_id)

    return fork_under(
        repo, lambda: f"{ROOT}/{branch_part(task.name)}", make_branch, existing_branch
    )


def _objective(task_id: str, position: int, aim: NewObjective, now: int) -> Objective:
    return Objective(
        id=f"{task_id}:{position:04}",
        task_id=task_id,
        position=position,
        description=aim.description,
        priority=aim.priority,
        status="pending",
        agent_id=None,
        notes=None,
        started_at=None,
        completed_at=None,
        updated_at=now,
        created_at=now,
    )


def find_task(repo: Repository, task_id: str) -> Task:
    """Find a task by its id.

    Raises:
        NotFound: no task has this id.
    """
    advice = Advice("{memory_task_create} returns the id to use.")
    return find_record(repo, Task, task_id, advice)


def task_state(repo: Repository, task_id: str) -> TaskState:
    """Return a task with its agents and the states of its objectives.

    Raises:
        NotFound: there is no such task.
    """
    task = find_task(repo, task_id)
    agents = repo.ledger.records(TaskAgent, task_id=task_id)
    objectives = repo.ledger.records(Objective, task_id=task_id)
    return TaskState(task, agents, sorted(objectives, key=lambda o: o.position))


def tasks(repo: Repository, task_type: str | None = None) -> list[TaskState]:
    """Return all tasks, or the tasks of a type, the newest first."""
    type_filter = {} if task_type is None else {"task_type": task_type}
    task_records = repo.ledger.records(Task, **type_filter)
    return [task_state(repo, task.id) for task in reversed(task_records)]


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """An agent that joins a task; a field that is None is not changed on joining again."""

    task_id: str
    agent_id: str
    role: str | None = None
    assigned: Sequence[int] | None = None
    """Indices of the objectives assigned to the agent."""


def join(repo: Repository, request: JoinRequest, now: int) -> Branch:
    """Give an agent its branch of a task; joining again returns it and updates role and objectives.

    An agent whose branch was squashed or deleted gets a new one.

    Raises:
        NotFound: there is no such task.
        InvalidRequest: the task has no objective with an assigned index.
    """
    task_id, agent_id, assigned_indices = request.task_id, request.agent_id, request.assigned
    task = find_task(repo, task_id)
    task_branch = repo.ledger.record(Branch, task.branch_id)
    if assigned_indices:
        objective_count = len(repo.ledger.records(Objective, task_id=task_id))
        unknown_indices = [i for i in assigned_indices if not 0 <= i < objective_count]
        if unknown_indices:
            _refuse_indices(unknown_indices, objective_count)
    if task_branch is None:
        raise NotFound(
            "The task's branch was deleted.",
            Advice("{memory_task_create} opens a new task."),
            task_id=task_id,
        )
    if task_branch.retired_tip is not None:
        raise NotFound(
            f"The task's branch {task_branch.name!r} was retired.",
            Advice("{revive} brings it back.", revive=revival_of(task_branch)),
            task_id=task_id,
        )
    parent = task_branch
    member_id = short_hash(task_id, agent_id)

    def make_branch(name: str) -> NewBranch:
        branch = replace(
            new_below(repo, parent, name, now), task_id=task_id, agent_id=agent_id, owner=agent_id
        )
        current_member = repo.ledger.record(TaskAgent, member_id)
        member = current_member or TaskAgent(member_id, task_id, agent_id, None, (), "", now)
        return branch, (_updated_member(replace(member, branch_id=branch.id), request),)

    def existing_branch() -> Branch | None:
        member = repo.ledger.record(TaskAgent, member_id)
        agent_branch = None if member is None else repo.ledger.record(Branch, member.branch_id)
        if member is None or agent_branch is None:
            return None
        if agent_branch.closed:  # it was squashed: new rows need an open branch
            return None
        if _updated_member(member, request) != member:
            with repo.ledger.transaction():
                member = repo.ledger.record(TaskAgent, member_id) or member
                repo.ledger.put(_updated_member(member, request))
        return revive(repo, agent_branch, now)

    return fork_under(
        repo, lambda: f"{parent.name}/{branch_part(agent_id)}", make_branch, existing_branch
    )


def _updated_member(member: TaskAgent, request: JoinRequest) -> TaskAgent:
    """Return the member with the role and objectives of the request."""
    requested_indices = request.assigned
    assigned_indices = (
        member.assigned if requested_indices is None else tuple(dict.fromkeys(requested_indices))
    )
    return replace(member, role=request.role or member.role, assigned=assigned_indices)


def _refuse_indices(unknown: Sequence[int], count: int) -> None:
    index_range = f"0 to {count - 1}" if count else "none"
    raise InvalidRequest(
        f"This task has no objective {', '.join(map(str, unknown))}; "
        f"its indices are {index_range}.",
        objectives=list(unknown),
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """An objective before and after an update, and the task after it."""

    before: Objective
    after: Objective
    state: TaskState


@dataclass(frozen=True, slots=True)
class ObjectiveUpdate:
    """The new status of an objective; an agent or notes of None are not changed."""

    task_id: str
    index: int
    """Index of the objective in its task, from 0."""
    status: ObjectiveStatus
    agent_id: str | None = None
    notes: str | None = None


def update_objective(repo: Repository, update: ObjectiveUpdate, now: int) -> Progress:
    """Set the status of an objective. Concurrent updates are serialized.

    Raises:
        NotFound: there is no such task.
        InvalidRequest: the task has no objective with this index.
    """
    with repo.ledger.transaction():
        current_task, index = task_state(repo, update.task_id), update.index
        objectives = current_task.objectives
        if not 0 <= index < len(objectives):
            _refuse_indices([index], len(objectives))
        old_objective = objectives[index]
        started_at = None if update.status == "pending" else old_objective.started_at or now
        completed_at = None if update.status != "completed" else old_objective.completed_at or now
        new_objective = replace(
            old_objective,
            status=update.status,
            agent_id=update.agent_id or old_objective.agent_id,
            notes=update.notes or old_objective.notes,
            started_at=started_at,
            completed_at=completed_at,
            updated_at=max(now, old_objective.updated_at + 1),
        )
        repo.ledger.put(new_objective)
    objectives[index] = new_objective
    return Progress(old_objective, new_objective, current_task)


def task_branches(repo: Repository, state: TaskState) -> Mapping[str, Branch]:
    """Return the branches of a task by id: its own first, then its agents' in joining order."""
    branch_ids = [state.task.branch_id, *(agent.branch_id for agent in state.agents)]
    branch_by_id = {
        branch.id: branch for branch in repo.ledger.records(Branch, task_id=state.task.id)
    }
    return {
        branch_id: branch_by_id[branch_id] for branch_id in branch_ids if branch_id in branch_by_id
    }
