"""The record of a redaction. What it masks, and how, is in `mask.py`."""

from dataclasses import dataclass
from typing import ClassVar

from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was redacted: a row, and the hashes of the texts that it had until then."""

    KIND: ClassVar = RecordKind("redactions", ("row_id",))

    id: str
    row_id: str
    row_kind: str
    rows: tuple[str, ...]
    """The row, and its copies."""
    hashes: tuple[str, ...]
    masked_rows: int
    """Rows that it masked, as the branches were then."""
    branches: int
    """Branches that had such rows."""
    reason: str | None
    agent_id: str | None
    created_at: int
    purged_at: int | None = None
    """When the store's files were last rewritten without what it masks."""
