"""Entries of a state with many rows: asked of SQL, and kept for later searches.

What was read for a search is kept. If searches have asked SQL about a large part of the rows, all
rows are read once into a compact table, in a file that processes share. For a later state of the
branch, and for another branch, the texts of rows that differ are read again, and the rest is kept.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Literal

from day1.model.redaction.mask import REDACTED_HASH
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import NO_STATE, CommitId, Query
from day1.model.rows.kind import Cell, Kind
from day1.model.values.ids import short_hash
from day1.ports.history import History
from day1.ports.index import Index, TextId
from day1.ports.reading import Reading
from day1.services.search.entries import Entry, columns_of, entry_of
from day1.services.search.filters import Filter
from day1.services.search.indexing import INDEXED, changes_between, in_pages

_MAX_KEPT = 30_000
"""Maximum number of texts whose entries are kept beside the table; each takes some 400 bytes."""
_MAX_TABLE = 200_000
"""Rows of a state up to which a search reads all into a table; each takes some 60 bytes."""
_LOOKUPS = 3
"""Number of rows that are read in the time of one lookup of a text by SQL."""
_MOST_BEHIND = 50
"""A kept table is used if the number of rows differs by one in this many, at most."""
_MAX_DIFFERING = 10
"""A table is kept while at most one in this many of its texts differs from the state."""
_UNKNOWN = -(2**63)
"""The stored time of a row that does not say when it happened."""
_HEAD_AT = 8
"""The place of a table's head, in bytes; all numbers after it stand at multiples of this."""
_DECODER = json.JSONDecoder()
"""Reads values; `json.loads` also looks for spaces around them, which takes as long again."""

IsStopped = Callable[[], bool]


class EntryTable:
    """The entries of all visible rows of a state, by text; never changed.

    It knows texts up to its last one. A text that is indexed later has a higher number. Its content
    may be a file that processes share:

        length of the head    8 bytes
        head                  JSON: `tip` and `pending` of the state; `rows`, `shared`, `id_bytes`
        times                 of each row: when it was created, and when it happened
        texts, id ends, codes 4 bytes for each row
        shared ends           4 bytes for each set of values that rows share; a code is its place
        ids, shared values    UTF-8 and JSON, one after the other
    """

    def __init__(self, content: memoryview) -> None:
        """Use the content that a `_TableBuilder` wrote."""
        head_end = _HEAD_AT + int.from_bytes(content[:_HEAD_AT], "little")
        head = json.loads(bytes(content[_HEAD_AT:head_end]))
        self.tip: CommitId = head["tip"]
        """The commit that the rows were read at."""
        self.pending: list[TextId] = head["pending"]
        """The texts of rows that were not committed then."""
        self._count: int = head["rows"]
        rest = content[head_end:]

        def taken(code: Literal["q", "I"], count: int) -> memoryview[int]:
            nonlocal rest
            size = count * array(code).itemsize
            part, rest = rest[:size].cast(code), rest[size:]
            return part

        self._times = taken("q", 2 * self._count)
        self._texts, self._id_ends, self._codes = (taken("I", self._count) for _ in range(3))
        self._shared_ends = taken("I", head["shared"])
        self._ids, self._shared = rest[: head["id_bytes"]], rest[head["id_bytes"] :]
        self._known_shared: dict[int, tuple[Any, ...]] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def of(self, texts: Iterable[TextId]) -> dict[TextId, list[Entry]]:
        """Return the entries of each text that is not above the last one of the table."""
        count, table_texts, times = self._count, self._texts, self._times
        ids, id_ends, codes = self._ids, self._id_ends, self._codes
        first, last = (table_texts[0], table_texts[-1]) if count else (0, -1)
        entries_by_text: dict[TextId, list[Entry]] = {}
        for text in texts:
            if text > last:
                continue
            place = text - first  # numbers mostly have no gaps
            if (
                not 0 < place < count
                or table_texts[place] != text
                or table_texts[place - 1] == text
            ):
                place = bisect_left(table_texts, text)
            entries = entries_by_text[text] = []
            while place < count and table_texts[place] == text:
                created_at, when = times[2 * place], times[2 * place + 1]
                happened_at: int | None = when
                if when == _UNKNOWN:
                    when, happened_at = created_at, None
                row_id = str(ids[id_ends[place - 1] if place else 0 : id_ends[place]], "utf-8")
                shared = self._known_shared.get(codes[place]) or self._read(codes[place])
                entries.append(Entry(row_id, text, created_at, happened_at, when, *shared))
                place += 1
        return entries_by_text

    def _read(self, code: int) -> tuple[Any, ...]:
        """Read values that rows share: facets, writer and ends."""
        start = self._shared_ends[code - 1] if code else 0
        text = str(self._shared[start : self._shared_ends[code]], "utf-8")
        facets, writer, ends = _DECODER.raw_decode(text)[0]
        shared = self._known_shared[code] = tuple(facets), tuple(writer), tuple(ends)
        return shared


class _TableBuilder:
    """Collects the rows of a table."""

    def __init__(self, kind: Kind, index: Index) -> None:
        """Begin without rows."""
        self._kind, self._index = kind, index
        self._texts, self._times, self._codes = array("I"), array("q"), array("I")
        self._ids: list[bytes] = []
        self._code_by_shared: dict[tuple[object, ...], int] = {}

    def add(self, rows: Sequence[tuple[Cell, ...]]) -> None:
        """Add rows that have the columns of `columns_of`; those without an indexed text are left.

        Raises:
            IndexLost: the index was damaged.
        """
        unredacted_rows = [row for row in rows if row[1] != REDACTED_HASH]
        hashes = [str(row[1]) for row in unredacted_rows]
        text_id_by_hash = self._index.words.known(self._kind, hashes)
        code_by_shared = self._code_by_shared
        for row in unredacted_rows:
            text_id = text_id_by_hash.get(str(row[1]))
            if text_id is None:
                continue
            entry = entry_of(self._kind, row, text_id)
            happened_at = _UNKNOWN if entry.happened_at is None else entry.happened_at
            shared = (entry.facets, entry.writer, entry.ends)
            self._texts.append(text_id)
            self._times.extend((entry.created_at, happened_at))
            self._codes.append(code_by_shared.setdefault(shared, len(code_by_shared)))
            self._ids.append(entry.row_id.encode())

    def content(self, tip: CommitId, pending: Collection[TextId]) -> bytes:
        """Return the content of a table, with the state that its rows were read at."""
        order = sorted(range(len(self._texts)), key=self._texts.__getitem__)
        times = array("q", (self._times[2 * n + part] for n in order for part in (0, 1)))
        ids = [self._ids[n] for n in order]
        shared = [json.dumps(cells).encode() for cells in self._code_by_shared]
        sizes = {"rows": len(ids), "shared": len(shared), "id_bytes": sum(map(len, ids))}
        head = json.dumps({"tip": tip, "pending": sorted(pending), **sizes}).encode()
        head += b" " * (-len(head) % _HEAD_AT)
        arrays = [
            times,
            array("I", (self._texts[n] for n in order)),
            array("I", accumulate(map(len, ids))),
            array("I", (self._codes[n] for n in order)),
            array("I", accumulate(map(len, shared))),
        ]
        return b"".join([len(head).to_bytes(_HEAD_AT, "little"), head, *arrays, *ids, *shared])


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
        kept_by_text, differing_text_ids = self._kept, self._differing
        entries_by_text = {
            text_id: kept_by_text[text_id] for text_id in texts if text_id in kept_by_text
        }
        if self._table is not None:
            entries_by_text |= self._table.of(
                text_id
                for text_id in texts
                if text_id not in entries_by_text and text_id not in differing_text_ids
            )
        missing_text_ids = [text_id for text_id in texts if text_id not in entries_by_text]
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
            self.read_all(reading, index)

    def read_all(self, reading: Reading, index: Index, stopped: IsStopped = bool) -> None:
        """Read all of the state's rows into a table, and keep it for other processes.

        Raises:
            IndexLost: the index was damaged.
        """
        edition, builder = index.edition(), _TableBuilder(self.kind, index)
        for rows in in_pages(reading, self.kind, columns_of(self.kind), self._view_query):
            if stopped():
                return
            builder.add(rows)
        content = builder.content(reading.tip, self._pending)
        if self._is_shared:
            index.keep(self._file_name(reading), edition, content)
        self._table, self._differing = EntryTable(memoryview(content)), frozenset()

    def load(self, reading: Reading, index: Index, rows: int) -> bool:
        """Use the table that a process kept, if a state has about as many rows; return whether.

        What differs is read as for a later state: `at`.
        """
        content = index.kept(self._file_name(reading)) if self._is_shared else None
        if content is None:
            return False
        table = EntryTable(content)
        if abs(len(table) - rows) * _MOST_BEHIND > rows:
            return False
        self._table, self._pending = table, frozenset(table.pending)
        self._state = replace(NO_STATE, tip=table.tip)
        return True

    @property
    def _is_shared(self) -> bool:
        """Whether the table is kept in a file: that of all rows, not of one task or space."""
        return self._view_query.equal.keys() <= {"status"}

    def _file_name(self, reading: Reading) -> str:
        """Return the name of the file of the table: rows are others for another mask or query."""
        mask = (sorted(reading.mask.rows), sorted(reading.mask.hashes))
        return f"entries-{self.kind.table}-{short_hash(repr((self._view_query, mask)))}"

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


def renew_tables(
    reading: Reading, history: History, index: Index, above: int, stopped: IsStopped = bool
) -> None:
    """Keep tables of the rows of a branch, for kinds of which it has more than `above` rows.

    A table that has about as many rows as the branch stays. To read a million rows takes some
    twenty seconds, so no search does it.

    Raises:
        IndexLost: the index was damaged.
    """
    for kind in () if index.read_only else INDEXED:
        row_count = reading.count(kind)
        if row_count > above and not stopped():
            known_entries = KnownEntries(kind, Filter(kind).view_query)
            if not known_entries.load(reading, index, row_count):
                known_entries.at(reading, history, index).read_all(reading, index, stopped)
