"""Any JSON as a memory: the text that stores it unchanged, and the text for search."""

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from day1.model.rows.validation import clean
from day1.model.values.parts import MAX_TEXT, MOST_VALUE

_DEEPEST: Final = 64
"""The most levels of nested lists and objects: readers of JSON have limits of their own."""
_CUT: Final = "…"
_READ: Final = 8 * MAX_TEXT
"""Characters that are read for a search text: composing them leaves more than a quarter."""


class JsonTooLong(ValueError):
    """A JSON value is longer than what is kept."""

    def __init__(self, length: int, most: int, unit: str) -> None:
        """State the length of the JSON and the limit, in characters or bytes."""
        self.length = length
        super().__init__(f"must have at most {most:,} {unit} as JSON, and has {length:,}")


def as_kept(value: Any) -> str:
    """Write JSON for storage: keys in their order, numbers as they were read, no spaces.

    Raises:
        JsonTooLong: it has more than `MAX_TEXT` characters.
        ValueError: it is no JSON, or deeper than what is kept.
    """
    json_text = _written(value)
    if len(json_text) > MAX_TEXT:
        raise JsonTooLong(len(json_text), MAX_TEXT, "characters")
    return json_text


def as_value(value: Any) -> str:
    """Write the value of an entry for storage: as `as_kept`, up to the limit of a value.

    Raises:
        JsonTooLong: it has more than `MOST_VALUE` bytes.
        ValueError: it is no JSON, or deeper than what is kept.
    """
    json_text = _written(value)
    byte_count = size_of_value(json_text)
    if byte_count > MOST_VALUE:
        raise JsonTooLong(byte_count, MOST_VALUE, "bytes")
    return json_text


def size_of_value(text: str) -> int:
    """Count the bytes of a text in UTF-8, by which the JSON of a row is limited."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _written(value: Any) -> str:
    """Write JSON without spaces.

    Raises:
        ValueError: it is no JSON, or deeper than what is kept.
    """
    for key_or_value in _parts(value):
        if key_or_value is not None and not isinstance(key_or_value, str | int | float):
            raise ValueError(f"must be JSON: a value of type {type(key_or_value).__name__} is not")
        if isinstance(key_or_value, str):
            clean(key_or_value)
        elif isinstance(key_or_value, float) and not math.isfinite(key_or_value):
            raise ValueError("numbers must be finite")
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError):  # a number of too many digits
        raise ValueError("must be JSON with numbers of at most 4,300 digits") from None


def readable_json(value: Any) -> None:
    """Check that every reader can read JSON: at most 64 levels, finite numbers, whole characters.

    Raises:
        ValueError: it does not hold.
    """
    for key_or_value in _parts(value):
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
    normalized_text = unicodedata.normalize("NFC", _beginning(value))
    return (
        normalized_text
        if len(normalized_text) <= MAX_TEXT
        else normalized_text[: MAX_TEXT - len(_CUT)] + _CUT
    )


def texts_inside(value: Any) -> str:
    """Write all texts of JSON, to look for secrets: each key once, a text that it has beside it.

    Paths are left out: with them the result would have up to the square of the JSON's length.
    """
    return "\n".join(_texts(value))


def _beginning(value: Any) -> str:
    """Write the lines of JSON up to more characters than a search text has, composed or not."""
    if isinstance(value, str) and value.strip():
        return value[:_READ]
    lines: list[str] = []
    length = 0
    for path, leaf_text in _lines(value, ""):
        line = f"{path}: {leaf_text}" if path else leaf_text
        lines.append(line[:_READ])
        length += len(line) + 1
        if length > _READ:
            break
    return "\n".join(lines)


def _texts(value: Any) -> Iterator[str]:
    unread_values = [value]
    while unread_values:
        json_value = unread_values.pop()
        if isinstance(json_value, str):
            yield json_value
        elif isinstance(json_value, list):
            unread_values += json_value
        elif isinstance(json_value, dict):
            for key, inner_value in json_value.items():
                is_plain = not isinstance(inner_value, dict | list)
                yield f"{key}: {inner_value}" if is_plain else key
                unread_values += () if is_plain else (inner_value,)


def _parts(value: Any) -> Iterator[Any]:
    """Yield the keys and the plain values of JSON.

    Raises:
        ValueError: it has too many levels, or a key is no text.
    """
    iterator_by_level = [iter((value,))]
    while iterator_by_level:
        for inner_value in iterator_by_level[-1]:
            if len(iterator_by_level) > _DEEPEST:
                raise ValueError(f"must have at most {_DEEPEST} levels")
            if isinstance(inner_value, dict):
                for key in inner_value:
                    if not isinstance(key, str):
                        raise ValueError("keys must be texts")  # noqa: TRY004 - what a validator raises
                    yield key
                iterator_by_level.append(iter(inner_value.values()))
                break
            if isinstance(inner_value, list):
                iterator_by_level.append(iter(inner_value))
                break
            yield inner_value
        else:
            iterator_by_level.pop()


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
