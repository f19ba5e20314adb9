"""Pages of the rows of a state, for people who browse."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import NotFound
from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Cell, Kind, Row
from day1.ports.reading import Reading
from day1.services.conversations.order import order_of
from day1.services.repository.repository import Repository

NOTHING: Final[Mapping[str, Cell]] = {}


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a kind, and the count of all."""

    rows: list[Row]
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
        return Page(reading.find(kind, query)[offset:], reading.count(kind, within))
    equal_columns: dict[str, Cell] = {**within, "status": "active"}
    active_query = replace(
        query, equal=equal_columns, without={"verification": ["invalidated"]}, present_at=active_at
    )
    total = reading.count(kind, equal_columns)
    if (
        reading.count(kind, {**equal_columns, "valid_until": None}) < total
    ):  # some facts have an end of their valid time
        total = len(reading.scan(kind, ("id",), replace(active_query, limit=None)))
    else:
        total -= reading.count(kind, {**equal_columns, "verification": "invalidated"})
    return Page(reading.find(kind, active_query)[offset:], total)


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
    row_by_id = reading.get(MESSAGE, message_ids[offset : offset + limit])
    return Page(
        [row_by_id[message_id] for message_id in message_ids if message_id in row_by_id],
        len(message_ids),
    )
