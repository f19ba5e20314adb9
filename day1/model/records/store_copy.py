"""The mark of a store that was copied from another one."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.rows.change import CommitId
from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class CopyMark:
    """The mark of a store that is a copy of another one, or a copy that is not finished."""

    KIND: ClassVar = RecordKind("clones", carried=False)

    id: CommitId
    """The first commit of the store that was copied."""
    created_at: int
    whole: bool = False
