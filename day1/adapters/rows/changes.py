"""Turns the columns that an engine answers into rows, and a difference into row changes."""

from collections.abc import Iterable, Sequence

from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, RowChange
from day1.model.rows.kind import Cell, Kind, Row


def row_of(kind: Kind, values: Sequence[Cell]) -> Row:
    """A row from its columns, in their order."""
    return dict(zip(kind.columns, values, strict=True))


def row_changes(kind: Kind, pairs: Iterable[Sequence[Cell]], mask: Mask) -> list[RowChange]:
    """Rows that differ, by id; each comes as its columns after, then before.

    A side that has no row has no id there.
    """
    width, found = len(kind.columns), []
    for values in pairs:
        after = row_of(kind, values[:width]) if values[0] is not None else None
        before = row_of(kind, values[width:]) if values[width] is not None else None
        if mask.rows:
            before, after = (r and mask.row(kind, r) for r in (before, after))
            if before == after:
                continue
        found.append(RowChange(str((after or before or {})["id"]), before, after))
    found.sort(key=lambda change: change.id)
    return found


def until(changes: Changes, instant: int) -> Changes:
    """Leave out rows that were added after an instant."""
    kept = {
        table: [
            c
            for c in rows
            if c.before is not None or c.after is None or int(c.after["created_at"] or 0) <= instant
        ]
        for table, rows in changes.items()
    }
    return {table: rows for table, rows in kept.items() if rows}
