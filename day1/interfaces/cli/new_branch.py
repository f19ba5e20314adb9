"""Creates a branch, for `day1 branch` and `day1 switch -c`."""

from __future__ import annotations

from typing import Any

from day1.interfaces.cli.session import Session


def create_branch(
    session: Session, name: str, start: str | None, description: str | None
) -> dict[str, Any]:
    """Create branch `name` from `start`, else from the current branch; answers like the tool."""
    return session.call(
        "memory_branch_create",
        branch_name=name,
        parent_branch=start or session.branch(),
        description=description,
    )
