"""The neighbourhood of an entity in the graph of relations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from day1.model.rows.change import Query
from day1.model.rows.graph import MAX_DEPTH, walk
from day1.model.rows.kind import RELATION, Cell, Row
from day1.ports.reading import Reading


@dataclass(frozen=True, slots=True)
class Edge:
    """Equal triples as one: how often they were said, and the newest of them."""

    newest: Row
    count: int


def neighbourhood(reading: Reading, entity: str, wanted: Query, depth: int) -> list[Edge]:
    """Relations around an entity in both directions, nearest first; equal triples counted.

    Only those that `wanted` asks for.
    """

    def touching(entities: Sequence[str]) -> list[Row]:
        found: dict[str, Row] = {}
        for side in ("source_entity", "target_entity"):
            query = replace(wanted, among={side: entities}, limit=1_000)
            found |= {str(row["id"]): row for row in reading.find(RELATION, query)}
        return sorted(found.values(), key=lambda row: (row["created_at"], row["id"]))

    triples: dict[tuple[Cell, ...], list[Row]] = {}
    for row in walk(entity, touching, min(depth, MAX_DEPTH)):
        key = (row["source_entity"], row["relation_type"], row["target_entity"])
        triples.setdefault(key, []).append(row)
    return [Edge(rows[-1], len(rows)) for rows in triples.values()]
