"""The rows of a space, and notes about empty spaces: a misspelt name looks like lost memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import Final

from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, MEMORIES, MESSAGE, Cell, Kind
from day1.model.values.space import similar_spaces
from day1.ports.reading import Reading

NEWEST_MESSAGES: Final = 5_000
"""Maximum number of messages of a space that a search compares by vector: the newest ones."""


def within(reading: Reading, kind: Kind, query: Query, space: Mapping[str, Cell]) -> Query:
    """Restrict a query to the rows of a space; a message is in its conversation's space.

    `space` is the column and its value; empty for the rows of all spaces.
    """
    if not space:
        return query
    if "space" in kind.column:
        return replace(query, equal={**query.equal, **space})
    if kind is not MESSAGE:
        return query
    conversation_ids = [row[0] for row in reading.scan(CONVERSATION, ("id",), Query(equal=space))]
    return replace(query, among={**query.among, "conversation_id": conversation_ids})


def spaces_below(reading: Reading, space: str | None) -> list[str | None]:
    """Return a space and those below it that have rows; for None the rows without a space.

    Below `agent:a` are `agent:a/user:b` and all further ones.
    """
    if space is None:
        return [None]
    kinds = [kind for kind in MEMORIES if "space" in kind.column]
    space_names = {str(name) for kind in kinds for name in reading.tally(kind, "space") if name}
    return [space, *sorted(name for name in space_names if name.startswith(f"{space}/"))]


def newest_messages(
    reading: Reading, spaces: Sequence[str | None], limit: int = NEWEST_MESSAGES
) -> frozenset[str]:
    """Return the ids of the newest messages whose conversation is in one of these spaces.

    A search takes the ids as `SearchRequest.only`. With a condition on conversations instead, it
    would filter the messages nearest to the question, and few of these are in one space.
    """
    space_query = Query(among={"space": list(spaces)})
    conversation_ids = [row[0] for row in reading.scan(CONVERSATION, ("id",), space_query)]
    messages_query = Query(among={"conversation_id": conversation_ids})
    times_and_ids = (
        reading.scan(MESSAGE, ("created_at", "id"), messages_query) if conversation_ids else []
    )
    return frozenset(str(row_id) for _, row_id in nlargest(limit, times_and_ids))


def empty_spaces(reading: Reading, spaces: Sequence[str | None]) -> list[str]:
    """Return a note for each space if all of them are named and have no rows; else none."""
    notes_of_spaces = [empty_space(reading, {"space": space}, ()) for space in spaces]
    return (
        [note for space_notes in notes_of_spaces for note in space_notes]
        if all(notes_of_spaces)
        else []
    )


def empty_space(
    reading: Reading, equal: Mapping[str, Cell], results: Sequence[object]
) -> list[str]:
    """Return a note if a call found nothing because its space has no rows, with similar names.

    Args:
        reading: a reading of the state that the call read.
        equal: the columns and values that the call asked for.
        results: what the call found.
    """
    space = equal.get("space")
    if results or space is None:
        return []
    kinds = [kind for kind in MEMORIES if "space" in kind.column]
    if any(reading.count(kind, {"space": space}) for kind in kinds):
        return []
    row_count_by_space: dict[str, int] = {}
    for kind in kinds:
        for name, count in reading.tally(kind, "space").items():
            if name is not None:
                row_count_by_space[str(name)] = row_count_by_space.get(str(name), 0) + count
    similar_names = similar_spaces(str(space), row_count_by_space)
    hint = (
        f" Similar: {', '.join(f'{name} ({row_count_by_space[name]})' for name in similar_names)}."
        if similar_names
        else ""
    )
    return [f"Nothing is in the space {space}.{hint}"]
