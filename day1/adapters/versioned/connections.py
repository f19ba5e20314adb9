"""Connections to an engine, each on the branch or the commit asked for."""

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection

from day1.model.rows.change import CommitId


class Connections(Protocol):
    """Gives connections to a branch or a commit."""

    slow_at_commit: bool = False
    """Whether a connection at a commit costs much more than one on a branch whose tip it is."""
    own_caches: bool = False
    """Whether each connection keeps what it has read for itself, not the engine for all."""

    def on_branch(self, branch: str) -> AbstractContextManager[Connection]:
        """A connection whose plain table names mean `branch`.

        Leaving the block rolls back what was not committed.

        Raises:
            UnknownBranch: the engine has no such branch.
        """

    def at_commit(self, commit: CommitId) -> AbstractContextManager[Connection]:
        """A read-only connection at a commit.

        Raises:
            NotFound: there is no such commit.
        """

    def exclusive(self, branch: str) -> AbstractContextManager[Connection]:
        """As `on_branch`, while nobody else has a unit of work on the branch.

        Raises:
            StoreBusy: another writer held it for longer than the limit.
        """

    def fresh(self, branch: str = "main") -> AbstractContextManager[Connection]:
        """As `on_branch`, for single reads of the graph: it knows every peer's commits."""

    def begin(self, connection: Connection, *, writes: bool) -> None:
        """Begin a transaction, whose reads all see one state."""

    def end(self, connection: Connection) -> None:
        """Make the transaction durable."""

    def close(self) -> None:
        """Close every connection that is not in use."""
