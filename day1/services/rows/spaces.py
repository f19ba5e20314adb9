"""The rows of a space, and what to say where it has none: names drift, memories seem lost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import Final

from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, MEMORIES, MESSAGE, Cell, Kind
from day1.model.values.space import similar_spaces
from day1.ports.reading import Reading

NEWEST_MESSAGES: Final = 5_000
"""Messages of a space that a search looks among: all of their vectors are compared."""


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


def newest_messages(
    reading: Reading, spaces: Sequence[str | None], most: int = NEWEST_MESSAGES
) -> frozenset[str]:
    """The ids of the newest messages of these spaces: a message is in that of its conversation.

    A search takes them as `SearchRequest.only`. A condition on their conversations would be met
    by the messages near the question, and few of a space are among the nearest of a large branch.
    """
    among = Query(among={"space": list(spaces)})
    ids = [row[0] for row in reading.scan(CONVERSATION, ("id",), among)]
    query = Query(among={"conversation_id": ids})
    rows = reading.scan(MESSAGE, ("created_at", "id"), query) if ids else []
    return frozenset(str(row_id) for _, row_id in nlargest(most, rows))


def empty_spaces(reading: Reading, spaces: Sequence[str | None]) -> list[str]:
    """A note for each space, if a call that found nothing was about named spaces without rows."""
    notes = [empty_space(reading, {"space": space}, ()) for space in spaces]
    return [note for some in notes for note in some] if all(notes) else []


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
