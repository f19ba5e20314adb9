"""Views: the rows of a state that search may find.

There are two ways. A `CachedView` holds the few columns of every row that search needs, and is
moved to a later state of its branch by the rows that changed; so a repeated search reads very
little. A `LiveQuery` (`live_query`) asks SQL about the texts in question, unless earlier searches
did (`known_entries`): it is for states of so many rows that reading all of them for one search
would take too long. A `ViewCache` keeps a process's views.
"""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any

from day1.model.redaction.basis import may_derive
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import Changes, CommitId, Ref
from day1.model.rows.kind import FACT, Cell, Kind, Row
from day1.ports.history import History
from day1.ports.index import Again, Index, TextId
from day1.ports.reading import Reading
from day1.services.search.entries import Entry, WritingOrder, columns_of, entry_of
from day1.services.search.filters import Filter
from day1.services.search.indexing import changes_between
from day1.services.search.known_entries import KnownEntries

_MAX_ROWS = 150_000
"""Maximum number of rows in all views of a process; each takes some 450 bytes."""
_MAX_VIEWS = 500
_MAX_LARGE_STATES = 8
"""Maximum number of large states of which entries are known."""
_SMALL_SCOPE = 10
"""A scope is small if it has at most this many times as many rows as a search has candidates."""
_STATES_COUNTED = 400
"""Maximum number of states whose row count is cached; then the cache is emptied."""
_ENDLESS = (None, None)

ViewKey = tuple[object, ...]
"""The key of a view or of the values cached for a state."""


def filter_key(row_filter: Filter) -> ViewKey:
    """Return the filter's part of a view's key: filters with equal keys share a view."""
    scope = sorted(row_filter.scope.items())
    return (row_filter.kind.table, row_filter.inactive, row_filter.superseded, *scope)


def among(row_filter: Filter, entries: Iterable[Entry]) -> list[Entry]:
    """Choose the entries of a view that meet the filter's further conditions."""
    entries_left = list(entries)
    if row_filter.only is not None:
        entries_left = [entry for entry in entries_left if entry.row_id in row_filter.only]
    for name, cell in row_filter.equal.items():
        position = row_filter.kind.facets.index(name)
        entries_left = [entry for entry in entries_left if entry.facets[position] == cell]
    for name, cells in row_filter.among.items():
        position, allowed_cells = row_filter.kind.facets.index(name), frozenset(cells)
        entries_left = [entry for entry in entries_left if entry.facets[position] in allowed_cells]
    if row_filter.after is not None:
        entries_left = [entry for entry in entries_left if entry.when >= row_filter.after]
    if row_filter.before is not None:
        entries_left = [entry for entry in entries_left if entry.when <= row_filter.before]
    if any(entry.ends != _ENDLESS for entry in entries_left):
        entries_left = [entry for entry in entries_left if not row_filter.is_over(*entry.ends)]
    return entries_left


def asks_again(row_filter: Filter, visible: object, max_candidates: int) -> bool:
    """Whether each query scores the texts of the scope one by one.

    It does for the cached view of a scope that is given rows, or has at most `_SMALL_SCOPE` times
    `max_candidates` rows.
    """
    if not row_filter.scope or not isinstance(visible, CachedView):
        return False
    return row_filter.only is not None or len(visible) <= _SMALL_SCOPE * max_candidates


def weighed_by(row_filter: Filter, visible: object, max_candidates: int, *, apart: bool) -> Again:
    """Choose which texts weigh the words of a search, and whether their words are remembered.

    The result is the argument `again` of `Words.scores`. With `apart`, only the texts of a cached
    view weigh the words; otherwise, and for a `LiveQuery`, all texts of the index do.
    """
    if apart and isinstance(visible, CachedView):
        return visible.every()
    return asks_again(row_filter, visible, max_candidates)


class CachedView:
    """The rows of one kind at one state, by id and by text.

    The view is moved to another state only while nobody reads it; otherwise a copy is moved.
    """

    def __init__(self, row_filter: Filter) -> None:
        """Begin without rows; `advance` reads them."""
        self.kind = kind = row_filter.kind
        self.key = filter_key(row_filter)
        self.lock = threading.Lock()
        """The lock for moving the view to another state and for changing `readers`."""
        self.readers = 0
        self.unindexed = 0
        """The number of visible rows whose text is not indexed."""
        self._active = row_filter.view_query
        self._columns = columns_of(kind)
        self._tip: CommitId | None = None
        self._oldest: int | None = None
        self._newest: int | None = None
        self._rows: dict[str, Entry] = {}
        self._ending: dict[str, Entry] = {}
        """Rows that expire or whose valid time ends, by id."""
        self._waiting: set[str] = set()
        self._by_text: dict[TextId, tuple[str, ...]] = {}
        self._texts: array[int] | None = array("q")
        self._order = WritingOrder()

    def __len__(self) -> int:
        """Return the number of rows in the view."""
        return len(self._rows)

    def entries(self, texts: Iterable[TextId], row_filter: Filter) -> list[Entry]:
        """Find the wanted rows that have one of `texts`, in the order of `texts`."""
        rows = (self._rows[row_id] for text in texts for row_id in self._by_text.get(text, ()))
        return among(row_filter, rows)

    def texts(self, row_filter: Filter) -> Sequence[TextId]:
        """Return the texts of all wanted rows, each once."""
        limits = (row_filter.after, row_filter.before, row_filter.only)
        if row_filter.equal or row_filter.among or any(limit is not None for limit in limits):
            return list({entry.text for entry in among(row_filter, self._rows.values())})
        if self._texts is None:
            self._texts = array("q", self._by_text)
        ended_texts = {e.text for e in self._ending.values() if row_filter.is_over(*e.ends)}
        ended_texts = {text for text in ended_texts if not self.entries((text,), row_filter)}
        return (
            [text for text in self._texts if text not in ended_texts]
            if ended_texts
            else self._texts
        )

    def every(self) -> list[TextId]:
        """Return the texts of all rows of the view, each once."""
        return list(self._by_text)

    def sample(self, limit: int) -> list[TextId]:
        """Sample texts evenly from the view."""
        text_ids = list(self._by_text)
        return text_ids[:: len(text_ids) // limit + 1]

    def around(self, entries: Iterable[Entry], distance: int) -> list[list[Entry]]:
        """Find rows written next to `entries`, as runs of consecutive rows (`WritingOrder`)."""
        return self._order.around(entries, distance)

    def beside(self, limit: int) -> list[tuple[TextId, TextId]]:
        """Sample the texts of up to `limit` pairs of consecutive rows."""
        return self._order.pairs(limit)

    def copy(self) -> "CachedView":
        """Copy the view, so that the copy can be moved to another state."""
        clone = copy(self)
        clone.lock, clone.readers = threading.Lock(), 0
        clone._rows, clone._waiting = dict(self._rows), set(self._waiting)
        clone._ending = dict(self._ending)
        clone._by_text, clone._texts = dict(self._by_text), None
        clone._order = self._order.copy()
        return clone

    def is_at(self, reading: Reading, index: Index) -> bool:
        """Whether the view is up to date with `reading`."""
        pending = reading.pending
        state = (self._tip, self._oldest, self._newest)
        is_complete = not self.unindexed or index.read_only
        return is_complete and state == (reading.tip, pending.oldest, pending.newest)

    def advance(self, reading: Reading, history: History, index: Index) -> None:
        """Bring the view to the state of `reading`, reading only the differences."""
        pending = reading.pending
        if self.unindexed and not index.read_only:
            self._tip = None
        if self._tip != reading.tip:
            base_commit, self._tip = self._tip, None  # no state, if this fails halfway
            self._move(base_commit, reading, history, index)
        elif pending.oldest != self._oldest:  # the pending rows are others now
            self._drop(self._waiting)
            self._waiting = set()
            if pending.oldest is not None:
                self._add_pending(reading, index, pending.oldest - 1)
        elif pending.newest is not None and self._newest != pending.newest:
            self._add_pending(reading, index, self._newest or 0)
        self._tip, self._oldest, self._newest = reading.tip, pending.oldest, pending.newest

    def _move(
        self, base: CommitId | None, reading: Reading, history: History, index: Index
    ) -> None:
        changes = None if base is None else changes_between(history, base, reading.tip)
        if changes is None or _shows_again(changes):
            self._rows, self._by_text, self._texts, self.unindexed = {}, {}, array("q"), 0
            self._ending, self._order = {}, WritingOrder()
            row_values = reading.scan(self.kind, self._columns, self._active)
            self._put(row_values, index)
            oldest, self._waiting = reading.pending.oldest, set()
            if oldest is not None:
                self._waiting |= {e.row_id for e in self._rows.values() if e.created_at >= oldest}
            return
        # The difference has rows that were pending, if they were committed and not removed since.
        self._drop(self._waiting)
        row_changes = changes.get(self.kind.table, [])
        self._drop(change.id for change in row_changes)
        rows_after = [change.after for change in row_changes if change.after is not None]
        new_rows = [row for row in rows_after if self._shows(row)]
        derived_ids = [str(row["id"]) for row in new_rows if self.kind is FACT and may_derive(row)]
        self._put(
            [
                tuple(row[column] for column in self._columns)
                for row in new_rows
                if str(row["id"]) not in derived_ids
            ],
            index,
        )
        if derived_ids:
            query = replace(self._active, among={**self._active.among, "id": derived_ids})
            self._put(reading.scan(self.kind, self._columns, query), index)
        self._waiting = set()
        if reading.pending.oldest is not None:
            self._add_pending(reading, index, reading.pending.oldest - 1)

    def _add_pending(self, reading: Reading, index: Index, since: int) -> None:
        """Add the pending rows since an instant; rows of other spaces are few and dropped here."""
        conditions, column_count = dict(self._active.equal), len(self._columns)
        space_cell = (conditions.pop("space"),) if "space" in conditions else ()
        query = replace(self._active, equal=conditions, created_after=since)
        columns = (*self._columns, "space") if space_cell else self._columns
        tuples = reading.scan(self.kind, columns, query)
        pending_rows = [row[:column_count] for row in tuples if row[column_count:] == space_cell]
        self._put(pending_rows, index)
        self._waiting.update(str(row[0]) for row in pending_rows)

    def _shows(self, row: Row) -> bool:
        return (
            not is_secret(row)
            and all(row[name] == cell for name, cell in self._active.equal.items())
            and not any(row[name] in cells for name, cells in self._active.without.items())
        )

    def _put(self, rows: list[tuple[Cell, ...]], index: Index) -> None:
        text_id_by_hash: Mapping[Cell, TextId] = index.words.known(
            self.kind, [str(r[1]) for r in rows]
        )  # type: ignore[assignment]  # a hash is a cell
        new_entries: list[Entry] = []
        for row in rows:
            if row[1] == REDACTED_HASH:  # nobody may find it, and it is not indexed
                continue
            text_id = text_id_by_hash.get(row[1])
            if text_id is None:
                self.unindexed += 1
                continue
            entry = entry_of(self.kind, row, text_id)
            if entry.row_id in self._rows:
                continue
            self._rows[entry.row_id] = entry
            if entry.ends != _ENDLESS:
                self._ending[entry.row_id] = entry
            new_entries.append(entry)
            row_ids = self._by_text[text_id] = *self._by_text.get(text_id, ()), entry.row_id
            if len(row_ids) == 1 and self._texts is not None:
                self._texts.append(text_id)
        self._order.add(new_entries)

    def _drop(self, ids: Iterable[str]) -> None:
        for row_id in ids:
            entry = self._rows.pop(row_id, None)
            if entry is None:
                continue
            self._ending.pop(row_id, None)
            self._order.drop(entry)
            remaining_ids = tuple(each for each in self._by_text[entry.text] if each != row_id)
            if remaining_ids:
                self._by_text[entry.text] = remaining_ids
            else:
                del self._by_text[entry.text]
                self._texts = None


def _shows_again(changes: Changes) -> bool:
    """Whether a row has stopped being secret, so that rows derived from it can be found again."""
    return any(is_secret(c.before) and not is_secret(c.after) for t in changes for c in changes[t])


class ViewCache:
    """The cached views of the searched states; threads may share it."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._guard = threading.Lock()
        self._edition = ""
        self._views: dict[ViewKey, CachedView] = {}  # an `OrderedDict` hashes each key to list them
        self._rows: dict[ViewKey, tuple[Any, int]] = {}
        self.large_states: OrderedDict[ViewKey, KnownEntries] = OrderedDict()
        """The known entries of states with many rows, by key of the view; the latest come last."""

    @contextmanager
    def at(
        self, reading: Reading, ref: Ref, row_filter: Filter, history: History, index: Index
    ) -> Iterator[CachedView]:
        """Lend the view of an open state, brought up to date; `ref` names the state."""
        with self._guard:
            index_edition = index.edition()
            self._check(index_edition)
            view_key = (*state_of(reading, ref), *filter_key(row_filter))
            view = self._views.pop(view_key, None)
            view = self._views[view_key] = CachedView(row_filter) if view is None else view
            while len(self._views) > 1 and self._full():
                del self._views[next(iter(self._views))]
        with view.lock:
            is_being_read = view.readers and not view.is_at(reading, index)
            current_view = view.copy() if is_being_read else view
            current_view.advance(reading, history, index)
            current_view.readers += 1
            if is_being_read:
                with self._guard:
                    if index_edition == self._edition:
                        self._views[view_key] = current_view
        try:
            yield current_view
        finally:
            with current_view.lock:
                current_view.readers -= 1

    def large(
        self, reading: Reading, ref: Ref, row_filter: Filter, history: History, index: Index
    ) -> KnownEntries:
        """Return what is known of an open state: first what another branch or a file tells."""
        state_key = (*state_of(reading, ref), *filter_key(row_filter))
        with self._guard:
            self._check(index.edition())
            known_entries = self.large_states.pop(state_key, None)
            if known_entries is None and ref.branch is not None and ref.until is None:
                other_states = (e for k, e in self.large_states.items() if k[1:] == state_key[1:])
                known_entries = next((e for e in other_states if e.has_table), None)
        row_count = self.row_count(reading, ref, row_filter.kind)
        if known_entries is None:
            known_entries = KnownEntries(row_filter.kind, row_filter.view_query)
            known_entries.load(reading, index, row_count)
        known_entries = known_entries.at(reading, history, index)
        known_entries.fill(reading, index, row_count)
        with self._guard:
            self.large_states[state_key] = known_entries
            while len(self.large_states) > _MAX_LARGE_STATES:
                self.large_states.popitem(last=False)
        return known_entries

    def _check(self, edition: str) -> None:
        """Forget everything if the text numbers of the old views may be void."""
        if edition != self._edition:
            self._views.clear()
            self.large_states.clear()
            self._edition = edition

    def _full(self) -> bool:
        views = self._views.values()
        return len(views) > _MAX_VIEWS or sum(map(len, views)) > _MAX_ROWS

    def row_count(self, reading: Reading, ref: Ref, kind: Kind) -> int:
        """Return the number of visible rows of a kind; counted again when the state has moved."""
        count_key = (*state_of(reading, ref), kind.table)
        current_state = (reading.tip, reading.pending)
        state_and_count = self._rows.get(count_key)
        if state_and_count is None or state_and_count[0] != current_state:
            if len(self._rows) > _STATES_COUNTED:
                self._rows.clear()
            state_and_count = self._rows[count_key] = current_state, reading.count(kind)
        return state_and_count[1]

    def scope_count(self, reading: Reading, ref: Ref, row_filter: Filter, row_count: int) -> int:
        """Return about how many of a kind's `row_count` rows are in the scope of a filter.

        They are counted again when the number of all rows has changed by a tenth.
        """
        count_key = (*state_of(reading, ref), *filter_key(row_filter))
        row_count_before, scope_row_count = self._rows.get(count_key, (0, 0))
        if abs(row_count - row_count_before) * 10 > row_count:
            scope_row_count = reading.count(row_filter.kind, row_filter.scope)
            self._rows[count_key] = row_count, scope_row_count
        return scope_row_count


def state_of(reading: Reading, ref: Ref) -> ViewKey:
    """Return the key of a state's views; a branch keeps its key while it moves.

    A redaction changes the key, since rows of the cached view may be masked now.
    """
    is_live = ref.branch is not None and ref.until is None
    return (ref.branch, reading.mask) if is_live else (reading.tip, ref.until, reading.mask)
