"""Visible rows without their texts, and the order in which their writers wrote them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from day1.model.rows.kind import Cell, Kind
from day1.ports.index import TextId

_LONGEST_PAUSE_US = 3_600_000_000
_MAX_INSERTED = 64
"""New rows up to which each is inserted at its place; with more, all are sorted again."""
_LONG_AGO = -(2**63)
"""End of the valid time of superseded facts without an end: earlier than any instant."""

Writer = tuple[Cell, ...]
"""The agent and the session of a row."""


class Entry(NamedTuple):
    """A row in a cached view, without its text. Units: microseconds UTC."""

    row_id: str
    text: TextId
    created_at: int
    happened_at: int | None
    when: int
    """When the row happened or, if that is unknown, was learned."""
    facets: tuple[Cell, ...]
    writer: Writer
    ends: tuple[int | None, int | None]
    """When the row expires, and when its valid time ends; None: never."""


def columns_of(kind: Kind) -> tuple[str, ...]:
    """Return the columns that make an `Entry`."""
    return (
        "id",
        "content_hash",
        "created_at",
        "happened_at",
        "agent_id",
        "session_id",
        *_ends(kind),
        *kind.facets,
    )


@lru_cache
def _ends(kind: Kind) -> tuple[str, ...]:
    """Return the columns that tell when a row of a kind ends."""
    return tuple(
        column for column in ("expires_at", "valid_until", "status") if column in kind.column
    )


@lru_cache(maxsize=16_384)
def _shared(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Return one shared tuple for equal cells, to save memory in large views."""
    return cells


def entry_of(kind: Kind, row: tuple[Cell, ...], text: TextId) -> Entry:
    """Build the entry of a row that has the columns of `columns_of` and this text number."""
    row_id, _, created_at, happened_at, agent_id, session_id, *end_and_facet_cells = row
    end_by_column = dict(zip(_ends(kind), end_and_facet_cells, strict=False))
    ended_at = end_by_column.get("valid_until")
    if ended_at is None and end_by_column.get("status") == "superseded":
        ended_at = _LONG_AGO
    when = created_at if happened_at is None else happened_at
    writer, ends = (
        _shared((agent_id, session_id)),
        _shared((end_by_column.get("expires_at"), ended_at)),
    )
    facets = _shared(tuple(end_and_facet_cells[len(end_by_column) :]))
    return Entry(row_id, text, created_at, happened_at, when, facets, writer, ends)  # type: ignore[arg-type]  # of these columns


def _place(entry: Entry) -> tuple[int, str]:
    return entry.created_at, entry.row_id


def _goes_on(earlier: Entry, later: Entry) -> bool:
    """Whether `later` was written soon after `earlier`, judged by their times.

    Rows of one unit of work, such as an import, have the same time and no order.
    """
    return 0 < later.created_at - earlier.created_at <= _LONGEST_PAUSE_US


class WritingOrder:
    """Rows by writer, in the order of writing."""

    def __init__(self) -> None:
        """Begin without rows."""
        self._rows: dict[Writer, list[Entry]] = {}

    def copy(self) -> WritingOrder:
        """Return an independent copy: changes of one do not affect the other."""
        copied_order = WritingOrder()
        copied_order._rows = {writer: list(entries) for writer, entries in self._rows.items()}
        return copied_order

    def add(self, entries: Iterable[Entry]) -> None:
        """Insert rows at their places in this order."""
        new_entries_by_writer: dict[Writer, list[Entry]] = {}
        for entry in entries:
            new_entries_by_writer.setdefault(entry.writer, []).append(entry)
        for writer, writer_entries in new_entries_by_writer.items():
            ordered_entries = self._rows.setdefault(writer, [])
            if not ordered_entries or len(writer_entries) > _MAX_INSERTED:
                ordered_entries += writer_entries
                ordered_entries.sort(key=_place)
                continue
            for entry in writer_entries:
                insort(ordered_entries, entry, key=_place)

    def drop(self, entry: Entry) -> None:
        """Remove a row."""
        writer_entries = self._rows[entry.writer]
        del writer_entries[bisect_left(writer_entries, _place(entry), key=_place)]
        if not writer_entries:
            del self._rows[entry.writer]

    def around(self, entries: Iterable[Entry], distance: int) -> list[list[Entry]]:
        """Find rows up to `distance` places from `entries`, as runs of consecutive rows.

        A run ends between two rows of the same time, or more than an hour apart.
        """
        positions_by_writer: dict[Writer, set[int]] = {}
        for entry in entries:
            writer_entries = self._rows.get(entry.writer, [])
            position = bisect_left(writer_entries, _place(entry), key=_place)
            if position < len(writer_entries) and writer_entries[position].row_id == entry.row_id:
                positions_by_writer.setdefault(entry.writer, set()).update(
                    _reached(writer_entries, position, distance)
                )
        runs: list[list[Entry]] = []
        for writer, positions in positions_by_writer.items():
            writer_entries, previous_position = self._rows[writer], -2
            for position in sorted(positions):
                if position == previous_position + 1 and _goes_on(
                    writer_entries[previous_position], writer_entries[position]
                ):
                    runs[-1].append(writer_entries[position])
                else:
                    runs.append([writer_entries[position]])
                previous_position = position
        return runs

    def pairs(self, limit: int) -> list[tuple[TextId, TextId]]:
        """Sample the texts of up to `limit` pairs of consecutive rows, evenly from all pairs."""
        text_id_pairs = [
            (earlier_entry.text, later_entry.text)
            for writer_entries in self._rows.values()
            for earlier_entry, later_entry in pairwise(writer_entries)
            if _goes_on(earlier_entry, later_entry)
        ]
        return text_id_pairs[:: len(text_id_pairs) // limit + 1]


def _reached(rows: Sequence[Entry], place: int, distance: int) -> range:
    """Return the places up to `distance` from `place` in the same run of consecutive rows."""
    first_place = last_place = place
    while first_place > max(0, place - distance) and _goes_on(
        rows[first_place - 1], rows[first_place]
    ):
        first_place -= 1
    while last_place < min(len(rows) - 1, place + distance) and _goes_on(
        rows[last_place], rows[last_place + 1]
    ):
        last_place += 1
    return range(first_place, last_place + 1)
