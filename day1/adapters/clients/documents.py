"""What the formats of clients' files share: read one, put a value at keys, take one out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class NotUnderstood(Exception):
    """The text is no sound document of its format, or has something else where an entry goes."""


class Document(Protocol):
    """One format; a module implements it. Bytes that are not day1's stay as they are."""

    BLANK: bytes
    """A document with nothing in it."""

    def value_of(self, data: bytes) -> dict[str, Any]:
        """The document as values.

        Raises:
            NotUnderstood: it is not sound.
        """
        ...

    def put(self, data: bytes, keys: Sequence[str], value: Any) -> bytes:
        """The document with a value at a path of keys, which is made where it is missing.

        Raises:
            NotUnderstood: the document is not sound, or something else is on the path.
        """
        ...

    def take_out(self, data: bytes, keys: Sequence[str]) -> bytes:
        """The document without what is at a path of keys."""
        ...

    def shown(self, keys: Sequence[str], value: Any) -> str:
        """What a person would add to a document."""
        ...


def at(value: Any, keys: Sequence[str]) -> Any:
    """What is at a path of keys; None if there is nothing.

    Raises:
        NotUnderstood: something on the path has no keys.
    """
    for depth, key in enumerate(keys):
        if not isinstance(value, dict):
            raise NotUnderstood(f"{'.'.join(keys[:depth]) or 'the document'} is no object")
        if key not in value:
            return None
        value = value[key]
    return value


def with_value(document: dict[str, Any], keys: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy with a value at a path of keys: what a document has to say after `put`."""
    first, *rest = keys
    if rest:
        value = with_value(document.get(first, {}), rest, value)
    return {**document, first: value}


def without(document: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """A copy without what is at a path of keys: what a document has to say after `take_out`."""
    first, *rest = keys
    if not rest:
        return {key: value for key, value in document.items() if key != first}
    return {**document, first: without(document[first], rest)}


def newline_of(data: bytes) -> str:
    """How the lines of a text end."""
    return "\r\n" if b"\r\n" in data else "\n"
