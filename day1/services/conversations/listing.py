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
    ids = [str(row[0]) for row in reading.scan(CONVERSATION, ("id",), newest_query)]
    if len(ids) == limit:
        ids += _active(reading, equal, limit)
    rows = reading.get(CONVERSATION, ids)
    messages_query = Query(among={"conversation_id": [*rows]})
    keys_by_conversation: dict[str, list[tuple[int, str]]] = {}
    for row in reading.scan(MESSAGE, ("conversation_id", "created_at", "id"), messages_query):
        keys_by_conversation.setdefault(str(row[0]), []).append((int(row[1] or 0), str(row[2])))

    def updated(conversation_id: str) -> int:
        newest = max(keys_by_conversation.get(conversation_id, ()), default=None)
        return int(rows[conversation_id]["created_at"] or 0) if newest is None else newest[0]

    shown_ids = sorted(rows, key=lambda i: (updated(i), i), reverse=True)[:limit]
    first_id_by_conversation = {
        i: min(keys_by_conversation[i])[1]
        for i in shown_ids
        if rows[i]["title"] is None and i in keys_by_conversation
    }
    first_messages = reading.get(MESSAGE, [*first_id_by_conversation.values()])
    title_by_id = {
        i: _headline(str(first_messages[first]["content"]))
        for i, first in first_id_by_conversation.items()
    }
    return [
        ListedConversation(
            rows[i],
            title_by_id.get(i) or text_of(rows[i]["title"]),
            len(keys_by_conversation.get(i, ())),
            updated(i),
        )
        for i in shown_ids
    ]


def messages_within(store: Store, ref: Ref, equal: Mapping[str, Cell]) -> dict[str, Sequence[Cell]]:
    """Build the condition that a message's conversation has these values; empty without values."""
    if not equal:
        return {}
    with store.reading(ref) as reading:
        rows = reading.scan(CONVERSATION, ("id",), Query(equal=equal))
    return {"conversation_id": [row[0] for row in rows]}


def _active(reading: Reading, equal: Mapping[str, Cell], limit: int) -> list[str]:
    """Find `limit` conversations with the newest messages; reads back as far as needed."""
    scan_limit = 8 * limit
    while True:
        newest_query = Query(order="created_at", descending=True, limit=scan_limit)
        messages = reading.scan(MESSAGE, ("conversation_id",), newest_query)
        ids = list(dict.fromkeys(str(row[0]) for row in messages))
        rows = reading.get(CONVERSATION, ids)
        matching_ids = [
            i for i in ids if i in rows and all(rows[i][c] == v for c, v in equal.items())
        ]
        if len(matching_ids) >= limit or len(messages) < scan_limit:
            return matching_ids[:limit]
        scan_limit *= 4


def _headline(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _HEADLINE else f"{words[:_HEADLINE].rstrip()} \u2026"
