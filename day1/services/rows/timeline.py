"""Memories in the order of time."""

from dataclasses import dataclass, replace

from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, OBSERVATION, Kind, Row, when
from day1.ports.reading import Reading


@dataclass(frozen=True, slots=True)
class Moment:
    """One row on a timeline."""

    kind: Kind
    row: Row
    at: int
    """When it happened, else when it was learned."""


def timeline(reading: Reading, window: Query) -> list[Moment]:
    """The newest facts and observations of a window, in ascending order of time.

    Args:
        reading: of the state to look at.
        window: whose rows, from when to when, and at most how many (default 50).
    """
    limit = 50 if window.limit is None else window.limit
    query = replace(window, descending=True, limit=limit)
    moments = [
        Moment(kind, row, when(row))
        for kind in (FACT, OBSERVATION)
        for row in reading.find(kind, query)
    ]
    moments.sort(key=lambda m: (m.at, str(m.row["id"])))
    return moments[-limit:]
