"""Putting and removing entries, and comparing them with what their writer expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from day1.errors import RevisionChanged
from day1.model.branches.branch import Branch
from day1.model.contexts import given_vector
from day1.model.contexts.content import JsonTooLong, as_value, text_of_entry
from day1.model.contexts.keyed import CONTEXT, passage_ids, value_too_large
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import CommitId, Message, Query
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Cell, Kind, Row, canonical, revision
from day1.model.rows.origin import Origin
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.contexts.entries import ABSENT, EntryKey, EntryQuery, NewEntry, is_at, rows_of
from day1.services.contexts.keyed_rows import (
    KeyedRow,
    UpsertedRows,
    of_older_versions,
    put_row,
    unredacted,
    upsert_rows,
)
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor


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
        stored_value = as_value(new.value)
    except JsonTooLong as exc:
        raise value_too_large(new.at.key, exc.length) from exc
    columns: Mapping[str, Cell] = {
        "summary": text_of_entry(new.value) if new.text is None else new.text,
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
    """Return the rows of entries, and the facts of their older versions with the same expiry.

    Raises:
        Refused: an entry is redacted.
    """
    end_columns_by_id = {
        row.id: {column: row.columns[column] for column in ("expires_at", "sensitivity")}
        for row in rows
    }
    return [*unredacted(reading, list(rows)), *of_older_versions(reading, end_columns_by_id)]


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
        RevisionChanged: an entry has another revision than is expected.
    """
    keyed_rows = [entry_row(new_entry) for new_entry in entries]
    expected_revision_by_key = {new_entry.at: new_entry.expect_revision for new_entry in entries}

    def rows_at(reading: Reading, now: int) -> list[KeyedRow]:
        check_revisions(reading, expected_revision_by_key, now)
        return with_older_versions(reading, keyed_rows)

    return upsert_rows(repo, branch, rows_at, origin, first_edit)


def put_in(work: Work, editor: Editor, new: NewEntry, origin: Origin) -> str:
    """Put an entry in open work; return what was done: `add`, `change` or nothing.

    Raises:
        ValueTooLarge: its value is longer than a row keeps.
        Refused: it is redacted.
    """
    keyed_entry, *derived_facts = with_older_versions(work, [entry_row(new)])
    outcome = put_row(work, editor, keyed_entry, origin)
    for fact in derived_facts:
        put_row(work, editor, fact, origin)
    if outcome == "add" and editor.repo.of_request:  # as in `upsert_rows`
        (stored_row,) = work.get(OBSERVATION, [keyed_entry.id]).values()
        editor.add_edits(OBSERVATION, stored_row, [str(OBSERVATION.text)])
    return outcome


def check_revisions(reading: Reading, expected: Mapping[EntryKey, str | None], now: int) -> None:
    """Compare entries with the revisions that a caller expects (`NewEntry.expect_revision`).

    Raises:
        RevisionChanged: one has another revision, is there though it must not, or is not there.
    """
    keys = [key for key, expected_revision in expected.items() if expected_revision is not None]
    row_by_key = rows_of(reading, keys, now) if keys else {}
    for key in keys:
        row, expected_revision = row_by_key.get(key), expected[key]
        present_revision = ABSENT if row is None else revision(OBSERVATION, row)
        if present_revision != expected_revision:
            raise RevisionChanged(
                "An entry was added, changed or removed since you read it: read it again, then "
                "decide.",
                key=key.key,
                space=key.space,
                revision=present_revision,
            )


def remove(
    repo: Repository,
    branch: Branch,
    expected: Mapping[EntryKey, str | None],
    origin: Origin,
    first_edit: str | None = None,
) -> RemovedEntries:
    """Remove entries in one commit, with the facts made of them; missing ones are skipped.

    Args:
        repo: the store.
        branch: where.
        expected: the places of the entries, and the revisions that they must have (None: any).
        origin: who removes them.
        first_edit: as in `put`.

    Raises:
        RevisionChanged: an entry has another revision than is expected; nothing is removed.
    """
    keys = list(expected)
    with repo.store.adding(branch.name) as adding_unit:
        earlier_removed_ids = _removed_before(adding_unit, keys, first_edit)
        if not earlier_removed_ids:
            check_revisions(adding_unit, expected, adding_unit.now)
        entry_rows = [] if earlier_removed_ids else _entries_at(adding_unit, keys)
        if not entry_rows:
            return RemovedEntries(earlier_removed_ids, adding_unit.tip, adding_unit.pending.count)
        kinds_and_rows = _with_facts(adding_unit, entry_rows)
        work = adding_unit.to_change()
        Editor(repo, work, origin).remove(kinds_and_rows)
        tip = work.commit(Message("remove", f"remove {len(entry_rows)} keyed rows"))
        return RemovedEntries([str(row["id"]) for row in entry_rows], tip, 0)


def remove_expired(
    repo: Repository, branch: Branch, query: EntryQuery, origin: Origin
) -> RemovedEntries:
    """Remove the entries of a query that have expired, secret ones too, in one commit."""
    with repo.store.adding(branch.name) as adding_unit:
        query_with_expired = replace(query.rows, alive_at=None, public=False)
        columns = ("id", "detail", "content_hash", "expires_at")
        expired_ids = [
            str(row_id)
            for row_id, detail, text_hash, expires_at in adding_unit.scan(
                OBSERVATION, columns, query_with_expired
            )
            if detail is not None and text_hash != REDACTED_HASH
            if expires_at is not None and int(expires_at) <= query.now
        ]
        if not expired_ids:
            return RemovedEntries([], adding_unit.tip, adding_unit.pending.count)
        kinds_and_rows = _with_facts(
            adding_unit, list(adding_unit.get(OBSERVATION, expired_ids).values())
        )
        work = adding_unit.to_change()
        Editor(repo, work, origin).remove(kinds_and_rows)
        tip = work.commit(Message("remove", f"remove {len(expired_ids)} expired keyed rows"))
        return RemovedEntries(expired_ids, tip, 0)


def rows_at(reading: Reading, keys: Sequence[EntryKey]) -> list[tuple[Kind, Row]]:
    """Return the rows of entries, expired ones too, and of the facts made of them."""
    return _with_facts(reading, _entries_at(reading, keys))


def _entries_at(reading: Reading, keys: Sequence[EntryKey]) -> list[Row]:
    """Return the rows of entries, expired ones too."""
    key_by_id = {key.row_id: key for key in keys}
    row_by_id = reading.get(OBSERVATION, list(key_by_id))
    return [row for row_id, row in row_by_id.items() if is_at(row, key_by_id[row_id])]


def _with_facts(reading: Reading, entries: Sequence[Row]) -> list[tuple[Kind, Row]]:
    """Return rows of entries, and the rows of the facts made of them."""
    fact_by_id = reading.get(
        FACT, [fact_id for row in entries for fact_id in passage_ids(str(row["id"]))]
    )
    return [*((OBSERVATION, row) for row in entries), *((FACT, row) for row in fact_by_id.values())]


def _removed_before(
    reading: Reading, keys: Sequence[EntryKey], first_edit: str | None
) -> list[str]:
    """Return the ids of the entries that an earlier call of the same request removed."""
    first_edit_by_id = {} if first_edit is None else reading.get(EDIT, [first_edit])
    edit_times = {edit["created_at"] for edit in first_edit_by_id.values()}
    if not edit_times:
        return []
    entry_edits = reading.find(EDIT, Query(among={"row_id": [key.row_id for key in keys]}))
    return [str(edit["row_id"]) for edit in entry_edits if edit["created_at"] in edit_times]
