"""A labelled commit of a branch."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.rows.change import CommitId
from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A labelled commit of a branch."""

    KIND: ClassVar = RecordKind("snapshots", ("branch_id",), branch_ids=("branch_id",))

    id: str
    label: str | None
    branch_id: str
    commit: CommitId
    created_at: int
