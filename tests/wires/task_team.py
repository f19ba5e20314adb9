"""A task with two agents, and what tests ask of it."""

import itertools
from typing import Any, NamedTuple

from tests.wires.mcp_session import Session

_numbers = itertools.count(1)


class Team(NamedTuple):
    """A task with two agents."""

    core: Session
    task: str
    branch: str
    ada: str
    bo: str

    def observe(self, branch: str, summary: str, kind: str = "discovery", **more: Any) -> str:
        made: str = self.core.ok(
            "memory_write_observation",
            observation_type=kind,
            summary=summary,
            branch=branch,
            **more,
        )["id"]
        return made

    def consolidate(self, level: str = "task", **more: Any) -> dict[str, Any]:
        return self.core.ok("memory_consolidate", level=level, task_id=self.task, **more)

    def facts(self, branch: str) -> list[dict[str, Any]]:
        diff = self.core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
        found: list[dict[str, Any]] = diff["new_facts"]
        return found


def team_of(core: Session, parent: str = "empty", task_type: str | None = None) -> Team:
    made = core.ok(
        "memory_task_create",
        name=f"Task memory {next(_numbers)}",
        parent_branch=parent,
        task_type=task_type,
        objectives=[{"description": "Reproduce the bug"}, {"description": "Fix the bug"}],
    )
    names = [
        core.ok("memory_task_join", task_id=made["task_id"], agent_id=agent)["branch_name"]
        for agent in ("ada", "bo")
    ]
    return Team(core, made["task_id"], made["branch_name"], *names)
