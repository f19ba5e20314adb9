"""The rows of a space, and what to say where it has none: names drift, memories seem lost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, MEMORIES, MESSAGE, Cell, Kind
from day1.model.values.space import similar_spaces
from day1.ports.reading import Reading


def within(reading: Reading, kind: Kind, query: Query, space: Mapping[str, Cell]) -> Query:
    """A query for the rows of a space; messages are in that of their conversation.

    `space` is a column and its value, or nothing for the rows of all spaces.
    """
    if not space:
        return query
    if "space" in kind.column:
        return replace(query, equal={**query.equal, **space})
    if kind is not MESSAGE:
        return query
    ids = [row[0] for row in reading.scan(CONVERSATION, ("id",), Query(equal=space))]
    return replace(query, among={**query.among, "conversation_id": ids})


def empty_space(reading: Reading, asked: Mapping[str, Cell], found: Sequence[object]) -> list[str]:
    """A note if a call in a space found nothing: which spaces with similar names have rows.

    Args:
        reading: of the state that was asked.
        asked: the columns that rows were asked for.
        found: what was found.
    """
    space = asked.get("space")
    if found or space is None:
        return []
    kinds = [kind for kind in MEMORIES if "space" in kind.column]
    if any(reading.count(kind, {"space": space}) for kind in kinds):
        return []
    known: dict[str, int] = {}
    for kind in kinds:
        for name, count in reading.tally(kind, "space").items():
            if name is not None:
                known[str(name)] = known.get(str(name), 0) + count
    near = similar_spaces(str(space), known)
    hint = f" Similar: {', '.join(f'{name} ({known[name]})' for name in near)}." if near else ""
    return [f"Nothing is in the space {space}.{hint}"]
