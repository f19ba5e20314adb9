"""Messages of turns and transcripts: how they are stored, and how they are shown again."""

import json
from collections.abc import Sequence
from typing import Any, cast

from day1.model.prime.framing import without_frames
from day1.model.rows.kind import Cell, Row, canonical, when
from day1.services.conversations.messages import NewMessage
from day1.toolsets.compose.fields import (
    MILLISECOND,
    AgentMemoryTurnMessage,
    Role,
    ToolCall,
    milliseconds,
)


def to_store(
    messages: Sequence[AgentMemoryTurnMessage], model: str | None = None
) -> list[NewMessage]:
    """Convert messages for storing, without memory prompts that they quote; drop empty messages.

    `model` wrote the messages of the assistant.
    """
    messages_to_store = []
    for message in messages:
        own_text = without_frames(message.content)
        if own_text.strip():
            calls_json = None if message.toolCalls is None else _calls_json(message.toolCalls)
            model_name = model if message.role == "assistant" else None
            messages_to_store.append(
                new_message(message.role, own_text, calls_json, model_name, message.timestamp)
            )
    return messages_to_store


def new_message(
    role: str, text: str, calls: str | None, model: str | None, timestamp: int | None
) -> NewMessage:
    """Make a message to store; `timestamp` is in milliseconds."""
    happened_at = None if timestamp is None else timestamp * MILLISECOND
    return NewMessage(role, text, tool_calls=calls, model=model, happened_at=happened_at)


def as_said(row: Row) -> AgentMemoryTurnMessage:
    """Convert a stored message to the form of Compose."""
    tool_calls = _calls_in(row["tool_calls"])
    return AgentMemoryTurnMessage.model_construct(
        role=cast("Role", row["role"]),
        content=str(row["content"]),
        timestamp=milliseconds(when(row)),
        toolCalls=tool_calls or None,
    )


def _calls_json(calls: Sequence[ToolCall]) -> str:
    return canonical([call.model_dump(mode="json") for call in calls])


def _calls_in(cell: Cell) -> list[ToolCall]:
    """Parse the tool calls of a message; leave out calls in a form of another program."""
    parsed_calls: Any = None if cell is None else json.loads(str(cell))
    return [
        ToolCall.model_construct(
            name=call["name"], args=call["args"], status=_text(call.get("status"))
        )
        for call in (parsed_calls if isinstance(parsed_calls, list) else [])
        if isinstance(call, dict)
        and isinstance(call.get("name"), str)
        and isinstance(call.get("args"), dict)
    ]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
