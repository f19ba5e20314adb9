"""Pages of the rows of a state, for people who browse."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import NotFound
from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Cell, Kind, Row
from day1.ports.reading import Reading
from day1.services.conversations.order import order_of
from day1.services.repository.repository import Repository

_AT_ONCE: Final = 25
"""Rows that are read at once."""
NOTHING: Final[Mapping[str, Cell]] = {}


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a kind, read as they are asked for, and the count of all."""

    rows: Iterator[Row]
    total: int


def newest_page(
    reading: Reading,
    kind: Kind,
    part: tuple[int, int],
    within: Mapping[str, Cell] = NOTHING,
    *,
    active_at: int | None = None,
) -> Page:
    """Read a page of the rows of a kind, newest first.

    Args:
        reading: the state to read.
        kind: the kind of the rows.
        part: how many rows to skip, and how many to return at most.
        within: values of columns that the rows must have.
        active_at: only facts that search would find at this instant (microseconds UTC).
    """
    offset, limit = part
    query = Query(equal=within, descending=True, limit=offset + limit)
    if active_at is None or kind is not FACT:
        return Page(_rows(reading, kind, query, offset), reading.count(kind, within))
    equal_columns: dict[str, Cell] = {**within, "status": "active"}
    active_query = replace(
        query, equal=equal_columns, without={"verification": ["invalidated"]}, present_at=active_at
    )
    total = reading.count(kind, equal_columns)
    # Some facts may have an end of their valid time.
    if reading.count(kind, {**equal_columns, "valid_until": None}) < total:
        total = len(reading.scan(kind, ("id",), replace(active_query, limit=None)))
    else:
        total -= reading.count(kind, {**equal_columns, "verification": "invalidated"})
    return Page(_rows(reading, kind, active_query, offset), total)


def message_page(
    repo: Repository, reading: Reading, conversation: str, offset: int, limit: int
) -> Page:
    """Read a page of a conversation's messages in their order.

    Raises:
        NotFound: the conversation is not in this state.
    """
    if not reading.get(CONVERSATION, [conversation]):
        raise NotFound(f"This state has no conversation {conversation!r}.", id=conversation)
    message_ids = order_of(repo, reading, conversation)
    page_ids = message_ids[offset : offset + limit]
    return Page(_messages(reading, page_ids), len(message_ids))


def _rows(reading: Reading, kind: Kind, query: Query, offset: int) -> Iterator[Row]:
    """Read the rows of a query after the first `offset`, a few at a time: each may have 8 MiB.

    The spaces of the query stay with it, since they decide which sources are hidden.
    """
    ids = [str(row["id"]) for row in reading.find(kind, query, ("id",))]
    for few_ids in _few_at_a_time(ids[offset:]):
        rows = reading.find(kind, Query(equal=query.equal, among={"id": few_ids}))
        row_by_id = {row["id"]: row for row in rows}
        yield from (row_by_id[row_id] for row_id in few_ids if row_id in row_by_id)


def _messages(reading: Reading, ids: Sequence[str]) -> Iterator[Row]:
    """Read messages a few at a time, in the order of their ids."""
    for few_ids in _few_at_a_time(ids):
        row_by_id = reading.get(MESSAGE, few_ids)
        yield from (row_by_id[row_id] for row_id in few_ids if row_id in row_by_id)


def _few_at_a_time(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
