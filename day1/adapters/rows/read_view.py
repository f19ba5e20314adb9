"""The view of a reading: a commit or a branch, and which of its rows are visible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.model.redaction.mask import CLEAR, Mask
from day1.model.rows.change import NOTHING_PENDING, Changes, Commit, CommitId, Pending

R_contra = TypeVar("R_contra", contravariant=True)
"""An open reading."""


@dataclass(frozen=True, slots=True)
class ReadView:
    """A commit or a branch that a reading reads, and which of its rows it sees."""

    tip: CommitId
    pending: Pending = NOTHING_PENDING
    branch: str | None = None
    """The branch of the state; None for a commit."""
    until: int | None = None
    """Rows with a later `created_at` are not visible."""
    mask: Mask = CLEAR
    shown_at: int | None = None
    """The instant at which rows are shown: expired rows and secret words are hidden."""
    version: int = SCHEMA_VERSION
    """The schema version of the state: columns of later versions read as empty."""


class Past(Protocol[R_contra]):
    """Reads the commits with which a state is compared, on the connections of readings."""

    def log_over(self, connection: Connection, commit: CommitId | None) -> Iterator[Commit]:
        """Yield a commit and its first parents, read over a connection as far as not known."""

    def base(self, reading: R_contra, other: CommitId) -> CommitId:
        """Return the merge base of a reading and a commit, as `SqlReading.merge_base`."""

    def since(self, reading: R_contra, base: CommitId, through: R_contra) -> Changes:
        """Return the rows that differ between a commit and a reading, as `SqlReading.changes`."""
