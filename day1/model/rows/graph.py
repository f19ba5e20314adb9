"""A bounded walk over relations: an entity's neighbourhood, breadth first."""

from collections.abc import Callable, Iterable, Sequence

from day1.model.rows.kind import Row

MAX_DEPTH = 5
MAX_EDGES = 1_000

RelationsOf = Callable[[Sequence[str]], Iterable[Row]]
"""Relations that touch any of the given entities, in either direction."""


def walk(start: str, neighbours: RelationsOf, depth: int, most: int = MAX_EDGES) -> list[Row]:
    """Relations within `depth` steps of an entity, nearest first, each once.

    Cycles end the walk where they close; at most `most` relations are given.
    """
    found: dict[str, Row] = {}
    seen, edge = {start}, [start]
    for _ in range(depth):
        after: dict[str, None] = {}
        for row in neighbours(edge):
            if len(found) >= most:
                return list(found.values())
            found.setdefault(str(row["id"]), row)
            for end in (str(row["source_entity"]), str(row["target_entity"])):
                if end not in seen:
                    seen.add(end)
                    after[end] = None
        edge = list(after)
        if not edge:
            break
    return list(found.values())
