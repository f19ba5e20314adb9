"""Who writes, for which session and task, and how the row came here."""

from dataclasses import dataclass
from typing import Literal

from day1.model.kind import Row

Source = Literal["user", "agent", "tool", "import", "merge"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The columns that a row gets once, when it first enters a store."""

    agent_id: str | None = None
    session_id: str | None = None
    task_id: str | None = None
    source: Source = "agent"

    def columns(self, now: int) -> Row:
        """The origin columns of a row that is learned at `now`."""
        return {
            "agent_id": self.agent_id,
            "session_id": self.session_id,
            "task_id": self.task_id,
            "source": self.source,
            "created_at": now,
            "origin_id": None,
            "origin_branch": None,
        }
