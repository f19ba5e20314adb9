"""An engine's own SQL; everything above is the same for all engines."""

from collections.abc import Mapping, MutableMapping, Set
from typing import Protocol

from sqlalchemy import Connection

from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, Commit, CommitId
from day1.model.rows.kind import Cell, Kind

Touched = Mapping[str, Set[str]]
"""Ids of rows by table."""
Versions = tuple[int, int]
"""Of the schemas of two states, the earlier first."""


class Dialect(Protocol):
    """An engine's own statements, on a connection of its `Connections`."""

    told: tuple[str, ...]
    """Expressions for the head of the connection's branch, the version of its schema and the
    engine's time, where it has them: the statement that counts the pending rows reads them too."""

    tables: str
    """The statement that lists the tables of a connection's state."""

    def head(self, connection: Connection) -> CommitId:
        """The newest commit of the connection's branch."""

    def resolve(self, connection: Connection, name: str) -> CommitId:
        """The commit that the name of a branch or the id of a commit means.

        Raises:
            NotFound: there is neither.
        """

    def read(self, connection: Connection, commit: CommitId) -> Commit:
        """One commit."""

    def read_all(
        self, connection: Connection, start: CommitId, known: MutableMapping[CommitId, Commit]
    ) -> list[CommitId]:
        """Every commit reachable from `start`; those that are not yet `known` are added to it."""

    def merge_base(self, connection: Connection, one: CommitId, other: CommitId) -> CommitId:
        """The merge base of two commits."""

    def branches(self, connection: Connection) -> dict[str, CommitId]:
        """Every branch with its tip."""

    def dirty(self, connection: Connection) -> set[str]:
        """Branches with pending rows."""

    def tags(self, connection: Connection) -> dict[str, CommitId]:
        """Every tag with its commit."""

    def version(self, connection: Connection, commit: CommitId) -> int:
        """The version of the schema of a commit."""

    def changes(
        self, connection: Connection, base: CommitId, to: str, mask: Mask, versions: Versions
    ) -> Changes:
        """Rows that differ between a commit and a state, as the mask has them.

        `to` is a commit, or `WORKING`: the connection's branch with its pending rows. Rows that
        differ only in what is masked are left out, since no reader sees a difference.
        """

    def uncommitted(
        self, connection: Connection, mask: Mask, touched: Touched, version: int
    ) -> Changes:
        """The changes on the connection's branch since its head, the open transaction included.

        `touched` says which rows the transaction wrote: not every engine knows.
        """

    def row(
        self, connection: Connection, kind: Kind, row_id: str, commit: CommitId, version: int
    ) -> tuple[Cell, ...] | None:
        """One row at a commit: a lookup by key. Columns that its schema lacks are None."""

    def start_merge(self, connection: Connection, source: CommitId) -> None:
        """Begin to merge a commit into the branch; rows in conflict keep the branch's value."""

    def clear_conflicts(self, connection: Connection) -> None:
        """Mark every conflict of the merge as resolved."""

    def step(self, connection: Connection) -> None:
        """Give the branch's tables the younger columns; what an earlier try made is left."""

    def commit(
        self, connection: Connection, text: str, author: str, *, empty: bool
    ) -> CommitId | None:
        """Make the transaction one commit, durable with its rows.

        With `empty` a commit without changes is made, else the result is None.
        """
