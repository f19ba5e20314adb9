"""Rows of one state.

Every method of a store that reaches the engine may raise `StoreUnavailable` (a retry may
succeed) or `StoreDamaged`. Other errors are named beside the method.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, Commit, CommitId, Pending, Query, ReadState
from day1.model.rows.kind import Cell, Kind, Row


class Reading(Protocol):
    """Rows of one state. All reads of one Reading see the same state."""

    @property
    def branch(self) -> str | None:
        """The branch that is read; None if a commit is read by its id."""

    @property
    def tip(self) -> CommitId:
        """The commit that is read; the pending rows come on top of it."""

    @property
    def pending(self) -> Pending:
        """Rows of this state that are in no commit yet."""

    @property
    def state(self) -> ReadState:
        """The commit that is read, with the pending rows on top of it."""
        return ReadState(self.tip, self.pending)

    @property
    def mask(self) -> Mask:
        """The redactions: rows are masked by them, and no query finds the hidden words."""

    def get(self, kind: Kind, ids: Sequence[str], columns: Sequence[str] = ()) -> dict[str, Row]:
        """Return rows by id; unknown ids are left out.

        With `columns`, the rows have their id and these columns; else all.
        """

    def find(self, kind: Kind, query: Query, columns: Sequence[str] = ()) -> list[Row]:
        """List rows by conditions, ordered as `place_in_time`, whatever order the query says.

        Args:
            kind: the kind of the rows.
            query: the conditions, and at most how many rows.
            columns: the columns of the rows, those of `place_in_time` among them; default: all.
        """

    def scan(self, kind: Kind, columns: Sequence[str], query: Query) -> list[tuple[Cell, ...]]:
        """Return some columns of the rows that `find` would give, as tuples.

        In the order that the query says, else in that of ids, or with `created_after` in that of
        `created_at`.
        """

    def count(self, kind: Kind, equal: Mapping[str, Cell] | None = None) -> int:
        """Count the rows of a kind, or those with these values."""

    def tally(self, kind: Kind, column: str, query: Query | None = None) -> dict[Cell, int]:
        """Count the rows by their value of `column`: all of a kind, or those that a query finds."""

    def size(self, kind: Kind, column: str, query: Query) -> int:
        """Sum the bytes that a text column has in the rows that a query finds, hidden ones too."""

    def log(self) -> Iterator[Commit]:
        """Yield the commit of this state and its first parents, newest first."""

    def merge_base(self, other: CommitId) -> CommitId:
        """Return the merge base of this state and an older commit."""

    def changes(self, base: CommitId, of: "Reading | None" = None) -> Changes:
        """Return the rows that differ between a commit and this state; the cost grows with them.

        With `of`, an older reading of the same store: the rows that differ in that one's state. Who
        goes on with this reading asks it.
        """
