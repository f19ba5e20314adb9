"""Tasks: objectives that several agents work on, each on a branch of its own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from day1.model.values.record_kind import RecordKind

ObjectiveStatus = Literal["pending", "in_progress", "completed"]
ROOT: Final = "task"
"""The prefix of tasks' branches: `task/{task}`, `task/{task}/{agent}`."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task; its status is derived from its objectives."""

    KIND: ClassVar = RecordKind("tasks", ("task_type",), branch_ids=("branch_id",))

    id: str
    name: str
    description: str | None
    task_type: str | None
    tags: tuple[str, ...]
    branch_id: str
    created_by: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class TaskAgent:
    """An agent that has joined a task."""

    KIND: ClassVar = RecordKind("task_agents", ("task_id", "agent_id"), branch_ids=("branch_id",))

    id: str
    task_id: str
    agent_id: str
    role: str | None
    assigned: tuple[int, ...]
    """Indices of the objectives that the agent took on."""
    branch_id: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Objective:
    """One aim of a task; `position` is its index, from 0."""

    KIND: ClassVar = RecordKind("objectives", ("task_id",), part_of={"task_id": Task})

    id: str
    task_id: str
    position: int
    description: str
    priority: str | None
    status: ObjectiveStatus
    agent_id: str | None
    notes: str | None
    started_at: int | None
    completed_at: int | None
    updated_at: int
    created_at: int


def status_of(objectives: Iterable[Objective]) -> ObjectiveStatus:
    """Return the status of a task: completed when all objectives are, pending if none is begun."""
    statuses = {objective.status for objective in objectives}
    if statuses == {"completed"}:
        return "completed"
    return "in_progress" if statuses - {"pending"} else "pending"
