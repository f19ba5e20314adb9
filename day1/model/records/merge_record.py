"""The ledger's record of a merge."""

from dataclasses import dataclass
from typing import ClassVar

from day1.errors import Json
from day1.model.rows.change import CommitId
from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """A merge that was done, or found nothing to do (`commit` is None)."""

    KIND: ClassVar = RecordKind(
        "merges",
        ("source_id", "target_id"),
        branch_ids=("target_id",),  # the target's own log tells where a merge came from
    )

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
    """The review that the merge concludes."""
