"""Entries of a state with many rows: asked of SQL, and kept for later searches.

What was read for a search is kept. If searches have asked SQL about a large part of the rows, all
rows are read once into a compact table. For a later state of the branch, and for another branch,
the texts of rows that differ are read again, and the rest is kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from day1.model.redaction.mask import REDACTED_HASH
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import NO_STATE, Query
from day1.model.rows.kind import Cell, Kind
from day1.ports.history import History
from day1.ports.index import Index, TextId
from day1.ports.reading import Reading
from day1.services.search.entries import Entry, columns_of, entry_of
from day1.services.search.indexing import changes_between

_MAX_KEPT = 30_000
"""Maximum number of texts whose entries are kept beside the table; each takes some 400 bytes."""
_MAX_TABLE = 200_000
"""Rows of a state up to which all are read into a table; each takes some 70 bytes."""
_LOOKUPS = 3
"""Number of rows that are read in the time of one lookup of a text by SQL."""
_MAX_DIFFERING = 10
"""A table is kept while at most one in this many of its texts differs from the state."""
_UNKNOWN = -(2**63)
"""The stored time of a row that does not say when it happened."""


class EntryTable:
    """The entries of all visible rows of a state, by text; never changed.

    It knows texts up to its last one. A text that is indexed later has a higher number.
    """

    def __init__(self, kind: Kind, rows: Iterable[tuple[Cell, ...]], index: Index) -> None:
        """Take rows that have the columns of `columns_of`; texts that are not indexed are left out.

        Raises:
            IndexLost: the index was damaged.
        """
        unredacted_rows = [row for row in rows if row[1] != REDACTED_HASH]
        text_id_by_hash = index.words.known(kind, [str(row[1]) for row in unredacted_rows])
        text_ids_and_rows = [
            (text_id, row)
            for row in unredacted_rows
            if (text_id := text_id_by_hash.get(str(row[1]))) is not None
        ]
        text_ids_and_rows.sort(key=lambda each: each[0])
        self._texts = array("q")
        self._times = array("q")
        """Of each row: when it was created, and when it happened."""
        self._id_ends = array("q", [0])
        self._codes = array("q")
        code_by_shared_values: dict[tuple[object, ...], int] = {}
        row_ids = []
        for text_id, row in text_ids_and_rows:
            entry = entry_of(kind, row, text_id)
            happened_at = _UNKNOWN if entry.happened_at is None else entry.happened_at
            shared_values = (entry.facets, entry.writer, entry.ends)
            self._texts.append(text_id)
            self._times.extend((entry.created_at, happened_at))
            self._codes.append(
                code_by_shared_values.setdefault(shared_values, len(code_by_shared_values))
            )
            self._id_ends.append(self._id_ends[-1] + len(entry.row_id))
            row_ids.append(entry.row_id)
        self._ids = "".join(row_ids)
        self._shared = list(code_by_shared_values)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._texts)

    def knows(self, text: TextId) -> bool:
        """Whether all rows that have a text are in the table."""
        return bool(self._texts) and text <= self._texts[-1]

    def of(self, text: TextId) -> list[Entry]:
        """Return the entries of a text."""
        position, entries = bisect_left(self._texts, text), []
        while position < len(self._texts) and self._texts[position] == text:
            created_at, stored_happened_at = self._times[2 * position : 2 * position + 2]
            happened_at = None if stored_happened_at == _UNKNOWN else stored_happened_at
            when = created_at if happened_at is None else happened_at
            row_id = self._ids[self._id_ends[position] : self._id_ends[position + 1]]
            facets, writer, ends = self._shared[self._codes[position]]
            entries.append(
                Entry(row_id, text, created_at, happened_at, when, facets, writer, ends)  # type: ignore[arg-type]  # as they were put in
            )
            position += 1
        return entries


class KnownEntries:
    """The entries of texts of one kind at one state; threads may share it."""

    def __init__(self, kind: Kind, view_query: Query) -> None:
        """Begin without entries; `view_query` is the query for all rows that a search may find."""
        self.kind = kind
        self._view_query = view_query
        self._state = NO_STATE
        self._kept: dict[TextId, list[Entry]] = {}
        """The entries of texts that are not in the table, or differ from it."""
        self._pending: frozenset[TextId] = frozenset()
        """The texts of rows that were not committed yet."""
        self._table: EntryTable | None = None
        self._differing: frozenset[TextId] = frozenset()
        """Texts whose rows in the table are not those of this state."""
        self._asked = 0
        """The number of texts that SQL was asked about."""

    @property
    def has_table(self) -> bool:
        """Whether all rows were read into a table."""
        return self._table is not None

    def of(
        self, texts: Sequence[TextId], reading: Reading, index: Index
    ) -> dict[TextId, list[Entry]]:
        """Return the entries of each text at the state of `reading`, which this one is at."""
        entries_by_text: dict[TextId, list[Entry]] = {}
        missing_text_ids = []
        table, differing_text_ids = self._table, self._differing
        for text_id in texts:
            kept_entries = self._kept.get(text_id)
            if kept_entries is not None:
                entries_by_text[text_id] = kept_entries
            elif table is not None and table.knows(text_id) and text_id not in differing_text_ids:
                entries_by_text[text_id] = table.of(text_id)
            else:
                missing_text_ids.append(text_id)
        if missing_text_ids:
            read_entries_by_text = self._read(missing_text_ids, reading, index)
            self._asked += len(missing_text_ids)
            if len(self._kept) + len(read_entries_by_text) > _MAX_KEPT:
                self._kept.clear()
            self._kept.update(read_entries_by_text)
            entries_by_text |= {
                text_id: read_entries_by_text.get(text_id, []) for text_id in missing_text_ids
            }
        return entries_by_text

    def _read(
        self, texts: Sequence[TextId], reading: Reading, index: Index
    ) -> dict[TextId, list[Entry]]:
        """Ask SQL about texts; those that the index does not have yet are left out."""
        hash_by_text = index.words.hashes(self.kind, texts)
        entries_by_text: dict[TextId, list[Entry]] = {text_id: [] for text_id in hash_by_text}
        text_id_by_hash = {
            content_hash: hashed_text_id for hashed_text_id, content_hash in hash_by_text.items()
        }
        conditions = {**self._view_query.among, "content_hash": [*text_id_by_hash]}
        query = replace(self._view_query, among=conditions)
        for row in reading.scan(self.kind, columns_of(self.kind), query):
            text_id = text_id_by_hash[str(row[1])]
            entries_by_text[text_id].append(entry_of(self.kind, row, text_id))
        return entries_by_text

    def fill(self, reading: Reading, index: Index, rows: int) -> None:
        """Read all of the state's rows into a table if that costs no more than was spent."""
        if self._table is None and rows <= _MAX_TABLE and self._asked * _LOOKUPS > rows:
            all_rows = reading.scan(self.kind, columns_of(self.kind), self._view_query)
            self._table, self._differing = EntryTable(self.kind, all_rows, index), frozenset()

    def at(self, reading: Reading, history: History, index: Index) -> KnownEntries:
        """Return what is known of the state of `reading`, which may be of another branch."""
        current_state = reading.state
        if current_state == self._state:
            return self
        moved_entries = KnownEntries(self.kind, self._view_query)
        moved_entries._state, moved_entries._asked = current_state, self._asked
        moved_entries._pending = self._texts(self._pending_hashes(reading), index)
        changed_text_ids = self._changed(reading, history, index)
        if changed_text_ids is None:
            return moved_entries
        changed_or_pending_ids = changed_text_ids | self._pending | moved_entries._pending
        moved_entries._kept = {
            text_id: entries
            for text_id, entries in self._kept.copy().items()
            if text_id not in changed_or_pending_ids
        }
        differing_text_ids = self._differing | changed_or_pending_ids
        if self._table is not None and len(differing_text_ids) * _MAX_DIFFERING <= len(self._table):
            moved_entries._table, moved_entries._differing = self._table, differing_text_ids
        return moved_entries

    def _changed(
        self, reading: Reading, history: History, index: Index
    ) -> frozenset[TextId] | None:
        """Return the texts of the rows that differ in commits; None if any row may differ."""
        if not self._state.tip:
            return None
        if self._state.tip == reading.tip:
            return frozenset()
        changes = changes_between(history, self._state.tip, reading.tip)
        if changes is None:
            return None
        all_changes = [change for table_changes in changes.values() for change in table_changes]
        if any(is_secret(change.before) != is_secret(change.after) for change in all_changes):
            return None  # rows that were made of these are shown or hidden too
        row_versions = (
            row_version
            for change in changes.get(self.kind.table, [])
            for row_version in (change.before, change.after)
        )
        return self._texts(
            (str(row["content_hash"]) for row in row_versions if row is not None), index
        )

    def _pending_hashes(self, reading: Reading) -> list[str]:
        """Return the content hashes of the rows that are not committed yet."""
        if reading.pending.oldest is None:
            return []
        query = Query(created_after=reading.pending.oldest - 1)
        return [str(row[0]) for row in reading.scan(self.kind, ("content_hash",), query)]

    def _texts(self, hashes: Iterable[str], index: Index) -> frozenset[TextId]:
        return frozenset(index.words.known(self.kind, list(hashes)).values())
