"""Listing conversations, in the order of their newest messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE, Cell, Row, text_of
from day1.ports.reading import Reading
from day1.ports.store import Store

_HEADLINE = 60
"""Characters of the first message that stand for a missing title."""


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation with its title, and the number and newest time of its messages."""

    row: Row
    title: str | None
    message_count: int
    updated_at: int


def recent_conversations(
    reading: Reading, equal: Mapping[str, Cell], limit: int
) -> list[ListedConversation]:
    """List the conversations that have these column values, most recently active first.

    It reads the messages of the `limit` newest and of the `limit` most recently active ones.
    """
    newest_query = Query(equal=equal, order="created_at", descending=True, limit=limit)
    conversation_ids = [str(row[0]) for row in reading.scan(CONVERSATION, ("id",), newest_query)]
    if len(conversation_ids) == limit:
        conversation_ids += _active(reading, equal, limit)
    row_by_id = reading.get(CONVERSATION, conversation_ids)
    messages_query = Query(among={"conversation_id": [*row_by_id]})
    times_and_ids_by_conversation: dict[str, list[tuple[int, str]]] = {}
    for row in reading.scan(MESSAGE, ("conversation_id", "created_at", "id"), messages_query):
        times_and_ids_by_conversation.setdefault(str(row[0]), []).append(
            (int(row[1] or 0), str(row[2]))
        )

    def updated(conversation_id: str) -> int:
        newest_time_and_id = max(
            times_and_ids_by_conversation.get(conversation_id, ()), default=None
        )
        return (
            int(row_by_id[conversation_id]["created_at"] or 0)
            if newest_time_and_id is None
            else newest_time_and_id[0]
        )

    shown_ids = sorted(
        row_by_id,
        key=lambda conversation_id: (updated(conversation_id), conversation_id),
        reverse=True,
    )[:limit]
    first_id_by_conversation = {
        conversation_id: min(times_and_ids_by_conversation[conversation_id])[1]
        for conversation_id in shown_ids
        if row_by_id[conversation_id]["title"] is None
        and conversation_id in times_and_ids_by_conversation
    }
    first_message_by_id = reading.get(MESSAGE, [*first_id_by_conversation.values()])
    title_by_id = {
        conversation_id: _headline(str(first_message_by_id[first_id]["content"]))
        for conversation_id, first_id in first_id_by_conversation.items()
    }
    return [
        ListedConversation(
            row_by_id[conversation_id],
            title_by_id.get(conversation_id) or text_of(row_by_id[conversation_id]["title"]),
            len(times_and_ids_by_conversation.get(conversation_id, ())),
            updated(conversation_id),
        )
        for conversation_id in shown_ids
    ]


def messages_within(store: Store, ref: Ref, equal: Mapping[str, Cell]) -> dict[str, Sequence[Cell]]:
    """Build the condition that a message's conversation has these values; empty without values."""
    if not equal:
        return {}
    with store.reading(ref) as reading:
        conversation_rows = reading.scan(CONVERSATION, ("id",), Query(equal=equal))
    return {"conversation_id": [row[0] for row in conversation_rows]}


def _active(reading: Reading, equal: Mapping[str, Cell], limit: int) -> list[str]:
    """Find `limit` conversations with the newest messages; reads back as far as needed."""
    scan_limit = 8 * limit
    while True:
        newest_query = Query(order="created_at", descending=True, limit=scan_limit)
        message_rows = reading.scan(MESSAGE, ("conversation_id",), newest_query)
        conversation_ids = list(dict.fromkeys(str(row[0]) for row in message_rows))
        row_by_id = reading.get(CONVERSATION, conversation_ids)
        matching_ids = [
            conversation_id
            for conversation_id in conversation_ids
            if conversation_id in row_by_id
            and all(row_by_id[conversation_id][column] == value for column, value in equal.items())
        ]
        if len(matching_ids) >= limit or len(message_rows) < scan_limit:
            return matching_ids[:limit]
        scan_limit *= 4


def _headline(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _HEADLINE else f"{one_line[:_HEADLINE].rstrip()} \u2026"
