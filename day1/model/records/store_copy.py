"""The mark of a store that was copied from another one."""

from dataclasses import dataclass

from day1.model.rows.change import CommitId


@dataclass(frozen=True, slots=True)
class CopyMark:
    """The mark of a store that is a copy of another one, or a copy that is not finished."""

    id: CommitId
    """The other store's first commit."""
    created_at: int
    whole: bool = False
