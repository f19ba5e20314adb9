"""What the formats of clients' files share: read one, put a value at keys, take one out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

Keys = Sequence[str | int]
"""A path into a document: names of members and indexes of lists."""
Ranges = Sequence[tuple[int, int]]
"""Byte ranges of a text: the start and the end of each."""

NO_PLACE: Final = 10**9
"""The index of a missing member in a list or an object."""
BOM: Final = b"\xef\xbb\xbf"
SPACE: Final = b" \t\r\n"


class NotUnderstood(Exception):
    """The text does not parse in its format, or holds another value where an entry goes."""


class Document(Protocol):
    """One format; a module implements it. Bytes that are not day1's stay as they are."""

    BLANK: bytes
    """A document with nothing in it."""

    def value_of(self, data: bytes) -> dict[str, Any]:
        """Parse a document: return its content as a dictionary.

        Raises:
            NotUnderstood: it is not sound.
        """

    def put(self, data: bytes, keys: Keys, value: Any) -> bytes:
        """Return the document with a value at a path of keys; missing containers are made.

        Raises:
            NotUnderstood: the document is not sound, or something else is on the path.
        """

    def take_out(self, data: bytes, keys: Keys) -> bytes:
        """Return the document without the value at a path of keys."""

    def own(self, data: bytes, paths: Sequence[Keys]) -> Ranges:
        """Return the byte ranges of entries at paths of keys, and of containers with no others."""

    def shown(self, keys: Keys, value: Any) -> str:
        """Return the text that a person would add to a document by hand."""


def at(value: Any, keys: Keys) -> Any:
    """Return the value at a path of keys; None if there is nothing.

    Raises:
        NotUnderstood: something on the path has no keys, or no places.
    """
    for depth, key in enumerate(keys):
        container_type: Any = list if isinstance(key, int) else dict
        if not isinstance(value, container_type):
            path_so_far = ".".join(map(str, keys[:depth])) or "the document"
            raise NotUnderstood(
                f"{path_so_far} is not {'a list' if container_type is list else 'an object'}"
            )
        if key not in (range(len(value)) if container_type is list else value):
            return None
        value = value[key]
    return value


def with_value(document: Any, keys: Keys, value: Any) -> Any:
    """Return a copy of a document with a value at a path of keys, as `put` writes it."""
    first_key, *inner_keys = keys
    if isinstance(first_key, int):
        items: list[Any] = list(document or [])
        if inner_keys:
            value = with_value(
                items[first_key] if first_key < len(items) else None, inner_keys, value
            )
        items[first_key : first_key + 1] = [value]
        return items
    members: dict[str, Any] = dict(document or {})
    members[first_key] = (
        with_value(members.get(first_key), inner_keys, value) if inner_keys else value
    )
    return members


def without(document: Any, keys: Keys) -> Any:
    """Return a copy of a document without the entry at a path of keys, as `take_out` leaves it."""
    first_key, *inner_keys = keys
    if inner_keys:
        return with_value(document, [first_key], without(document[first_key], inner_keys))
    if isinstance(first_key, int):
        return [*document[:first_key], *document[first_key + 1 :]]
    return {
        member_name: value for member_name, value in document.items() if member_name != first_key
    }


def holds(value: Any, keys: Keys) -> bool:
    """Whether a path of keys has a value; null counts as one.

    Raises:
        NotUnderstood: something on the path has no keys, or no places.
    """
    parent = at(value, keys[:-1])
    return at(value, keys) is not None or (isinstance(parent, dict) and keys[-1] in parent)


def is_blank(data: bytes) -> bool:
    """Whether a text is only white space, perhaps after a byte order mark."""
    return not data.removeprefix(BOM).strip(SPACE)


def newline_of(data: bytes) -> str:
    """Return the line ending of a text: that of its first line; CR alone only if no line has LF."""
    if b"\n" in data:
        return "\r\n" if data[: data.index(b"\n")].endswith(b"\r") else "\n"
    return "\r" if b"\r" in data else "\n"
