"""Sessions: who wrote on which branch, so that rows of a session, agent or task are found."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.values.ids import short_hash
from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class Session:
    """One writer on one branch, noted before its first row there."""

    KIND: ClassVar = RecordKind(
        "sessions",
        ("branch_id", "agent_id", "session_id", "task_id"),
        branch_ids=("branch_id",),
    )

    id: str
    branch_id: str
    agent_id: str | None
    session_id: str | None
    task_id: str | None
    created_at: int
    token_id: str | None = None


def session_of(
    branch_id: str,
    names: tuple[str | None, str | None, str | None],
    now: int,
    token_id: str | None = None,
) -> Session:
    """Build the record of a writer (agent, session, task); equal ones on a branch share an id."""
    name_parts = ["" if name is None else f"={name}" for name in names]
    session_hash = short_hash(branch_id, *name_parts, *([] if token_id is None else [token_id]))
    return Session(session_hash, branch_id, *names, now, token_id)
