"""Entries: JSON objects under keys of spaces. An entry is the saved context of its key.

Entries of several spaces are written together, found below a space, filtered by their values, and
removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from day1.model.branches.branch import Branch
from day1.model.contexts import given_vector
from day1.model.contexts.conditions import meets
from day1.model.contexts.content import as_kept, flattened, from_kept
from day1.model.contexts.keyed import CONTEXT, context_id, passage_ids, value_too_large
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import CommitId, Message, Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Cell, Kind, Row, canonical, text_of
from day1.model.rows.origin import Origin
from day1.model.values.parts import TooLong
from day1.ports.reading import Reading
from day1.services.contexts.keyed_rows import (
    KeyedRow,
    UpsertedRows,
    of_older_versions,
    unredacted,
    upsert_rows,
)
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor


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


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that was found. Units: microseconds UTC."""

    row_id: str
    at: EntryKey
    value: Any
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
        """The query for the rows. A secret one is told only to who names its space and key."""
        space = text_of(self.within.get("space"))
        no_space: Mapping[str, Cell] = {} if space is not None else self.within
        equal = {"observation_type": CONTEXT, **no_space}
        return Query(equal=equal, under=space, alive_at=self.now, public=True)


@dataclass(frozen=True, slots=True)
class RemovedEntries:
    """The ids of the removed rows, and the branch's state afterwards."""

    row_ids: Sequence[str]
    tip: CommitId
    pending: int


def entry_row(new: NewEntry) -> KeyedRow:
    """Build the row of an entry.

    Raises:
        ValueTooLarge: its value is longer than a row keeps.
    """
    try:
        stored_value = as_kept(new.value)
    except TooLong as exc:
        raise value_too_large(new.at.key) from exc
    columns: Mapping[str, Cell] = {
        "summary": flattened(new.value) if new.text is None else new.text,
        "structure": stored_value,
        "vector": given_vector.as_kept(*new.vectors) if new.vectors else None,
        "observation_type": CONTEXT,
        "space": new.at.space,
        "detail": canonical({"key": new.at.key}),
        "expires_at": new.expires_at,
        "sensitivity": new.sensitivity,
    }
    return KeyedRow(OBSERVATION, new.at.row_id, columns)


def with_older_versions(reading: Reading, rows: Sequence[KeyedRow]) -> list[KeyedRow]:
    """Return the rows of entries, and the facts made of their older versions, which end with them.

    Raises:
        Refused: an entry is redacted.
    """
    ends_by_row = {
        row.id: {column: row.columns[column] for column in ("expires_at", "sensitivity")}
        for row in rows
    }
    return [*unredacted(reading, list(rows)), *of_older_versions(reading, ends_by_row)]


def put(
    repo: Repository,
    branch: Branch,
    entries: Sequence[NewEntry],
    origin: Origin,
    first_edit: str | None = None,
) -> UpsertedRows:
    """Put entries, all of them or none; an entry replaces the one of the same space and key.

    Args:
        repo: the store.
        branch: where.
        entries: no two of one space and key.
        origin: who writes.
        first_edit: the id that the request gives its first edit: if the branch has it, the request
            was done before, and nothing is written.

    Raises:
        ValueTooLarge: a value is longer than a row keeps.
        Refused: an entry is redacted.
    """
    rows = [entry_row(new) for new in entries]
    return upsert_rows(
        repo, branch, lambda reading, _: with_older_versions(reading, rows), origin, first_edit
    )


def remove(
    repo: Repository,
    branch: Branch,
    keys: Sequence[EntryKey],
    origin: Origin,
    first_edit: str | None = None,
) -> RemovedEntries:
    """Remove entries in one commit, with the facts made of them; missing ones are passed over.

    Args:
        repo: the store.
        branch: where.
        keys: the places of the entries.
        origin: who removes them.
        first_edit: as in `put`.
    """
    with repo.store.adding(branch.name) as adding:
        ids_before = _removed_before(adding, keys, first_edit)
        entries = [] if ids_before else _entries_at(adding, keys)
        if not entries:
            return RemovedEntries(ids_before, adding.tip, adding.pending.count)
        rows = _with_facts(adding, entries)
        changing_work = adding.to_change()
        Editor(repo, changing_work, origin).remove(rows)
        tip = changing_work.commit(Message("remove", f"remove {len(entries)} keyed rows"))
        return RemovedEntries([str(row["id"]) for row in entries], tip, 0)


def remove_expired(
    repo: Repository, branch: Branch, query: EntryQuery, origin: Origin
) -> RemovedEntries:
    """Remove the entries of a query that have expired, secret ones too, in one commit."""
    with repo.store.adding(branch.name) as adding:
        expired_too = replace(query.rows, alive_at=None, public=False)
        columns = ("id", "detail", "content_hash", "expires_at")
        expired_ids = [
            str(row_id)
            for row_id, detail, text_hash, ends in adding.scan(OBSERVATION, columns, expired_too)
            if detail is not None and text_hash != REDACTED_HASH
            if ends is not None and int(ends) <= query.now
        ]
        if not expired_ids:
            return RemovedEntries([], adding.tip, adding.pending.count)
        rows = _with_facts(adding, list(adding.get(OBSERVATION, expired_ids).values()))
        work = adding.to_change()
        Editor(repo, work, origin).remove(rows)
        tip = work.commit(Message("remove", f"remove {len(expired_ids)} expired keyed rows"))
        return RemovedEntries(expired_ids, tip, 0)


def rows_at(reading: Reading, keys: Sequence[EntryKey]) -> list[tuple[Kind, Row]]:
    """Return the rows of entries, expired ones too, and of the facts made of them."""
    return _with_facts(reading, _entries_at(reading, keys))


def _entries_at(reading: Reading, keys: Sequence[EntryKey]) -> list[Row]:
    """Return the rows of entries, expired ones too."""
    key_by_id = {key.row_id: key for key in keys}
    rows = reading.get(OBSERVATION, list(key_by_id))
    return [row for row_id, row in rows.items() if _is_at(row, key_by_id[row_id])]


def _with_facts(reading: Reading, entries: Sequence[Row]) -> list[tuple[Kind, Row]]:
    """Return rows of entries, and the rows of the facts made of them."""
    facts = reading.get(FACT, [i for row in entries for i in passage_ids(str(row["id"]))])
    return [*((OBSERVATION, row) for row in entries), *((FACT, row) for row in facts.values())]


def _removed_before(
    reading: Reading, keys: Sequence[EntryKey], first_edit: str | None
) -> list[str]:
    """Return the ids of the entries that an earlier call of the same request removed."""
    edits = {} if first_edit is None else reading.get(EDIT, [first_edit])
    edit_times = {edit["created_at"] for edit in edits.values()}
    if not edit_times:
        return []
    of_rows = reading.find(EDIT, Query(among={"row_id": [key.row_id for key in keys]}))
    return [str(edit["row_id"]) for edit in of_rows if edit["created_at"] in edit_times]


def get(reading: Reading, keys: Sequence[EntryKey], now: int) -> list[Entry | None]:
    """Return the entries of some places in their order; None for those that are not there.

    Secret entries are included: a caller who names a space and a key may read the entry.
    """
    key_by_id = {key.row_id: key for key in keys}
    rows = reading.find(OBSERVATION, replace(_of("id", list(key_by_id)), alive_at=now))
    rows_at_keys = [row for row in rows if _is_at(row, key_by_id[str(row["id"])])]
    entry_by_id = {entry.row_id: entry for entry in _entries(reading, rows_at_keys)}
    return [entry_by_id.get(key.row_id) for key in keys]


def find(reading: Reading, query: EntryQuery) -> list[str]:
    """Return the row ids of the entries that meet all conditions, the newest first."""
    columns = ["created_at", "id", "detail"]
    if reading.mask.hashes:  # else no text is redacted, and the column is the longest of these
        columns.append("content_hash")
    if query.where:
        columns += ["structure", "summary"]
    rows = [
        row
        for row in reading.scan(OBSERVATION, columns, query.rows)
        if row[2] is not None and REDACTED_HASH not in row[3:4]
    ]
    if query.where:
        rows = [row for row in rows if meets(_value(*row[-2:]), query.where)]
    return [str(row_id) for _, row_id in sorted(((r[0], r[1]) for r in rows), reverse=True)]


def read(reading: Reading, row_ids: Sequence[str]) -> list[Entry]:
    """Return the entries of some rows, in the order of their ids."""
    rows = reading.get(OBSERVATION, row_ids)
    return _entries(reading, [rows[row_id] for row_id in row_ids if row_id in rows])


def spaces(reading: Reading, query: EntryQuery) -> dict[str | None, int]:
    """Return the number of entries by space, by the names of the spaces."""
    counts = reading.tally(OBSERVATION, "space", query.rows)
    names = sorted(counts, key=lambda name: str(name or ""))
    return {text_of(name): counts[name] for name in names}


def _is_at(row: Row, key: EntryKey) -> bool:
    """Whether a row is the entry of a key; a hidden one, or one that was moved, is not."""
    return (
        row["space"] == key.space
        and row["content_hash"] != REDACTED_HASH
        and read_detail(row["detail"]).get("key") == key.key
    )


def _entries(reading: Reading, rows: Sequence[Row]) -> list[Entry]:
    if not rows:
        return []
    changed_at: dict[str, int] = {}
    edits_query = _of("row_id", [row["id"] for row in rows])
    for row_id, at in reading.scan(EDIT, ("row_id", "created_at"), edits_query):
        changed_at[str(row_id)] = max(int(at or 0), changed_at.get(str(row_id), 0))
    return [
        Entry(
            str(row["id"]),
            EntryKey(text_of(row["space"]), str(read_detail(row["detail"]).get("key"))),
            _value(row["structure"], row["summary"]),
            created := int(row["created_at"] or 0),
            max(created, changed_at.get(str(row["id"]), 0)),
            None if row["expires_at"] is None else int(row["expires_at"]),
        )
        for row in rows
    ]


def _of(column: str, values: Sequence[Cell]) -> Query:
    """Build a query by values of a column: one value has a statement that is built once."""
    return Query(among={column: values}) if values[1:] else Query(equal={column: values[0]})


def _value(structure: Cell, summary: Cell) -> Any:
    """Return the value of an entry; a person may have given it another text, without structure.

    Such a text is the value if it is a JSON object, else it is the value's `text`.
    """
    if structure is not None:
        return from_kept(str(structure))
    try:
        value = json.loads(str(summary))
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"text": str(summary)}
