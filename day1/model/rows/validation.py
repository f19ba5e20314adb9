"""What texts and numbers from outside must be like, so that they come back as they went in."""

import re
from collections.abc import Iterator
from typing import Final, TypeVar

from pydantic import JsonValue

from day1.model.rows.kind import canonical

MAX_TEXT: Final = 32_768
MAX_INTEGER: Final = 2**53
_SURROGATE = re.compile("[\ud800-\udfff]")
J = TypeVar("J", dict[str, JsonValue], list[JsonValue])


def clean(text: str) -> str:
    """A text without NUL and half characters.

    Raises:
        ValueError: it has some.
    """
    if "\0" in text:
        raise ValueError("must not contain NUL characters")
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError("must not contain half a character (a lone surrogate)")
    return text


def sound(value: J) -> J:
    """Hold JSON against the rules for text: it comes back to other readers as it went in.

    Raises:
        ValueError: it breaks one.
    """
    for part in _parts(value):
        if isinstance(part, str):
            clean(part)
        elif isinstance(part, int | float) and not -MAX_INTEGER <= part <= MAX_INTEGER:
            raise ValueError("numbers must be finite and within 2^53")
    if len(canonical(value)) > MAX_TEXT:
        raise ValueError(f"must have at most {MAX_TEXT} characters as JSON")
    return value


def _parts(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _parts(inner)
    else:
        yield value
