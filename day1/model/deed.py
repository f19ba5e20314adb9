"""Ledger rows about deeds: snapshots, merges, what was copied, and what is still to be done."""

from collections.abc import Mapping
from dataclasses import dataclass

from day1.errors import Json
from day1.model.change import CommitId


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A labelled commit of a branch."""

    id: str
    label: str | None
    branch_id: str
    commit: CommitId
    created_at: int


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """A merge that was done, or found nothing to do (`commit` is None)."""

    id: str
    source_id: str
    target_id: str
    source_commit: CommitId
    base: CommitId
    commit: CommitId | None
    strategy: str
    merged_count: int
    rejected_count: int
    choices: Json
    decided_by: str | None
    created_at: int
    review_id: str | None = None
    """The review that it concludes."""


@dataclass(frozen=True, slots=True)
class Clone:
    """Says of a store that it is the copy of another one, or half of it."""

    id: CommitId
    """The other store's first commit."""
    created_at: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Intent:
    """What the engine is about to be asked, with all that finishing or withdrawing it needs."""

    id: str
    op: str
    payload: Mapping[str, Json]
    created_at: int
