"""Messages of Agent Framework as messages of day1, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_framework import Message

from day1 import errors

_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system"}
_ROLES_OF_DAY1: Final = {**_ROLES, "developer": "system"}
_MOST_TEXT: Final = 32_768
_CUT: Final = "…"
_UNREAD: Final = frozenset({"text_reasoning", "usage", "data", "uri"})
"""Kinds of contents that are no part of the text that search finds."""
_READ: Final = ("name", "tool_name", "arguments", "text", "message", "result", "stdout", "output")
"""Members of a content that are part of that text, in their order."""


def message_of(message: Message) -> dict[str, Any]:
    """Return a message as `message_append` takes it.

    Raises:
        InvalidRequest: it is no JSON.
    """
    try:
        value = message.to_dict()
        structure = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as exc:
        raise errors.InvalidRequest(
            f"A message of the session cannot be written as JSON ({exc}): nothing was saved."
        ) from exc
    return {
        "role": _ROLES_OF_DAY1.get(message.role, "tool"),
        "content": _text(value),
        "structure": structure,
    }


def rebuilt(row: Mapping[str, Any]) -> Message:
    """Return a message of day1 as the message it was made from, else as one with its text."""
    structure = row.get("structure")
    if structure is not None:
        return Message.from_dict(json.loads(structure))
    # A tool's text is no instruction: as the assistant's it gets no more weight than it had.
    return Message(_ROLES.get(row["role"], "assistant"), [row["content"]])


def unsaved(
    saved: Sequence[Mapping[str, Any]], messages: Sequence[dict[str, Any]]
) -> Sequence[dict[str, Any]]:
    """Return the messages that are to be added after the saved ones.

    An agent may be given its whole transcript again, or the end of it: what is there already is
    left out, by the rules of the framework's own providers. A single question without an id is
    never left out, since a person may ask it twice.

    Args:
        saved: the last messages of the session, as many as `messages` if there are so many.
        messages: the messages of a run, as `message_of` returns them.
    """
    old, new = [_identity(each) for each in saved], [_identity(each) for each in messages]
    is_question = bool(saved) and saved[-1]["role"] == "user" and old[-1][0] != "id"
    for start in range(len(new) - len(old) + 1):
        if new[start : start + len(old)] == old:
            if start == 0 and len(old) == 1 and is_question:
                break
            return messages[start + len(old) :]
    for count in range(min(len(old), len(new)), 0, -1):
        if old[-count:] == new[:count] and not (count == 1 and is_question):
            return messages[count:]
    return messages


def _identity(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what makes a message itself: its id, else who says what."""
    structure = message.get("structure")
    value = json.loads(structure) if structure else {"contents": message["content"]}
    if value.get("message_id") is not None:
        return "id", str(value["message_id"])
    contents = json.dumps(value.get("contents"), sort_keys=True)
    return "content", str(value.get("role", message["role"])), contents


def _text(value: Mapping[str, Any]) -> str:
    """Return the text that people read and search finds; never empty."""
    contents = value.get("contents", ())
    lines = (_line(each) for each in contents if each["type"] not in _UNREAD)
    text = "\n".join(line for line in lines if line).replace("\0", "\ufffd")
    if not text.strip():
        text = ", ".join(dict.fromkeys(each["type"] for each in contents)) or "message"
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - len(_CUT)] + _CUT


def _line(content: Mapping[str, Any]) -> str:
    """Write what a content says; of a call of a tool also the tool's name."""
    return ": ".join(_shown(content[member]) for member in _READ if content.get(member))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
