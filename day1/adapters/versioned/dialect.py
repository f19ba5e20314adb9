"""What each engine says in words of its own; everything above is the same for all of them."""

from collections.abc import Mapping, MutableMapping, Set
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection

from day1.model.records.redaction import Mask
from day1.model.rows.change import Changes, Commit, CommitId, Pending
from day1.model.rows.kind import Cell, Kind

Touched = Mapping[str, Set[str]]
"""Ids of rows by table."""


@dataclass(frozen=True, slots=True)
class BranchState:
    """What one statement tells of a branch."""

    head: CommitId
    pending: Pending
    """Rows later than the instant that was asked about."""
    now: int | None = None
    """The engine's own time (microseconds since 1970 UTC), where it tells that along."""


class Dialect(Protocol):
    """An engine's own statements, on a connection that a `Places` gave."""

    def head(self, connection: Connection) -> CommitId:
        """The newest commit of the branch that the connection stands on."""

    def state(self, connection: Connection, after: int) -> BranchState:
        """The head of the connection's branch, and which memories are later than an instant."""

    def resolve(self, connection: Connection, name: str) -> CommitId:
        """The commit that a branch's or a commit's name means.

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
        """The commit at which two histories last were one."""

    def branches(self, connection: Connection) -> dict[str, CommitId]:
        """Every branch with its tip."""

    def dirty(self, connection: Connection) -> set[str]:
        """Branches that have rows which no commit holds yet."""

    def tags(self, connection: Connection) -> dict[str, CommitId]:
        """Every tag with its commit."""

    def changes(self, connection: Connection, base: CommitId, to: str, mask: Mask) -> Changes:
        """Rows that differ between a commit and a state, as the mask has them.

        `to` is a commit, or `WORKING`: the connection's branch with its waiting rows. What differs
        only in what is masked does not differ to any reader, plans included.
        """

    def uncommitted(self, connection: Connection, mask: Mask, touched: Touched) -> Changes:
        """What the connection's branch has beyond its head, the open transaction included.

        `touched` says which rows that wrote: not every engine can tell.
        """

    def row(
        self, connection: Connection, kind: Kind, row_id: str, commit: CommitId
    ) -> tuple[Cell, ...] | None:
        """One row at a commit: a lookup by key."""

    def start_merge(self, connection: Connection, source: CommitId) -> None:
        """Begin to merge a commit into the branch; what clashes is left as the branch has it."""

    def clear_conflicts(self, connection: Connection) -> None:
        """Say of every clash of the merge that the rows are now as they are to be."""

    def commit(
        self, connection: Connection, text: str, author: str, *, empty: bool
    ) -> CommitId | None:
        """Make the transaction one commit, durable with its rows.

        `empty` lets a commit without changes be made, else it is None.
        """
