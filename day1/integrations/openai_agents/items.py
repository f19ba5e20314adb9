"""Items of the SDK as messages of day1, and messages as items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from day1 import errors

Item = dict[str, Any]
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system"}
_ROLES_OF_DAY1: Final = {**_ROLES, "developer": "system"}
_MOST_TEXT: Final = 32_768
_CUT: Final = "…"
_UNREAD: Final = frozenset({"id", "call_id", "status", "type", "encrypted_content"})
"""Keys whose values search does not read."""


def message_of(item: Any) -> dict[str, Any]:
    """Return an item as `message_append` takes it.

    Raises:
        InvalidRequest: it is no JSON object.
    """
    structure = _json(item)
    return {
        "role": _ROLES_OF_DAY1.get(str(item.get("role")), "tool"),
        "content": _text(item),
        "structure": structure,
    }


def item_of(message: Mapping[str, Any]) -> Item:
    """Return a message as an item: the one it was made from, else one with its role and text."""
    structure = message.get("structure")
    if structure is not None:
        item: Item = json.loads(structure)
        return item
    # A tool's text is no instruction: as the assistant's it gets no more weight than it had.
    return {
        "role": _ROLES.get(message["role"], "assistant"),
        "content": message["content"],
    }


def is_user_turn(item: Item) -> bool:
    """Whether a turn begins with this item."""
    return item.get("role") == "user"


def texts_of(content: Any) -> list[str]:
    """Return the texts of an item's `content`: a text, or a list of parts."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, Sequence) else ()
    texts = (part.get("text", part.get("refusal")) for part in parts if isinstance(part, Mapping))
    return [text for text in texts if isinstance(text, str)]


def preview(content: Any, length: int | None = None) -> str:
    """Return the `content` of an item as one text, cut after `length` characters."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return text if length is None or len(text) <= length else f"{text[:length]}..."


def _json(item: Any) -> str:
    """Write an item as JSON, with its keys in their order.

    Raises:
        InvalidRequest: it is no JSON object.
    """
    if not isinstance(item, dict):
        raise _refused(f"it is of type {type(item).__name__}")
    try:
        _check_keys(item)
        return json.dumps(item, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise _refused("it is too deep") from None
    except (TypeError, ValueError) as exc:
        raise _refused(str(exc)) from exc


def _check_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not isinstance(key, str):
                raise TypeError(f"it has a key of type {type(key).__name__}")
            _check_keys(part)
    elif isinstance(value, list | tuple):
        for part in value:
            _check_keys(part)


def _refused(why: str) -> errors.InvalidRequest:
    return errors.InvalidRequest(
        f"An item is not a JSON object ({why}), so nothing was added: correct it and add all again."
    )


def _text(item: Item) -> str:
    """Return the text that people read and search finds; never empty."""
    text = "\n".join(texts_of(item.get("content")))
    if not text.strip():
        text = "\n".join(_lines({k: v for k, v in item.items() if k not in _UNREAD}, ""))
    text = text.replace("\0", "\ufffd")
    if not text.strip():
        text = str(item.get("type") or "message")
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - len(_CUT)] + _CUT


def _lines(value: Any, path: str) -> Iterator[str]:
    """Write each text and number of an item as a line `path: value`."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _lines(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _lines(part, f"{path}[{index}]")
    elif value is not None and value != "":
        yield f"{path}: {value}"
