"""Memories in the order of time."""

from dataclasses import dataclass

from day1.model.rows.change import Query
from day1.model.rows.kind import FACT, OBSERVATION, Cell, Kind, Row, when
from day1.ports.reading import Reading


@dataclass(frozen=True, slots=True)
class Moment:
    """One row on a timeline."""

    kind: Kind
    row: Row
    at: int
    """When it happened, else when it was learned."""


def timeline(
    reading: Reading,
    *,
    session_id: str | None = None,
    agent_id: str | None = None,
    after: int | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Moment]:
    """The newest `limit` facts and observations of a window, in ascending order of time."""
    writer: dict[str, Cell] = {"session_id": session_id, "agent_id": agent_id}
    equal = {name: cell for name, cell in writer.items() if cell is not None}
    query = Query(equal=equal, after=after, before=before, descending=True, limit=limit)
    moments = [
        Moment(kind, row, when(row))
        for kind in (FACT, OBSERVATION)
        for row in reading.find(kind, query)
    ]
    moments.sort(key=lambda m: (m.at, str(m.row["id"])))
    return moments[-limit:]
