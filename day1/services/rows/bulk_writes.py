"""What imports and copies share: reasons to leave a row unchanged, and the edits of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from day1.model.rows.change import REMOVED, Query
from day1.model.rows.kind import EDIT, WHOLE, Row
from day1.ports.reading import Reading

LeftReason = Literal["edited", "removed", "held", "redacted", "conflict", "foreign"]


@dataclass(frozen=True, slots=True)
class LeftRow:
    """A row that an import or copy left unchanged, and why.

    `foreign`: an edit that would hide a memory which the import does not bring.
    """

    id: str
    branch: str
    why: LeftReason


def edits_of(work: Reading, row_ids: Sequence[str]) -> dict[str, list[Row]]:
    """Find the edits of rows, by row id, oldest first."""
    edits_by_row: dict[str, list[Row]] = {}
    for edit in work.find(EDIT, Query(among={"row_id": row_ids})) if row_ids else ():
        edits_by_row.setdefault(str(edit["row_id"]), []).append(edit)
    return edits_by_row


def was_removed(edits: Sequence[Row]) -> bool:
    """Whether one of a row's edits removed it."""
    return any(edit["cell"] == WHOLE and edit["value"] == REMOVED for edit in edits)
