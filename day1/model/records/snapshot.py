"""A labelled commit of a branch."""

from dataclasses import dataclass

from day1.model.rows.change import CommitId


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A labelled commit of a branch."""

    id: str
    label: str | None
    branch_id: str
    commit: CommitId
    created_at: int
