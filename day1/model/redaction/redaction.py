"""The record of a redaction; `mask.py` applies it."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class Redaction:
    """A redaction: a row, and the hashes of the texts that it ever had."""

    KIND: ClassVar = RecordKind("redactions", ("row_id",))

    id: str
    row_id: str
    row_kind: str
    rows: tuple[str, ...]
    """The ids of the row and of its copies."""
    hashes: tuple[str, ...]
    masked_rows: int
    """The number of rows that the redaction masked on the branches of that time."""
    branches: int
    """The number of branches that had such rows."""
    reason: str | None
    agent_id: str | None
    created_at: int
    purged_at: int | None = None
    """The time at which the store's files were last rewritten without the masked words."""
