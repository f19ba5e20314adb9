"""The protocol of connections to an engine, each on a branch or at a commit."""

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection

from day1.model.rows.change import CommitId


class Connections(Protocol):
    """Opens connections on branches and at commits."""

    slow_at_commit: bool = False
    """Whether opening a connection at a commit is much slower than on a branch with that tip."""
    own_caches: bool = False
    """Whether each connection has a cache of its own, instead of one cache in the engine."""

    def on_branch(self, branch: str) -> AbstractContextManager[Connection]:
        """Open a connection whose plain table names mean `branch`.

        Leaving the block rolls back what was not committed.

        Raises:
            UnknownBranch: the engine has no such branch.
        """

    def at_commit(self, commit: CommitId) -> AbstractContextManager[Connection]:
        """Open a read-only connection at a commit.

        Raises:
            NotFound: there is no such commit.
        """

    def exclusive(self, branch: str) -> AbstractContextManager[Connection]:
        """Open a connection as `on_branch` and lock out other units of work on the branch.

        Raises:
            StoreBusy: another writer held the lock for longer than the limit.
        """

    def fresh(self, branch: str = "main") -> AbstractContextManager[Connection]:
        """Open a connection as `on_branch` that sees all commits of other processes."""
        return self.on_branch(branch)

    def begin(self, connection: Connection, *, writes: bool) -> None:
        """Begin a transaction, whose reads all see one state."""

    def end(self, connection: Connection) -> None:
        """Make the transaction durable."""

    def close(self) -> None:
        """Close all connections that are not in use."""
