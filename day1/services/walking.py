"""Reading in order rather than by relevance: the graph around an entity, and timelines."""

from collections.abc import Sequence
from dataclasses import dataclass

from day1.model.change import Query
from day1.model.graph import MAX_DEPTH, walk
from day1.model.kind import FACT, OBSERVATION, RELATION, Cell, Kind, Row, when
from day1.ports.store import Reading


@dataclass(frozen=True, slots=True)
class Edge:
    """Equal triples as one: how often they were said, and the newest of them."""

    newest: Row
    count: int


def neighbourhood(
    reading: Reading, entity: str, relation_type: str | None, depth: int
) -> list[Edge]:
    """Relations around an entity in both directions, nearest first; equal triples counted."""
    kept: dict[str, Cell] = {} if relation_type is None else {"relation_type": relation_type}

    def touching(entities: Sequence[str]) -> list[Row]:
        found: dict[str, Row] = {}
        for side in ("source_entity", "target_entity"):
            query = Query(equal=kept, among={side: entities}, limit=1_000)
            found |= {str(row["id"]): row for row in reading.find(RELATION, query)}
        return sorted(found.values(), key=lambda row: (row["created_at"], row["id"]))

    triples: dict[tuple[Cell, ...], list[Row]] = {}
    for row in walk(entity, touching, min(depth, MAX_DEPTH)):
        key = (row["source_entity"], row["relation_type"], row["target_entity"])
        triples.setdefault(key, []).append(row)
    return [Edge(rows[-1], len(rows)) for rows in triples.values()]


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
