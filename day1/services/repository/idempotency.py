"""Repeated writes: known by the request id, or by the same words within a minute.

Both are looked up in the unit of work that would add the row, so two equal writes at once add one
row. The answer is that row.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from day1.errors import Advice, RequestReused
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.kind import EDIT, WHOLE, Cell, Kind, Row
from day1.model.values.instant import SECOND
from day1.ports.ledger import Ledger
from day1.ports.reading import Reading

T = TypeVar("T")

MINUTE = 60 * SECOND
_OF_A_WRITER = ("agent_id", "session_id", "task_id", "source")

BY_REQUEST = "This request was answered before: nothing was written again."
LATELY = (
    "The same was written less than a minute ago: this is that row, and nothing was written. "
    "Give each a request_id of its own to keep both."
)


def written_by(reading: Reading, kind: Kind, row_id: str, given: Mapping[str, Cell]) -> Row | None:
    """The row of a request that has been answered before; None if it has not.

    What was edited since may differ from what is `given`, and nothing else.

    Raises:
        RequestReused: the request wrote something else, or its row was removed since.
    """
    found = reading.get(kind, [row_id]).get(row_id)
    if found is not None and (
        found.get("content_hash") == REDACTED_HASH
        or all(found[column] == value for column, value in given.items())
    ):
        return found
    edits = reading.find(EDIT, Query(equal={"row_id": row_id}))
    if found is None and not edits:
        return None
    cells = {edit["cell"] for edit in edits}
    edited = {column for group in kind.groups if group[0] in cells for column in group}
    if found is None:
        raise RequestReused(
            f"What this request wrote, {row_id}, was removed since.",
            Advice("{memory_restore} brings it back, another request_id writes it anew."),
            id=row_id,
        )
    if any(found[c] != value for c, value in given.items() if c not in edited):
        raise reused(row_id)
    return found


def made_by(ledger: Ledger, kind: type[T], record_id: str, **given: object) -> T | None:
    """The record of a request that has been answered before; None if it has not.

    Raises:
        RequestReused: the request made something else.
    """
    found = ledger.record(kind, record_id)
    if found is not None and any(getattr(found, name) != value for name, value in given.items()):
        raise reused(record_id)
    return found


def reused(first: str) -> RequestReused:
    """Say of a request id that it was used for something else."""
    return RequestReused(
        f"This request_id was used before, for something else: it made {first}. Use another one "
        "for each call, and the same one only to try that call again.",
        id=first,
    )


def written_lately(rows: Sequence[Row], kind: Kind, row: Row) -> Row | None:
    """The one of `rows` that says the same, by the same writer, less than a minute ago."""
    columns = (*kind.group(WHOLE), *_OF_A_WRITER)
    for before in rows:
        age = int(row["created_at"] or 0) - int(before["created_at"] or 0)
        if age < MINUTE and all(before[c] == row[c] for c in columns):
            return before
    return None
