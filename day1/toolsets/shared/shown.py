"""Rows, their columns, changes and conflicts, as tools show them."""

import json
from dataclasses import replace
from typing import Any

from day1.call.fields import Response
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import PlanRow
from day1.model.redaction.derived import veiled
from day1.model.redaction.veil import SECRET_MARK, mark_of, shown_row, without_words
from day1.model.rows.change import RowChange
from day1.model.rows.kind import MEMORIES, WHOLE, Cell, Kind, Row, revision, words_of
from day1.model.values.ids import short_hash
from day1.model.values.instant import show
from day1.model.values.parts import MAX_TEXT

_COLUMNS = {name: column for kind in MEMORIES for name, column in kind.column.items()}
_JSON = frozenset(name for name, column in _COLUMNS.items() if column.type == "json")
_TIMES = frozenset(name for name, column in _COLUMNS.items() if column.type == "time")
_YOUNGER = frozenset[str]().union(*(kind.younger for kind in MEMORIES))
_HIDDEN = frozenset(name for name, c in _COLUMNS.items() if c.private or not c.shown)


def shown(kind: Kind, row: Row, *, whole: bool = False) -> dict[str, Any]:
    """Show a row with its revision; a secret row without its words unless `whole`.

    A row that was read without its words has no revision.
    """
    shows_words = whole or row.get("sensitivity") is None
    visible_row = row if shows_words else shown_row(kind, row)
    has_words = row.get(kind.text or "") != SECRET_MARK
    row_revision = revision(kind, row) if has_words else None
    return {"type": kind.name, **shown_columns(visible_row), "revision": row_revision}


def shown_columns(columns: Row, *, whole: bool = False) -> dict[str, Any]:
    """Show columns: times as ISO, JSON as JSON, without bookkeeping.

    A column added by a later version is shown only if it has a value, so that answers stay short.
    JSON that is longer than a text is left out unless `whole`: `entry_get` and `message_list`
    answer it.
    """
    return {
        column: _shown(column, value, whole=whole)
        for column, value in columns.items()
        if column not in _HIDDEN and not (value is None and column in _YOUNGER)
    }


def _shown(column: str, value: Cell, *, whole: bool = False) -> Any:
    if value is None:
        return None
    if column in _TIMES:
        return show(int(value))
    if column not in _JSON:
        return value
    text = str(value)
    if len(text) > MAX_TEXT and not whole:
        return f"[JSON of {len(text):,} characters, left out: {short_hash(text)[:8]}]"
    return json.loads(text)


def changed(kind: Kind, change: RowChange) -> dict[str, Any]:
    """Show a changed row: its id and the columns that differ, before and after."""
    row_before, row_after = change.before or {}, change.after or {}
    changed_columns = [
        column
        for column in kind.group(WHOLE)
        if row_before[column] != row_after[column] and column not in _HIDDEN
    ]
    return {
        "type": kind.name,
        "id": change.id,
        "before": {column: _shown(column, row_before[column]) for column in changed_columns},
        "after": {column: _shown(column, row_after[column]) for column in changed_columns},
    }


def cell_text(kind: Kind, row: Row | None, cell: str) -> str:
    """Return the text of one side of a conflict; for cell `*` the words of the row."""
    if row is None:
        return ""
    if cell == WHOLE:
        return words_of(kind, row) or str(row["id"])
    shown_value = row[cell] if cell in _JSON else _shown(cell, row[cell])
    return "" if shown_value is None else str(shown_value)


def row_shown(row: PlanRow, at: int) -> PlanRow:
    """Return a plan's row as shown at an instant, with hidden words replaced by a placeholder."""
    row_sides = (row.base, row.source, row.target, row.brought)
    placeholder = mark_of(at, row.source, row.target, past=row.base)
    if placeholder is None and not row.veil:
        return row
    base, source, target, brought = (
        None if side is None else veiled(without_words(row.kind, side, placeholder), row.veil)
        for side in row_sides
    )
    result_row = brought if row.joined else row.result
    return replace(row, base=base, source=source, target=target, result=result_row)


def summary(row: PlanRow, at: int) -> dict[str, Any]:
    """Summarize one row of a plan as shown at an instant."""
    row = row_shown(row, at)
    row_text = cell_text(row.kind, row.brought or row.target, WHOLE)
    return {
        "id": row.id,
        "type": row.kind.name,
        "effect": row.effect,
        "text": row_text,
        "held": dict(row.held),
        "belongs_to": row.belongs_to,
        "decided": dict(row.decided),
    }


class ConflictShown(Response):
    """A cell that both sides changed; `source` and `target` are its values (S1-036)."""

    id: str
    type: str
    cell: str
    source: str
    target: str
    reason: str


def conflicts_of(plan: MergePlan, at: int) -> list[ConflictShown]:
    """List the held cells of a plan, with both values as shown at an instant."""
    return [
        ConflictShown(
            id=row.id,
            type=row.kind.name,
            cell=cell,
            source=cell_text(row.kind, row.source, cell),
            target=cell_text(row.kind, row.target, cell),
            reason=reason,
        )
        for row in (row_shown(row, at) for row in plan.rows if row.held)
        for cell, reason in row.held.items()
    ]
