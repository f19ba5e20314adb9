"""Any JSON as a memory: the text that stores it unchanged, and the text for search."""

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from day1.model.rows.validation import clean
from day1.model.values.parts import MAX_TEXT, TooLong

_DEEPEST: Final = 64
"""The most levels of nested lists and objects: readers of JSON have limits of their own."""
_CUT: Final = "…"


def as_kept(value: Any, most: int = MAX_TEXT) -> str:
    """Write JSON for storage: keys in their order, numbers as they were read, no spaces.

    Args:
        value: the JSON.
        most: characters that it may have.

    Raises:
        ValueError: it is no JSON, or longer or deeper than what is kept.
    """
    for key_or_value in _parts(value, 1):
        if key_or_value is not None and not isinstance(key_or_value, str | int | float):
            raise ValueError(f"must be JSON: a value of type {type(key_or_value).__name__} is not")
        if isinstance(key_or_value, str):
            clean(key_or_value)
        elif isinstance(key_or_value, float) and not math.isfinite(key_or_value):
            raise ValueError("numbers must be finite")
    try:
        json_text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError):  # a number of too many digits
        raise ValueError("must be JSON with numbers of at most 4,300 digits") from None
    if len(json_text) > most:
        raise TooLong(len(json_text), most)
    return json_text


def readable_json(value: Any) -> None:
    """Check that every reader can read JSON: at most 64 levels, finite numbers, whole characters.

    Raises:
        ValueError: it does not hold.
    """
    for key_or_value in _parts(value, 1):
        if isinstance(key_or_value, float) and not math.isfinite(key_or_value):
            raise ValueError("numbers must be finite")
        if isinstance(key_or_value, str):
            clean(key_or_value.replace("\0", ""))


def kept_json(value: Any) -> Any:
    """Check that a JSON value can be stored, and return it.

    Raises:
        ValueError: it cannot.
    """
    as_kept(value)
    return value


def from_kept(stored: str) -> Any:
    """Read stored JSON: the inverse of `as_kept`."""
    return json.loads(stored)


def text_of_entry(value: Mapping[str, Any]) -> str:
    """Return the text of an entry: its `text` if that is its only key, else all of it `flattened`.

    `entry_of_text` reads the first kind back, so a person may edit that text.
    """
    is_text = value.keys() == {"text"} and isinstance(value["text"], str) and value["text"].strip()
    return flattened(value["text"] if is_text else value)


def entry_of_text(text: str) -> dict[str, Any]:
    """Parse a person's text for an entry: a JSON object is the entry, other text its `text`."""
    try:
        parsed_value = json.loads(text)
    except ValueError:
        parsed_value = None
    return parsed_value if isinstance(parsed_value, dict) else {"text": text}


def flattened(value: Any) -> str:
    """Write JSON as text: a line `path: value` for each value, such as `tasks[0].done: true`.

    A text alone is itself. The result is never empty, is NFC, and is cut at 32,768 characters.
    """
    normalized_text = unicodedata.normalize("NFC", whole_text(value))
    return (
        normalized_text
        if len(normalized_text) <= MAX_TEXT
        else normalized_text[: MAX_TEXT - len(_CUT)] + _CUT
    )


def whole_text(value: Any) -> str:
    """Write JSON as text as `flattened` does, but without cutting it."""
    if isinstance(value, str) and value.strip():
        return value
    return "\n".join(
        f"{path}: {leaf_text}" if path else leaf_text for path, leaf_text in _lines(value, "")
    )


def _parts(value: Any, depth: int) -> Iterator[Any]:
    if depth > _DEEPEST:
        raise ValueError(f"must have at most {_DEEPEST} levels")
    if isinstance(value, dict):
        for key, inner_value in value.items():
            if not isinstance(key, str):
                raise ValueError("keys must be texts")  # noqa: TRY004 - what a validator raises
            yield key
            yield from _parts(inner_value, depth + 1)
    elif isinstance(value, list):
        for inner_value in value:
            yield from _parts(inner_value, depth + 1)
    else:
        yield value


def _lines(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner_value in value.items():
            yield from _lines(inner_value, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, inner_value in enumerate(value):
            yield from _lines(inner_value, f"{path}[{index}]")
    elif isinstance(value, str) and value.strip():
        yield path, value
    else:
        yield path, json.dumps(value, ensure_ascii=False)
