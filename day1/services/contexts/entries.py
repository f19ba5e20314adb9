"""Entries: JSON objects under keys of spaces. An entry is the saved context of its key.

Entries are found below a space and filtered by their values. `entry_writes` puts and removes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from day1.model.contexts.conditions import meets
from day1.model.contexts.content import entry_of_text, from_kept
from day1.model.contexts.keyed import CONTEXT, context_id
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import EDIT, OBSERVATION, Cell, Row, revision, text_of
from day1.ports.reading import Reading
from day1.services.rows.value_sizes import may_be_large, refuse_large_rows, scan_values

ABSENT: Final = "none"
"""The expected revision of an entry that must not exist."""
_PLACE_COLUMNS: Final = ("id", "happened_at", "created_at", "space", "content_hash", "detail")
"""The columns that tell which entry a row is, and those by which rows are sorted in time."""


@dataclass(frozen=True, slots=True)
class EntryKey:
    """The place of an entry: a key in a space (None: among the rows without a space)."""

    space: str | None
    key: str

    @property
    def row_id(self) -> str:
        """The id of the entry's row, on all branches."""
        return context_id(self.space, self.key)


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to put. Units: microseconds UTC."""

    at: EntryKey
    value: Mapping[str, Any]
    text: str | None = None
    """The text that search finds the entry by; None: all of its value."""
    expires_at: int | None = None
    sensitivity: str | None = None
    vectors: Sequence[Sequence[float]] = ()
    """Vectors of one dimension that the caller made of parts of the entry with its own model."""
    expect_revision: str | None = None
    """The revision that the entry at this place must have (`ABSENT`: none is there); None: any."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that was found. Units: microseconds UTC."""

    row_id: str
    at: EntryKey
    value: Any
    revision: str
    created_at: int
    updated_at: int
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """The conditions that entries must all meet. Units: microseconds UTC."""

    now: int
    within: Mapping[str, Cell] = field(default_factory=dict)
    """The column `space` and its value: a space and those below it, or None: no space. Empty: all.
    """
    where: Mapping[str, Any] = field(default_factory=dict)
    """Conditions on the values (`model.contexts.conditions`)."""

    @property
    def rows(self) -> Query:
        """The query for the rows, without secret ones: only `get` returns those, by their keys."""
        space = text_of(self.within.get("space"))
        no_space_condition: Mapping[str, Cell] = {} if space is not None else self.within
        equal_columns = {"observation_type": CONTEXT, **no_space_condition}
        return Query(equal=equal_columns, under=space, alive_at=self.now, public=True)


def get(
    reading: Reading, keys: Sequence[EntryKey], now: int, most_bytes: int | None = None
) -> list[Entry | None]:
    """Return the entries of some places in their order; None for those that are not there.

    Secret entries are included: a caller who names a space and a key may read the entry.

    Raises:
        AnswerTooLarge: their values have more than `most_bytes` bytes.
    """
    if may_be_large(len(keys), most_bytes):
        present_keys = rows_of(reading, keys, now, _PLACE_COLUMNS)
        present_ids = [key.row_id for key in present_keys]
        refuse_large_rows(reading, OBSERVATION, present_ids, most_bytes)
    row_by_key = rows_of(reading, keys, now)
    entry_by_id = {entry.row_id: entry for entry in _entries(reading, list(row_by_key.values()))}
    return [entry_by_id.get(key.row_id) for key in keys]


def rows_of(
    reading: Reading, keys: Sequence[EntryKey], now: int, columns: Sequence[str] = ()
) -> dict[EntryKey, Row]:
    """Return the rows of entries that have not expired, by their places.

    Args:
        reading: the state to read.
        keys: the places.
        now: the instant at which the entries must be alive (microseconds UTC).
        columns: the columns of the rows, `_PLACE_COLUMNS` among them; default: all.
    """
    key_by_id = {key.row_id: key for key in keys}
    rows = reading.find(OBSERVATION, replace(_of("id", list(key_by_id)), alive_at=now), columns)
    row_by_key = {key_by_id[str(row["id"])]: row for row in rows}
    return {key: row for key, row in row_by_key.items() if is_at(row, key)}


def find(reading: Reading, query: EntryQuery) -> list[str]:
    """Return the row ids of the entries that meet all conditions, the newest first."""
    columns = ["created_at", "id", "detail"]
    if reading.mask.hashes:  # else no text is redacted, and the column is the longest of these
        columns.append("content_hash")
    if query.where:
        columns += ["structure", "summary"]
        rows = scan_values(reading, OBSERVATION, columns, query.rows)
    else:
        rows = iter(reading.scan(OBSERVATION, columns, query.rows))
    created = [
        (row[0], row[1])
        for row in rows
        if row[2] is not None
        and REDACTED_HASH not in row[3:4]
        and (not query.where or meets(_value(*row[-2:]), query.where))
    ]
    return [str(row_id) for _, row_id in sorted(created, reverse=True)]


def read(reading: Reading, row_ids: Sequence[str], most_bytes: int | None = None) -> list[Entry]:
    """Return the entries of some rows, in the order of their ids.

    Raises:
        AnswerTooLarge: their values have more than `most_bytes` bytes.
    """
    refuse_large_rows(reading, OBSERVATION, row_ids, most_bytes)
    row_by_id = reading.get(OBSERVATION, row_ids)
    return _entries(reading, [row_by_id[row_id] for row_id in row_ids if row_id in row_by_id])


def spaces(reading: Reading, query: EntryQuery) -> dict[str | None, int]:
    """Return the number of entries by space, by the names of the spaces."""
    count_by_space = reading.tally(OBSERVATION, "space", query.rows)
    sorted_spaces = sorted(count_by_space, key=lambda space: str(space or ""))
    return {text_of(space): count_by_space[space] for space in sorted_spaces}


def is_at(row: Row, key: EntryKey) -> bool:
    """Whether a row is the entry of a key; a hidden one, or one that was moved, is not."""
    return (
        row["space"] == key.space
        and row["content_hash"] != REDACTED_HASH
        and read_detail(row["detail"]).get("key") == key.key
    )


def _entries(reading: Reading, rows: Sequence[Row]) -> list[Entry]:
    if not rows:
        return []
    changed_at_by_id: dict[str, int] = {}
    edits_query = _of("row_id", [row["id"] for row in rows])
    for row_id, edited_at in reading.scan(EDIT, ("row_id", "created_at"), edits_query):
        changed_at_by_id[str(row_id)] = max(
            int(edited_at or 0), changed_at_by_id.get(str(row_id), 0)
        )
    return [
        Entry(
            str(row["id"]),
            EntryKey(text_of(row["space"]), str(read_detail(row["detail"]).get("key"))),
            _value(row["structure"], row["summary"]),
            revision(OBSERVATION, row),
            created_at := int(row["created_at"] or 0),
            max(created_at, changed_at_by_id.get(str(row["id"]), 0)),
            None if row["expires_at"] is None else int(row["expires_at"]),
        )
        for row in rows
    ]


def _of(column: str, values: Sequence[Cell]) -> Query:
    """Build a query by values of a column; with one value its SQL is built only once."""
    return Query(among={column: values}) if values[1:] else Query(equal={column: values[0]})


def _value(structure: Cell, summary: Cell) -> Any:
    """Return the value of an entry; a person may have given it another text, without structure."""
    return entry_of_text(str(summary)) if structure is None else from_kept(str(structure))
