"""Says of a store that it is the copy of another one."""

from dataclasses import dataclass

from day1.model.rows.change import CommitId


@dataclass(frozen=True, slots=True)
class Clone:
    """Says of a store that it is the copy of another one, or half of it."""

    id: CommitId
    """The other store's first commit."""
    created_at: int
    whole: bool = False
