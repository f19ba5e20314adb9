"""Tasks: objectives that several agents work on, each on a branch of its own."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from day1.model.branch import MAX_NAME

ObjectiveStatus = Literal["pending", "in_progress", "completed"]
ROOT: Final = "task"
"""Where the branches of tasks are: `task/{task}`, `task/{task}/{agent}`."""
_LONGEST_PART: Final = 40


@dataclass(frozen=True, slots=True)
class Task:
    """A task; its status follows its objectives."""

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
    """The status of a task: completed when all objectives are, pending while none is begun."""
    found = {objective.status for objective in objectives}
    if found == {"completed"}:
        return "completed"
    return "in_progress" if found - {"pending"} else "pending"


def branch_part(name: str) -> str:
    """A name as one part of a branch name: `Fix login!` is `fix-login`.

    Letters that a branch name cannot have become hyphens; a name of none of its letters is `x`.
    """
    plain = re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-._")
    plain = re.sub(r"\.{2,}", ".", plain)[:_LONGEST_PART].rstrip("-._").removesuffix(".lock")
    return plain or "x"


def numbered(name: str, taken: Iterable[str]) -> str:
    """The name, or the name with the first number from 2 on that is not taken."""
    folded = {other.lower() for other in taken}
    if name.lower() not in folded:
        return name
    stem = name[: MAX_NAME - 6]
    return next(
        candidate
        for candidate in (f"{stem}-{number}" for number in range(2, len(folded) + 3))
        if candidate.lower() not in folded
    )
