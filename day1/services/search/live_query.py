"""Queries on states with many rows: SQL finds the rows that have given texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from day1.model.rows.change import Query
from day1.ports.index import Index, TextId
from day1.ports.reading import Reading
from day1.services.search.entries import Entry, WritingOrder, columns_of, entry_of
from day1.services.search.filters import Filter
from day1.services.search.known_entries import KnownEntries
from day1.services.search.views import ViewKey, among


class LiveQuery:
    """The rows of one kind at an open state, read by SQL when they are needed."""

    def __init__(
        self,
        row_filter: Filter,
        reading: Reading,
        index: Index,
        row_count: int,
        known: KnownEntries,
    ) -> None:
        """Use an open reading with `row_count` rows of a kind; `row_filter` gives kind and scope.

        `known` are the entries that are known of the reading's state.
        """
        self.kind = row_filter.kind
        self.key: ViewKey = (row_filter.kind.table,)
        self.unindexed = 0
        self._all = replace(row_filter, equal={}, among={}, after=None, before=None)
        self._reading = reading
        self._index = index
        self._row_count = row_count
        self._known = known

    def __len__(self) -> int:
        """Return the number of rows of the kind in the state."""
        return self._row_count

    def entries(self, texts: Iterable[TextId], row_filter: Filter) -> list[Entry]:
        """Find the wanted rows that have one of `texts`, in the order of `texts`."""
        text_ids = list(dict.fromkeys(texts))
        entries_by_text = self._known.of(text_ids, self._reading, self._index)
        return among(
            row_filter, chain.from_iterable(entries_by_text[text_id] for text_id in text_ids)
        )

    def sample(self, limit: int) -> list[TextId]:
        """Return the texts of the newest rows, as a sample."""
        query = Query(limit=limit, descending=True)
        hashes = [str(row[0]) for row in self._reading.scan(self.kind, ("content_hash",), query)]
        return list(self._index.words.known(self.kind, hashes).values())

    def around(self, entries: Iterable[Entry], distance: int) -> list[list[Entry]]:
        """Find most rows that were written next to `entries`, as runs of consecutive rows.

        The index numbers texts as they are written, so neighbours are searched for among texts
        with near numbers.
        """
        clusters = _clusters(entries, 4 * distance)
        text_id_ranges = [
            range(cluster[0].text - 2 * distance, cluster[-1].text + 2 * distance + 1)
            for cluster in clusters
        ]
        entries_by_text: dict[TextId, list[Entry]] = {}
        for entry in self.entries(chain.from_iterable(text_id_ranges), self._all):
            entries_by_text.setdefault(entry.text, []).append(entry)
        runs: list[list[Entry]] = []
        for cluster, text_id_range in zip(clusters, text_id_ranges, strict=True):
            writing_order = WritingOrder()
            writing_order.add(
                chain.from_iterable(entries_by_text.get(text_id, ()) for text_id in text_id_range)
            )
            runs += writing_order.around(cluster, distance)
        return runs

    def beside(self, limit: int) -> list[tuple[TextId, TextId]]:
        """Return the texts of pairs of consecutive rows among the newest `limit` rows."""
        query = Query(limit=limit, descending=True)
        rows = self._reading.scan(self.kind, columns_of(self.kind), query)
        text_id_by_hash = self._index.words.known(self.kind, [str(row[1]) for row in rows])
        writing_order = WritingOrder()
        rows_with_text_id = ((row, text_id_by_hash.get(str(row[1]))) for row in rows)
        writing_order.add(
            entry_of(self.kind, row, text_id)
            for row, text_id in rows_with_text_id
            if text_id is not None
        )
        return writing_order.pairs(limit)


def _clusters(entries: Iterable[Entry], gap: int) -> list[list[Entry]]:
    """Sort entries by text number, and split them where numbers differ by more than `gap`."""
    clusters: list[list[Entry]] = []
    for entry in sorted(entries, key=lambda each: each.text):
        if clusters and entry.text - clusters[-1][-1].text <= gap:
            clusters[-1].append(entry)
        else:
            clusters.append([entry])
    return clusters
