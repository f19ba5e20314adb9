"""Held items: values that a merge withheld, stored as rows until somebody decides them.

An item is open on a branch while that branch has its opening row and no closing row for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from day1.model.rows.json_columns import read_side
from day1.model.rows.kind import BY_TABLE, WHOLE, Cell, Kind, Row, canonical, written
from day1.model.values.ids import derived_id

Resolution = Literal["taken", "edited", "dismissed"]
Reason = Literal["both_changed", "delete_modify", "belongs_to", "duplicate", "skipped"]
WITHHELD: Final = frozenset[str]({"belongs_to", "duplicate", "skipped"})
"""The reasons why a merge kept out a row that the branch never had. (`delete_modify` is about a
row that was removed there.)"""


@dataclass(frozen=True, slots=True)
class HeldItem:
    """One withheld cell (column group) of a row, or with cell `*` the whole row."""

    id: str
    row_id: str
    kind: Kind
    cell: str
    ours: str | None
    """The target's value as JSON columns; None where the target has no such row."""
    theirs: str | None
    """The source's value as JSON columns; None where the source removed the row."""
    source_branch: str
    source_commit: str
    merge_id: str
    reason: str
    created_at: int

    @staticmethod
    def of(row: Mapping[str, Cell]) -> "HeldItem":
        """Read an opening row of the table `held`."""
        ours, theirs = row["ours"], row["theirs"]
        return HeldItem(
            id=str(row["id"]),
            row_id=str(row["row_id"]),
            kind=BY_TABLE[str(row["row_kind"])],
            cell=str(row["cell"]),
            ours=None if ours is None else str(ours),
            theirs=None if theirs is None else str(theirs),
            source_branch=str(row["source_branch"]),
            source_commit=str(row["source_commit"]),
            merge_id=str(row["merge_id"]),
            reason=str(row["reason"]),
            created_at=int(row["created_at"] or 0),
        )


def value_json(kind: Kind, row: Row | None, cell: str) -> str | None:
    """Write one cell of a row (`*`: every column, so that the row can come back) as JSON."""
    return None if row is None else canonical(written(kind, row, _columns(kind, cell)))


def _columns(kind: Kind, cell: str) -> tuple[str, ...]:
    return kind.columns if cell == WHOLE else kind.group(cell)


def value_of(kind: Kind, cell: str, value: str | None) -> Row | None:
    """Read one cell of a row that `value_json` wrote, with each of its columns."""
    stored_columns = read_side(value)
    absent_columns: Row = {
        column: None for column in _columns(kind, cell) if column in kind.younger
    }
    return None if stored_columns is None else {**absent_columns, **stored_columns}


def same_value(kind: Kind, row: Row | None, cell: str, value: str | None) -> bool:
    """Whether a row's cell equals a stored value; the row's origin does not count."""
    if row is None or value is None:
        return row is None and value is None
    stored_columns = read_side(value) or {}
    return all(row[column] == stored_columns.get(column) for column in kind.group(cell))


def closings(rows: Iterable[Mapping[str, Cell]]) -> frozenset[Cell]:
    """Return the ids of the items that rows of the table `held` close."""
    return frozenset(row["closes"] for row in rows if row["closes"] is not None)


def open_items(
    rows: Iterable[Mapping[str, Cell]], closed_elsewhere: frozenset[Cell] = frozenset()
) -> list[HeldItem]:
    """List the open items among all rows of a branch's table `held`, oldest first."""
    rows = list(rows)
    closed_ids = closings(rows) | closed_elsewhere
    items = [
        HeldItem.of(row) for row in rows if row["closes"] is None and row["id"] not in closed_ids
    ]
    return sorted(items, key=lambda item: (item.created_at, item.id))


def keeps_out(item: HeldItem) -> bool:
    """Whether an item withholds a whole row that the target of the merge never had.

    A branch that has the row has nothing to decide about it.
    """
    is_new = item.cell == WHOLE and item.ours is None and item.theirs is not None
    return is_new and item.reason in WITHHELD


def kept_out(
    rows: Iterable[Mapping[str, Cell]], coming: Iterable[Mapping[str, Cell]] = ()
) -> dict[str, frozenset[str]]:
    """Map the rows that merges kept out of a branch to their values that were dismissed there.

    A row that the branch lacks was not removed there if it is among them. Rows that were ever taken
    there are left out.

    Args:
        rows: all rows of the branch's table `held`.
        coming: rows of that table that a merge brings along; their decisions count too.
    """
    rows = list(rows)
    item_by_id = {row["id"]: HeldItem.of(row) for row in rows if row["closes"] is None}
    item_by_id = {item_id: item for item_id, item in item_by_id.items() if keeps_out(item)}
    decision_rows = [row for row in (*rows, *coming) if row["closes"] in item_by_id]
    taken_row_ids = {row["row_id"] for row in decision_rows if row["decision"] != "dismissed"}
    dismissed_by_row = {
        item.row_id: frozenset[str]()
        for item in item_by_id.values()
        if item.row_id not in taken_row_ids
    }
    for item in (item_by_id[row["closes"]] for row in decision_rows):
        if item.row_id in dismissed_by_row:
            dismissed_by_row[item.row_id] |= {str(item.theirs)}
    return dismissed_by_row


def held_id(row_id: str, cell: str, source_commit: str) -> str:
    """Derive the id of an item, equal on all branches for one cell of one source commit."""
    return derived_id("held", None, row_id, cell, source_commit)


def closing_row(item: HeldItem, decision: str, row_id: str, origin: Row) -> Row:
    """Build the row that closes an open item."""
    return {
        "id": row_id,
        "row_id": item.row_id,
        "row_kind": item.kind.table,
        "cell": item.cell,
        "ours": None,
        "theirs": None,
        "source_branch": item.source_branch,
        "source_commit": item.source_commit,
        "merge_id": item.merge_id,
        "reason": item.reason,
        "closes": item.id,
        "decision": decision,
        **origin,
    }
