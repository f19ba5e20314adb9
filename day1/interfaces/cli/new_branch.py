"""Creating a branch, for the commands that do."""

from __future__ import annotations

from typing import Any

from day1.interfaces.cli.session import Session


def create_branch(
    session: Session, name: str, start: str | None, description: str | None
) -> dict[str, Any]:
    """Create branch `name` from `start`, or from the current branch; answers what the tool does."""
    return session.call(
        "memory_branch_create",
        branch_name=name,
        parent_branch=start or session.branch(),
        description=description,
    )
