"""What the tests of reviews ask a server."""

from typing import Any

from tests.wires.mcp_session import Session


def opened(core: Session, source: str, target: str, **more: Any) -> str:
    """Open a review; gives its id."""
    made: str = core.ok("review_open", source_branch=source, target_branch=target, **more)["id"]
    return made


def shown(core: Session, review: str, **more: Any) -> dict[str, Any]:
    return core.ok("review_show", review_id=review, **more)


def row(core: Session, review: str, row_id: str) -> dict[str, Any]:
    """One row of a review's first page."""
    (found,) = [r for r in shown(core, review, limit=200)["rows"] if r["id"] == row_id]
    return found


def decide(
    core: Session, review: str, row_id: str, take: str, cell: str | None = None, **more: Any
) -> dict[str, Any]:
    """Decide one row or cell; what is said of the reviewer comes in `by`."""
    who = {"agent_id": more.pop("by", None)}
    decision = {"id": row_id, "take": take, "cell": cell, **more}
    return core.ok("review_decide", review_id=review, decisions=[decision], **who)


def groups(answer: dict[str, Any]) -> dict[str, int]:
    """The groups that have rows."""
    return {name: count for name, count in answer["counts"].items() if count}
