"""Hiding secret and expired rows: what people and models see, and what leaves the store.

The words of a secret row read `[secret]`, wherever rows are listed, compared or reviewed. An
expired row is in no answer; where a change of it must be shown, its words read `[expired]`.
Unlike a redaction (`mask`) this hides nothing from merges, copies and backups, which carry the
rows as they are.
"""

from collections.abc import Collection
from typing import Final

from day1.model.redaction.mask import REDACTED
from day1.model.rows.change import Query, RowChange
from day1.model.rows.kind import KINDS, Cell, Kind, Row

SECRET: Final = "secret"  # noqa: S105 - a label
"""The `sensitivity` of a secret row."""
SECRET_MARK: Final = "[secret]"  # noqa: S105 - what stands in its place
EXPIRED_MARK: Final = "[expired]"
MARKS: Final = frozenset({SECRET_MARK, EXPIRED_MARK, REDACTED})
"""The placeholders for hidden words. Nobody can write them."""

_KEPT_COLUMNS: Final = frozenset({"content_hash", "space"})
"""Columns that a redaction hides and secrecy does not."""
_HIDDEN: Final = {
    kind: {
        c.name: c.type in {"label", "text"}
        for c in kind.column.values()
        if c.redacted is not None and c.name not in _KEPT_COLUMNS
    }
    for kind in KINDS
    if "sensitivity" in kind.column
}
"""By kind: the columns that a secret row hides -> whether a mark replaces them, or else None."""


def is_secret(row: Row | None) -> bool:
    """Whether a row, or a version of one, is secret."""
    return row is not None and row.get("sensitivity") == SECRET


def is_expired(row: Row | None, at: int) -> bool:
    """Whether a row had expired by an instant (microseconds UTC)."""
    expiry = None if row is None else row.get("expires_at")
    return expiry is not None and int(expiry) <= at


def mark_of(at: int, *versions: Row | None, past: Row | None = None) -> str | None:
    """Find the placeholder for the words of a row, or None if they may be shown.

    A row that was secret in one version is secret in all: the other may hold the same words.

    Args:
        at: the instant of the answer (microseconds UTC).
        versions: the row on each branch that is compared; None where a branch lacks it.
        past: the version that the others come from. It may be secret, but it does not make the
            words visible: a row that is expired or removed on every branch is in no answer.
    """
    if is_secret(past) or any(map(is_secret, versions)):
        return SECRET_MARK
    present_rows = [row for row in versions if row is not None]
    if not present_rows and past is None:
        return None
    return EXPIRED_MARK if all(is_expired(row, at) for row in present_rows) else None


def without_words(kind: Kind, row: Row, mark: str | None) -> Row:
    """Put a mark in place of a row's words; without a mark return the row unchanged."""
    hidden_columns = _HIDDEN.get(kind)
    if mark is None or hidden_columns is None:
        return row
    return {
        column: (mark if hidden_columns[column] else None)
        if column in hidden_columns and cell is not None
        else cell
        for column, cell in row.items()
    }


def whole_veil(kind: Kind, mark: str | None) -> Row:
    """Return the placeholder for each column of words of a kind, as `without_words` sets it."""
    hidden_columns = _HIDDEN.get(kind, {})
    return (
        {}
        if mark is None
        else {column: mark if is_text else None for column, is_text in hidden_columns.items()}
    )


def shown_row(kind: Kind, row: Row) -> Row:
    """Return a row with the mark in place of its words, if it is secret."""
    return without_words(kind, row, SECRET_MARK) if is_secret(row) else row


def shown_change(kind: Kind, change: RowChange, mark: str | None) -> RowChange:
    """Put a mark in place of the words of both versions of a change, if there is a mark."""
    if mark is None:
        return change
    before, after = (
        None if row is None else without_words(kind, row, mark)
        for row in (change.before, change.after)
    )
    return RowChange(change.id, before, after)


def tells(kind: Kind, columns: Collection[str]) -> bool:
    """Whether columns of a kind hold words that may be secret."""
    return not _HIDDEN.get(kind, {}).keys().isdisjoint(columns)


def asks_for_words(kind: Kind, query: Query) -> bool:
    """Whether a query finds rows by words that may be secret."""
    equal_columns = {column for column, cell in query.equal.items() if cell is not None}
    return tells(kind, equal_columns | query.among.keys() | query.without.keys())


def veil_tuples(
    kind: Kind, columns: tuple[str, ...], rows: Collection[tuple[Cell, ...]]
) -> list[tuple[Cell, ...]]:
    """Put the mark in place of the words of secret rows; `columns` must have `sensitivity`."""
    sensitivity_index = columns.index("sensitivity")
    return [
        tuple(without_words(kind, dict(zip(columns, row, strict=True)), SECRET_MARK).values())
        if row[sensitivity_index] == SECRET
        else row
        for row in rows
    ]
