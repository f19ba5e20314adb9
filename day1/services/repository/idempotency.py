"""Repeated writes: recognize them by request id, or by equal content within a minute.

Both are looked up in the unit of work that would add the row, so two equal writes at once add one
row. Both callers get that row.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from day1.errors import Advice, RequestReused
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.kind import EDIT, WHOLE, Cell, Kind, Row, cell_value, complete
from day1.model.values.instant import SECOND
from day1.ports.ledger import Ledger
from day1.ports.reading import Reading

T = TypeVar("T")

MINUTE = 60 * SECOND
_WRITER_COLUMNS = ("agent_id", "session_id", "task_id", "source")

BY_REQUEST = "This request was answered before: nothing was written again."
LATELY = (
    "The same content was written less than a minute ago: this is that row, and nothing was "
    "written. To keep both, give each write its own request_id."
)


def written_by(
    reading: Reading, kind: Kind, row_id: str, columns: Mapping[str, Cell]
) -> Row | None:
    """Find the row that an earlier call with the same request id wrote; None if there is none.

    Its columns must equal `columns`, except for those that were edited since.

    Raises:
        RequestReused: the earlier call wrote something else, or its row was removed since.
    """
    row = reading.get(kind, [row_id]).get(row_id)
    if row is not None and (
        row.get("content_hash") == REDACTED_HASH
        or all(row[column] == value for column, value in columns.items())
    ):
        return row
    edits = reading.find(EDIT, Query(equal={"row_id": row_id}))
    if row is None and not edits:
        return None
    edited_cells = {edit["cell"] for edit in edits}
    edited_columns = {
        column for group in kind.groups if group[0] in edited_cells for column in group
    }
    if row is None:
        raise RequestReused(
            f"The row {row_id}, which this request_id wrote, was removed since.",
            Advice("{memory_restore} brings it back; a new request_id writes it again."),
            id=row_id,
        )
    if any(
        row[column_name] != value
        for column_name, value in columns.items()
        if column_name not in edited_columns
    ):
        raise reused(row_id)
    return row


def made_by(ledger: Ledger, kind: type[T], record_id: str, **fields: object) -> T | None:
    """Find the record that an earlier call with the same request id made; None if there is none.

    Raises:
        RequestReused: the earlier call made something else.
    """
    record = ledger.record(kind, record_id)
    if record is not None and any(getattr(record, name) != value for name, value in fields.items()):
        raise reused(record_id)
    return record


def reused(first: str) -> RequestReused:
    """Build the error for a request id that was used before for something else."""
    return RequestReused(
        f"This request_id was used before, for something else: it made {first}. Use another one "
        "for each call, and the same one only to try that call again.",
        id=first,
    )


def written_lately(rows: Sequence[Row], kind: Kind, row: Row) -> Row | None:
    """Find a row with the same content by the same writer, less than a minute older."""
    compared_columns = (*kind.group(WHOLE), *_WRITER_COLUMNS)
    for earlier_row in rows:
        time_between = int(row["created_at"] or 0) - int(earlier_row["created_at"] or 0)
        if time_between < MINUTE and all(
            earlier_row[column] == row[column] for column in compared_columns
        ):
            return earlier_row
    return None


def edited_before(
    work: Reading,
    first_edit: str | None,
    row_id: str,
    same: Callable[[Row, Collection[Cell]], bool],
) -> int | None:
    """Return the time at which a request edited a row; None if the request is new.

    Args:
        work: a unit of work on the branch.
        first_edit: the id that the request gives its first edit.
        row_id: the row to edit.
        same: the test whether an earlier edit was by this request, given the values by cell
            that it set and the cells edited since.

    Raises:
        RequestReused: the request id was used before, for another edit.
    """
    edit = None if first_edit is None else work.get(EDIT, [first_edit]).get(first_edit)
    if edit is None:
        return None
    edited_at = int(edit["created_at"] or 0)
    row_edits = work.find(EDIT, Query(equal={"row_id": row_id}))
    value_by_cell = {
        str(row_edit["cell"]): row_edit["value"]
        for row_edit in row_edits
        if row_edit["created_at"] == edited_at
    }
    cells_edited_since = {
        row_edit["cell"] for row_edit in row_edits if int(row_edit["created_at"] or 0) > edited_at
    }
    if edit["row_id"] != row_id or not same(value_by_cell, cells_edited_since):
        raise reused(str(first_edit))
    return edited_at


def sets(kind: Kind, row: Row, columns: Row) -> Callable[[Row, Collection[Cell]], bool]:
    """Build the test whether a request's earlier edits set these columns.

    A cell that already had the requested value got no edit: it still has that value, or was
    edited since.
    """
    row_after = {**row, **complete(kind, columns)}
    cells_to_set = [group[0] for group in kind.groups if columns.keys() & set(group)]

    def same(values: Row, since: Collection[Cell]) -> bool:
        return all(
            values[cell] == cell_value(kind, row_after, cell)
            if cell in values
            else cell in since
            or all(
                row[column] == value
                for column, value in columns.items()
                if column in kind.group(cell)
            )
            for cell in cells_to_set
        )

    return same
