"""The protocol of an engine's own SQL; the code above it is the same for all engines."""

from collections.abc import Mapping, MutableMapping, Set
from typing import Final, Protocol

from sqlalchemy import Connection

from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, Commit, CommitId
from day1.model.rows.kind import Cell, Kind

Touched = Mapping[str, Set[str]]
"""Ids of rows by table."""
Versions = tuple[int, int]
"""The versions of the schemas of two states, the earlier state first."""
_FEW: Final = 32
"""Number of unknown commits of a walk at which all are read, instead of one commit at a time."""


class Dialect(Protocol):
    """The statements of an engine, run on a connection of its `Connections`."""

    told: tuple[str, ...]
    """SQL for the branch's head, the schema's version and the engine's time, if it has them.

    The statement that counts pending rows reads them too."""

    tables: str
    """The statement that lists the tables of a connection's state."""

    def head(self, connection: Connection) -> CommitId:
        """Return the newest commit of the connection's branch."""

    def resolve(self, connection: Connection, name: str) -> CommitId:
        """Return the commit that a branch's name or a commit's id means.

        Raises:
            NotFound: no branch or commit has this name.
        """

    def read(self, connection: Connection, commit: CommitId) -> Commit:
        """Read a commit."""

    def read_all(
        self, connection: Connection, start: CommitId, known: MutableMapping[CommitId, Commit]
    ) -> list[CommitId]:
        """List all commits reachable from `start`, and add missing ones to `known`."""

    def read_further(
        self,
        connection: Connection,
        commit: CommitId,
        known: MutableMapping[CommitId, Commit],
        times: int,
    ) -> None:
        """Read a commit that a walk reached, and perhaps earlier ones, which it will reach next.

        `times` is how often the walk has read before.
        """
        if times + 1 == _FEW:
            self.read_all(connection, commit, known)
        else:
            known[commit] = self.read(connection, commit)

    def add_past(
        self,
        connection: Connection,
        start: CommitId,
        known: MutableMapping[CommitId, Commit],
        found: MutableMapping[CommitId, Commit],
    ) -> None:
        """Add to `found` a commit and all before it; only what is not in `known` is read.

        A commit that is in `found` was added with all before it, so it is not visited again.
        """
        commits_to_visit, read_count = [start], 0
        while commits_to_visit:
            commit_id = commits_to_visit.pop()
            if commit_id not in found:
                if commit_id not in known:
                    self.read_further(connection, commit_id, known, read_count)
                    read_count += 1
                found[commit_id] = known[commit_id]
                commits_to_visit += found[commit_id].parents

    def merge_base(self, connection: Connection, one: CommitId, other: CommitId) -> CommitId:
        """Return the merge base of two commits."""

    def branches(self, connection: Connection) -> dict[str, CommitId]:
        """Return the tip of each branch, by name."""

    def dirty(self, connection: Connection) -> set[str]:
        """Return the names of the branches with pending rows."""

    def tags(self, connection: Connection) -> dict[str, CommitId]:
        """Return the commit of each tag, by name."""

    def version(self, connection: Connection, commit: CommitId) -> int:
        """Return the version of a commit's schema."""

    def changes(
        self, connection: Connection, base: CommitId, to: str, mask: Mask, versions: Versions
    ) -> Changes:
        """Return the rows that differ between a commit and a state, seen through the mask.

        `to` is a commit, or `WORKING`: the connection's branch with its pending rows. Rows that
        differ only in masked cells are left out, since no reader sees a difference.
        """

    def uncommitted(
        self, connection: Connection, mask: Mask, touched: Touched, version: int
    ) -> Changes:
        """Return the branch's changes since its head, including the open transaction.

        `touched` names the rows that the transaction wrote, for engines that do not know it.
        """

    def is_dirty(self, connection: Connection) -> bool:
        """Whether the branch differs from its head, including the open transaction."""

    def written_rows(self, connection: Connection) -> int | None:
        """Return the engine's count of the rows that a connection wrote; None if it has none."""

    def peer_commits(self, connection: Connection) -> int | None:
        """Return a number that changes when another connection writes to the branch, or None.

        In a writing transaction it does not change.
        """

    def row(
        self, connection: Connection, kind: Kind, row_id: str, commit: CommitId, version: int
    ) -> tuple[Cell, ...] | None:
        """Look up a row at a commit by its key; columns that the schema lacks are None."""

    def start_merge(self, connection: Connection, source: CommitId) -> bool:
        """Start the engine's merge of a commit into the branch; conflicts keep its value.

        Returns:
            Whether there are conflicts to clear.
        """

    def clear_conflicts(self, connection: Connection) -> None:
        """Mark every conflict of the merge as resolved."""

    def step(self, connection: Connection) -> None:
        """Add the columns of the present schema to the branch's tables, unless they exist."""

    def commit(
        self, connection: Connection, text: str, author: str, *, empty: bool
    ) -> CommitId | None:
        """Commit the transaction and its rows as one commit.

        Without changes the result is None, or with `empty` a commit without changes.
        """
