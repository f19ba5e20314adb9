"""The mask: how a redacted row reads. Every reading of rows applies it.

The rule: a text is redacted by its content. Every row of any kind with exactly this text, whenever
it was written, reads as if it held `[redacted]`, hash included. So does what copies it, such as the
title of a conversation. A new text that a redacted row gets
later is shown. A row's other words (category, tool input and output, thinking, title, entities
and the like) are redacted by the row: they are not shown in a listed row, nor in a conversation's
copies of it, whoever changes them.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import Query
from day1.model.rows.json_columns import read_side
from day1.model.rows.kind import (
    BY_TABLE,
    CONVERSATION,
    EDIT,
    FACT,
    HELD,
    KINDS,
    MESSAGE,
    Cell,
    Kind,
    Row,
    canonical,
    complete,
    text_of,
)
from day1.model.values.ids import content_hash

REDACTED: Final = "[redacted]"
REDACTED_HASH: Final = content_hash(REDACTED)


def _hidden(kind: Kind, how: Literal["with_text", "with_row"]) -> Row:
    """Return the redacted columns and their replacements; values other than text become empty."""
    is_text_by_column = {
        column.name: column.type in {"label", "text"}
        for column in kind.column.values()
        if column.redacted == how
    }
    return {name: REDACTED if is_text else None for name, is_text in is_text_by_column.items()}


_BY_ROW: Final = {kind: _hidden(kind, "with_row") for kind in KINDS}
_BY_TEXT: Final = {
    kind: {**_hidden(kind, "with_text"), "content_hash": REDACTED_HASH}
    for kind in KINDS
    if kind.text
}
_KEYS: Final = frozenset({"id", "origin_id", "content_hash", *(kind.about for kind in KINDS)})
_QUOTING: Final = {CONVERSATION: "title", FACT: "scores", EDIT: "reason"}
"""Columns without a hash of their own that may quote other rows."""
COPIED: Final = frozenset({CONVERSATION, MESSAGE})
"""Kinds whose rows are copied under new ids when a conversation is forked."""


@dataclass(frozen=True, slots=True)
class Mask:
    """All redactions together. Every reading of rows applies one."""

    rows: frozenset[str] = frozenset()
    """The ids of redacted rows; empty without redactions."""
    hashes: frozenset[str] = frozenset()

    def needs(self, kind: Kind, columns: Collection[str]) -> tuple[str, ...]:
        """Return the further columns that tell whether one of `columns` is masked."""
        if kind is HELD:
            key_columns: tuple[str, ...] = ("row_id", "row_kind")
            may_be_masked = not {"ours", "theirs"}.isdisjoint(columns)
        else:
            text_columns = ("content_hash",) if kind.text else ()
            key_columns = (
                kind.about,
                *(("origin_id",) if kind.about == "id" else ()),
                *text_columns,
            )
            may_be_masked = not (_BY_ROW[kind].keys() | _BY_TEXT.get(kind, {}).keys()).isdisjoint(
                columns
            )
        return (
            tuple(key_column for key_column in key_columns if key_column not in columns)
            if may_be_masked
            else ()
        )

    def tuples(
        self, kind: Kind, columns: Sequence[str], rows: Sequence[tuple[Cell, ...]]
    ) -> Sequence[tuple[Cell, ...]]:
        """Mask rows of some columns; the columns that `needs` names are among them."""
        key_indexes = [index for index, column in enumerate(columns) if column in _KEYS]
        masked_keys = self.rows | self.hashes
        quoting_column = _QUOTING.get(kind, "")
        quoting_index = columns.index(quoting_column) if quoting_column in columns else None
        return [
            row
            if kind is not HELD
            and masked_keys.isdisjoint(row[index] for index in key_indexes)
            and (
                quoting_index is None
                or row[quoting_index] is None
                or content_hash(str(row[quoting_index])) not in self.hashes
            )
            else tuple(self.row(kind, dict(zip(columns, row, strict=True))).values())
            for row in rows
        ]

    def row(self, kind: Kind, row: Row) -> Row:
        """Mask a row, or some columns of one with those that `needs` names."""
        if kind is HELD:
            return self._held(row)
        hidden_columns: Row = {}
        if row.get("content_hash") in self.hashes:
            hidden_columns |= _BY_TEXT[kind]
        if self._lists(kind, row):
            hidden_columns |= _BY_ROW[kind]
        quoting_column = _QUOTING.get(kind, "")
        if (
            row.get(quoting_column) is not None
            and content_hash(str(row[quoting_column])) in self.hashes
        ):
            hidden_columns[quoting_column] = None if quoting_column == "scores" else REDACTED
        placeholders = {
            column: cell for column, cell in hidden_columns.items() if row.get(column) is not None
        }
        return {**row, **placeholders} if placeholders else row

    def hides(self, kind: Kind, row: Row) -> frozenset[str]:
        """Return the masked columns of a row that was read."""
        text_columns = _BY_TEXT.get(kind, {}) if row.get("content_hash") == REDACTED_HASH else {}
        row_columns = _BY_ROW[kind] if self._lists(kind, row) else {}
        return frozenset({*text_columns, *row_columns})

    def _lists(self, kind: Kind, row: Row) -> bool:
        is_about_masked = row.get(kind.about) in self.rows
        return is_about_masked or (kind in COPIED and row.get("origin_id") in self.rows)

    def _held(self, row: Row) -> Row:
        """Mask a held item: both its sides are cells of another row, as JSON."""
        masked_row = dict(row)
        for side in ("ours", "theirs"):
            cells = read_side(text_of(row.get(side)))
            if cells is not None:
                kind = BY_TABLE[str(row["row_kind"])]
                masked_row[side] = canonical(self.cells(kind, str(row["row_id"]), cells))
        return masked_row

    def cells(self, kind: Kind, row_id: str, cells: Row) -> Row:
        """Mask some cells of a row."""
        masked_cells = self.row(kind, {**complete(kind, cells), "id": row_id})
        if row_id in self.rows and "content_hash" not in masked_cells:
            # Nothing tells which text they are of.
            masked_cells |= {c: cell for c, cell in _BY_TEXT.get(kind, {}).items() if c in cells}
        return {column: masked_cells[column] for column in cells}

    def narrowed(self, kind: Kind, query: Query) -> Query:
        """Narrow a query so that it finds no row by redacted values."""
        excluded_values = dict(query.without)
        if not _asked(query).isdisjoint(_BY_ROW[kind]):
            masked_ids = [row_id for row_id in self.rows if row_id.startswith(f"{kind.prefix}_")]
            excluded_values["id"] = [*excluded_values.get("id", ()), *sorted(masked_ids)]
        masked_hashes = {value for value in _values(query, "content_hash") if value in self.hashes}
        if kind.text:
            text_hashes = {content_hash(str(text)) for text in _values(query, kind.text)}
            masked_hashes |= text_hashes & self.hashes
        if masked_hashes:
            excluded_values["content_hash"] = [
                *excluded_values.get("content_hash", ()),
                *masked_hashes,
            ]
        return (
            query if excluded_values == query.without else replace(query, without=excluded_values)
        )


def _asked(query: Query) -> set[str]:
    """Return the columns on whose values a query has conditions."""
    equal_columns = {column for column, value in query.equal.items() if value is not None}
    space_column = set() if query.under is None else {"space"}
    return equal_columns | query.among.keys() | query.without.keys() | space_column


def _values(query: Query, column: str) -> Iterable[Cell]:
    """Return the values that a query accepts in a column."""
    return (
        *query.among.get(column, ()),
        *(value for name, value in query.equal.items() if name == column),
    )


CLEAR: Final = Mask()
"""The mask without any redaction."""


def mask_of(redactions: Iterable[Redaction]) -> Mask:
    """Build the mask of all these redactions together."""
    all_redactions = list(redactions)
    return Mask(
        frozenset(row_id for redaction in all_redactions for row_id in redaction.rows),
        frozenset(text_hash for redaction in all_redactions for text_hash in redaction.hashes),
    )
