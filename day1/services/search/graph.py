"""The neighbourhood of an entity in the graph of relations."""

from collections.abc import Sequence
from dataclasses import dataclass

from day1.model.rows.change import Query
from day1.model.rows.graph import MAX_DEPTH, walk
from day1.model.rows.kind import RELATION, Cell, Row
from day1.ports.reading import Reading


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
