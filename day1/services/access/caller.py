"""The caller of a call and the client's active branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from day1.model.access.permissions import EVERYTHING, Access
from day1.model.rows.origin import SourceName


class Head(Protocol):
    """A client's HEAD: its active branch."""

    def name(self) -> str | None:
        """Return the active branch, which may be deleted; None if HEAD was never set.

        Raises:
            UnknownBranch: the branch is known to be deleted.
        """

    def move(self, name: str) -> None:
        """Point HEAD at another branch."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an operation, as MCP, REST or the command line identifies it."""

    agent_id: str | None = None
    session_id: str | None = None
    task_id: str | None = None
    source: SourceName = "agent"
    branch: str | None = None
    """The branch that the request names outside of its arguments (`_meta`, a header)."""
    space: str | None = None
    """The space of calls that name no space; None: all spaces, and new rows have no space."""
    sees: tuple[str, ...] = ()
    """The spaces that calls without a space read, besides the caller's `space`."""
    head: Head | None = None
    access: Access = EVERYTHING
    client: str | None = None
    """The client's name, or its session, which tells the clients of one token apart."""
