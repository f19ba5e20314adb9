"""Entries and records of Pydantic AI as messages and entries of day1, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter

from day1 import errors

_MOST_TEXT: Final = 32_768
_CUT: Final = "…"
_UNREAD: Final = frozenset({"thinking", "compaction"})
"""Kinds of parts that search does not read."""
_TOOL: Final = ("tool_name", "args", "content")
_RECORD: Final = TypeAdapter(ConversationRecord)


def message_of(entry: ConversationEntry) -> dict[str, Any]:
    """Convert an entry into a message for the change `say` of `rows_apply`.

    Raises:
        InvalidRequest: the message is no JSON.
    """
    try:
        message_json = ModelMessagesTypeAdapter.dump_json([entry.message])[1:-1].decode()
    except ValueError as exc:
        raise errors.InvalidRequest(
            f"A message cannot be written as JSON ({exc}), so nothing was saved: correct it."
        ) from exc
    id_jsons = json.dumps(entry.id), json.dumps(entry.parent_id)
    message = json.loads(message_json)
    return {
        "key": entry.id,
        "role": _role(message),
        "content": _text(message),
        "structure": '{{"id":{},"parent_id":{},"message":{}}}'.format(*id_jsons, message_json),
    }


def entries_of(messages: Sequence[Mapping[str, Any]]) -> list[ConversationEntry]:
    """Rebuild entries of the framework from messages of day1."""
    # A message whose words a person replaced has no structure any more.
    documents = [
        json.loads(message["structure"]) for message in messages if message.get("structure")
    ]
    messages_json = json.dumps([document["message"] for document in documents])
    model_messages = ModelMessagesTypeAdapter.validate_json(messages_json)
    return [
        ConversationEntry(id=document["id"], parent_id=document["parent_id"], message=message)
        for document, message in zip(documents, model_messages, strict=True)
    ]


def value_of(record: ConversationRecord) -> dict[str, Any]:
    """Return a record as the value of an entry of day1.

    Raises:
        InvalidRequest: it is no JSON.
    """
    try:
        value: dict[str, Any] = _RECORD.dump_python(record, mode="json")
    except ValueError as exc:
        raise errors.InvalidRequest(
            f"The conversation's record cannot be written as JSON ({exc}), so nothing was saved."
        ) from exc
    return value


def record_of(entry: Mapping[str, Any]) -> ConversationRecord:
    """Return an entry of day1 as a record.

    Raises:
        InvalidRequest: somebody gave the entry another value.
    """
    try:
        return _RECORD.validate_python(entry["value"])
    except ValidationError as exc:
        raise errors.InvalidRequest(
            f"The entry {entry['key']!r} of the space {entry['space']!r} is no record of a "
            "conversation, since somebody changed it: `memory.restore` brings it back.",
            id=entry["id"],
        ) from exc


def _role(message: Mapping[str, Any]) -> str:
    if message["kind"] == "response":
        return "assistant"
    part_kinds = {part["part_kind"] for part in message["parts"]}
    if part_kinds & {"user-prompt", "speech"}:
        return "user"
    if any("tool" in part_kind or "retry" in part_kind for part_kind in part_kinds):
        return "tool"
    return "system" if "system-prompt" in part_kinds else "user"


def _text(message: Mapping[str, Any]) -> str:
    """Return the text that people read and search finds; never empty."""
    parts = message["parts"]
    texts = [text for part in parts if part["part_kind"] not in _UNREAD for text in _lines(part)]
    text = "\n".join(texts).replace("\0", "\ufffd")
    if not text.strip():
        text = ", ".join(dict.fromkeys(part["part_kind"] for part in parts)) or message["kind"]
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - len(_CUT)] + _CUT


def _lines(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a message part; for a tool's call or result, one text with its name."""
    if "tool_name" in part:
        tool_values = [
            _readable(part[tool_field]) for tool_field in _TOOL if part.get(tool_field) is not None
        ]
        yield ": ".join(value if isinstance(value, str) else _json(value) for value in tool_values)
        return
    content = part.get("content", part.get("transcript"))
    for piece in content if isinstance(content, list) else [content]:
        text = piece.get("content") if isinstance(piece, dict) else piece
        if isinstance(text, str):
            yield text


def _readable(value: Any) -> Any:
    """Return a JSON value with each binary file replaced by its media type."""
    if isinstance(value, dict):
        if value.get("kind") == "binary":
            return value.get("media_type")
        return {key: _readable(part) for key, part in value.items()}
    return [_readable(part) for part in value] if isinstance(value, list) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
