"""Rows of the copying oracle: how they are made and changed, and what is refused."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from day1.model.rows.kind import FACT
from tests.oracle.cellwise import (
    TEXT,
    TIMES,
    UNVERIFIED,
    WHOLE,
    Item,
    Planned,
    Row,
    cells_of_times,
    ends_too_early,
    given,
    hashed,
    kind,
)
from tests.suites.memory import Choice, Refusal

Key = tuple[str, str, int]
"""Row, cell, and the number of the source's copy from which the cell was withheld."""


def refuse_early_ends(rows: Mapping[str, Planned]) -> None:
    if any(ends_too_early(row_id, row) for row_id, row in rows.items()):
        raise Refusal("invalid_request")


def in_order(row: Row | None, columns: Mapping[str, Any]) -> None:
    """Refuse columns by which the time of a row ends before it begins."""
    times = [int(at) for column in TIMES if (at := (row or {}).get(column)) is not None]
    if set(TIMES) & columns.keys() and times[-1:] < times[:1]:
        raise Refusal("invalid_request")


def with_(rows: Mapping[str, Row], new: Mapping[str, Row | None]) -> dict[str, Row]:
    return {i: row for i, row in {**rows, **new}.items() if row is not None}


def new_row(row_id: str, columns: Mapping[str, Any]) -> Row:
    fresh = {"confidence": 1.0, "status": "active", **UNVERIFIED} if kind(row_id) is FACT else {}
    return hashed({**dict.fromkeys(kind(row_id).group(WHOLE)), **fresh, **columns})


def edited(row: Row, columns: Mapping[str, Any]) -> Row:
    after = hashed({**row, **given(columns)})
    return after if after.get(TEXT) == row.get(TEXT) else {**after, **UNVERIFIED}


def is_declined(row: Planned, known: bool, choices: Sequence[Choice], row_id: str) -> bool:
    """Whether a choice keeps out a row that is new to the target, and no open item is on it."""
    new = row.base is None and row.source is not None and row.target is None
    return new and not known and Choice(row_id, "ours") in choices and WHOLE in row.decided


def other_time(listed: Iterable[Key], items: Mapping[Key, Item], key: Key) -> list[Key]:
    """What one source offers for the other one of the two times of a row."""
    row, cell, source = items[key].row, items[key].cell, items[key].source
    alike = [k for k in listed if (row, source) == (items[k].row, items[k].source)]
    return [k for k in alike if {cell, items[k].cell} == set(cells_of_times(row))]
