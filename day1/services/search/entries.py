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
    return tuple(c for c in ("expires_at", "valid_until", "status") if c in kind.column)


@lru_cache(maxsize=16_384)
def _shared(cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Return one shared tuple for equal cells, to save memory in large views."""
    return cells


def entry_of(kind: Kind, row: tuple[Cell, ...], text: TextId) -> Entry:
    """Build the entry of a row that has the columns of `columns_of` and this text number."""
    row_id, _, created_at, happened_at, agent_id, session_id, *other_cells = row
    end = dict(zip(_ends(kind), other_cells, strict=False))
    ended_at = end.get("valid_until")
    if ended_at is None and end.get("status") == "superseded":
        ended_at = _LONG_AGO
    when = created_at if happened_at is None else happened_at
    writer, ends = _shared((agent_id, session_id)), _shared((end.get("expires_at"), ended_at))
    facets = _shared(tuple(other_cells[len(end) :]))
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
        other = WritingOrder()
        other._rows = {writer: list(rows) for writer, rows in self._rows.items()}
        return other

    def add(self, entries: Iterable[Entry]) -> None:
        """Insert rows at their places in this order."""
        new_by_writer: dict[Writer, list[Entry]] = {}
        for entry in entries:
            new_by_writer.setdefault(entry.writer, []).append(entry)
        for writer, added in new_by_writer.items():
            rows = self._rows.setdefault(writer, [])
            if len(added) > _MAX_INSERTED:
                rows += added
                rows.sort(key=_place)
                continue
            for entry in added:
                insort(rows, entry, key=_place)

    def drop(self, entry: Entry) -> None:
        """Remove a row."""
        rows = self._rows[entry.writer]
        del rows[bisect_left(rows, _place(entry), key=_place)]
        if not rows:
            del self._rows[entry.writer]

    def around(self, entries: Iterable[Entry], distance: int) -> list[list[Entry]]:
        """Find rows up to `distance` places from `entries`, as runs of consecutive rows.

        A run ends between two rows of the same time, or more than an hour apart.
        """
        places_by_writer: dict[Writer, set[int]] = {}
        for entry in entries:
            rows = self._rows.get(entry.writer, [])
            place = bisect_left(rows, _place(entry), key=_place)
            if place < len(rows) and rows[place].row_id == entry.row_id:
                places_by_writer.setdefault(entry.writer, set()).update(
                    _reached(rows, place, distance)
                )
        runs: list[list[Entry]] = []
        for writer, places in places_by_writer.items():
            rows, last = self._rows[writer], -2
            for place in sorted(places):
                if place == last + 1 and _goes_on(rows[last], rows[place]):
                    runs[-1].append(rows[place])
                else:
                    runs.append([rows[place]])
                last = place
        return runs

    def pairs(self, limit: int) -> list[tuple[TextId, TextId]]:
        """Sample the texts of up to `limit` pairs of consecutive rows, evenly from all pairs."""
        text_pairs = [
            (first.text, second.text)
            for rows in self._rows.values()
            for first, second in pairwise(rows)
            if _goes_on(first, second)
        ]
        return text_pairs[:: len(text_pairs) // limit + 1]


def _reached(rows: Sequence[Entry], place: int, distance: int) -> range:
    """Return the places up to `distance` from `place` in the same run of consecutive rows."""
    first = last = place
    while first > max(0, place - distance) and _goes_on(rows[first - 1], rows[first]):
        first -= 1
    while last < min(len(rows) - 1, place + distance) and _goes_on(rows[last], rows[last + 1]):
        last += 1
    return range(first, last + 1)
