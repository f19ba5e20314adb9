"""The neighbourhood of an entity in the graph of relations."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from day1.model.rows.change import Query
from day1.model.rows.kind import RELATION, Cell, Row
from day1.ports.reading import Reading

MAX_DEPTH = 5
MAX_EDGES = 1_000

RelationsOf = Callable[[Sequence[str]], Iterable[Row]]
"""A function that finds the relations from or to any of these entities."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Relations with equal entities and type: the newest one and their number."""

    newest: Row
    count: int


def neighbourhood(reading: Reading, entity: str, conditions: Query, depth: int) -> list[Edge]:
    """Find the relations around an entity in both directions, nearest first; count equal ones.

    Only relations that meet `conditions`.
    """

    def touching(entities: Sequence[str]) -> list[Row]:
        row_by_id: dict[str, Row] = {}
        for entity_column in ("source_entity", "target_entity"):
            query = replace(conditions, among={entity_column: entities}, limit=1_000)
            row_by_id |= {str(row["id"]): row for row in reading.find(RELATION, query)}
        return sorted(row_by_id.values(), key=lambda row: (row["created_at"], row["id"]))

    rows_by_triple: dict[tuple[Cell, ...], list[Row]] = {}
    for row in walk(entity, touching, min(depth, MAX_DEPTH)):
        triple = (row["source_entity"], row["relation_type"], row["target_entity"])
        rows_by_triple.setdefault(triple, []).append(row)
    return [Edge(rows[-1], len(rows)) for rows in rows_by_triple.values()]


def walk(start: str, neighbours: RelationsOf, depth: int, limit: int = MAX_EDGES) -> list[Row]:
    """Find relations within `depth` steps of an entity, nearest first, each once.

    No entity is visited twice; at most `limit` relations are returned.
    """
    row_by_id: dict[str, Row] = {}
    seen_entities, frontier = {start}, [start]
    for _ in range(depth):
        next_frontier: dict[str, None] = {}
        for row in neighbours(frontier):
            if len(row_by_id) >= limit:
                return list(row_by_id.values())
            row_by_id.setdefault(str(row["id"]), row)
            for entity in (str(row["source_entity"]), str(row["target_entity"])):
                if entity not in seen_entities:
                    seen_entities.add(entity)
                    next_frontier[entity] = None
        frontier = list(next_frontier)
        if not frontier:
            break
    return list(row_by_id.values())
