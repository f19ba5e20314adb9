"""Who wrote where: what finds the rows of a session, an agent or a task on many branches."""

from dataclasses import dataclass

from day1.model.ids import short_hash


@dataclass(frozen=True, slots=True)
class Session:
    """One writer on one branch, noted before its first row there."""

    id: str
    branch_id: str
    agent_id: str | None
    session_id: str | None
    task_id: str | None
    created_at: int


def session_of(
    branch_id: str, agent_id: str | None, session_id: str | None, task_id: str | None, now: int
) -> Session:
    """Note a writer; the same writer on the same branch is the same note."""
    names = (agent_id, session_id, task_id)
    key = short_hash(branch_id, *("" if n is None else f"={n}" for n in names))
    return Session(key, branch_id, agent_id, session_id, task_id, now)
