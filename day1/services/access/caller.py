"""Who makes a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from day1.model.access.permissions import EVERYTHING, Access
from day1.model.rows.origin import SourceName


class Head(Protocol):
    """A client's active branch."""

    def name(self) -> str | None:
        """The branch it points at, which may be gone; None if it was never moved.

        Raises:
            UnknownBranch: it is known to be gone.
        """

    def move(self, name: str) -> None:
        """Point it at another branch."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as far as the wire knows."""

    agent_id: str | None = None
    session_id: str | None = None
    task_id: str | None = None
    source: SourceName = "agent"
    branch: str | None = None
    """A branch that the wire names for this call (`_meta`, a header)."""
    space: str | None = None
    """The space of calls that name none; None: all spaces, and for new rows none."""
    sees: tuple[str, ...] = ()
    """Spaces whose rows calls that name no space find beside those of `space`."""
    head: Head | None = None
    access: Access = EVERYTHING
    client: str | None = None
    """What tells this client from others of its token: the name it gives, or its session."""
