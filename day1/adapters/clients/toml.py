"""TOML, edited in place: a new table is added at the end, and only day1's own bytes change.

tree-sitter says where each part lies; `tomllib` says what it means. What is edited is read again,
and given only if it means what it has to.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from day1.adapters.clients.documents import (
    BOM,
    Keys,
    NotUnderstood,
    Ranges,
    at,
    newline_of,
    with_value,
    without,
)

BLANK: Final = b""
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_LINE_END: Final = re.compile(rb"[ \t]*(\r?\n|$)")


def value_of(data: bytes) -> dict[str, Any]:
    """Parse a document: return its content as a dictionary."""
    try:
        return tomllib.loads(data.removeprefix(BOM).decode("utf-8"))
    except (ValueError, RecursionError) as exc:
        raise NotUnderstood(f"it is not TOML ({exc})") from exc


def put(data: bytes, keys: Keys, value: Any) -> bytes:
    """Return the document with a value at a path of keys; missing tables are made."""
    old_document = value_of(data)
    present_value = at(old_document, keys)
    if present_value == value:
        return data
    if present_value is None and isinstance(value, dict):
        edited_data = _with_block(data, _block(data, keys, value))
    else:
        value_node, inner_keys = _nearest(data, keys)
        changed_value = at(with_value(old_document, keys, value), inner_keys)
        edited_data = (
            data[: value_node.start_byte]
            + _text(changed_value).encode()
            + data[value_node.end_byte :]
        )
    return _checked(edited_data, with_value(old_document, keys, value))


def take_out(data: bytes, keys: Keys) -> bytes:
    """Return the document without the value at a path of keys."""
    old_document = value_of(data)
    present_value = at(old_document, keys)
    if present_value is None:
        return data
    edited_data = (
        _without_block(data, _block(data, keys, present_value))
        if _is_written(present_value)
        else None
    )
    if edited_data is None:
        edited_data = data
        for part_start, part_end in reversed(own(data, [keys])):
            edited_data = _without_lines(edited_data, part_start, part_end)
    expected_document = without(old_document, keys)
    # The last table below the first key is gone, and the first key had no table of its own.
    if keys[0] not in value_of(edited_data):
        expected_document = without(expected_document, keys[:1])
    return _checked(edited_data, expected_document)


def own(data: bytes, paths: Sequence[Keys]) -> Ranges:
    """Return the byte ranges of the tables and pairs at paths of keys, in their order."""
    document = value_of(data)
    ranges: list[tuple[int, int]] = []
    for keys in paths:
        if at(document, keys) is None:
            continue
        parts = [part for part in _parts(_root(data)) if part.path[: len(keys)] == tuple(keys)]
        if not parts or not all(part.table for part in parts):
            raise NotUnderstood(
                f"{'.'.join(map(str, keys))} has no table of its own, which day1 could edit"
            )
        ranges += [part_range for part in parts for part_range in part.ranges]
    return sorted(ranges)


def shown(keys: Keys, value: Any) -> str:
    """Return the text that a person would add to a document by hand."""
    lines = "".join(f"{_key(name)} = {_text(inner_value)}\n" for name, inner_value in value.items())
    return f"[{'.'.join(map(_key, keys))}]\n{lines}"


class _Part(NamedTuple):
    """A table with all its pairs, or a pair that stands in no table."""

    path: tuple[str | None, ...]
    """The keys of the part; None for an item of an array of tables."""
    ranges: Ranges
    """Its head and each of its pairs, without the comments around these."""
    table: bool
    node: Node


def _parts(root: Node) -> Iterator[_Part]:
    for node in root.named_children:
        if node.type == "pair":
            yield _Part(_path(node), [_range(node)], table=False, node=node)
        elif node.type != "comment":
            is_in_array = node.type == "table_array_element"
            path = (*_path(node), None) if is_in_array else _path(node)
            bracket_end = next(
                child.end_byte for child in node.children if child.type in {"]", "]]"}
            )
            pair_ranges = [_range(pair) for pair in node.named_children if pair.type == "pair"]
            yield _Part(path, [(node.start_byte, bracket_end), *pair_ranges], table=True, node=node)


def _range(pair: Node) -> tuple[int, int]:
    return pair.start_byte, _value(pair).end_byte


def _nearest(data: bytes, keys: Keys) -> tuple[Node, list[str | int]]:
    """Find the smallest value to rewrite so that a path of keys has a value; also return its path.

    Raises:
        NotUnderstood: what is above it has no table of its own.
    """
    parts = [part for part in _parts(_root(data)) if part.table]
    for depth in range(len(keys), 0, -1):
        key_prefix = list(keys[:depth])
        for part in parts:
            for pair in part.node.named_children:
                if pair.type == "pair" and [*part.path, *_path(pair)] == key_prefix:
                    return _value(pair), key_prefix
    raise NotUnderstood(
        f"{'.'.join(map(str, keys))} has no line that day1 could edit: change it by hand"
    )


def _path(node: Node) -> tuple[str, ...]:
    """Return the keys of a pair, or of a table's head."""

    def names(key: Node) -> Iterator[str]:
        if key.type == "dotted_key":
            for inner_key in key.named_children:
                yield from names(inner_key)
        else:
            key_text = (key.text or b"").decode()
            yield (
                key_text if key.type == "bare_key" else next(iter(tomllib.loads(f"{key_text} = 0")))
            )

    return tuple(names(next(child for child in node.named_children if child.type != "comment")))


def _value(pair: Node) -> Node:
    return [child for child in pair.named_children if child.type != "comment"][1]


def _root(data: bytes) -> Node:
    root = Parser(_language()).parse(data).root_node
    if root.has_error:
        raise NotUnderstood("its form is too unusual for a safe edit: change it by hand")
    return root


@lru_cache(maxsize=1)
def _language() -> Language:
    return Language(tree_sitter_toml.language())


def _block(data: bytes, keys: Keys, value: Any) -> bytes:
    return shown(keys, value).replace("\n", newline_of(data)).encode()


def _with_block(data: bytes, block: bytes) -> bytes:
    """Return the text with a table at its end; it ends in a newline if `data` does."""
    newline = newline_of(data).encode()
    if not data.removeprefix(BOM):
        return data + block
    if data.endswith(b"\n"):
        return data + newline + block
    return data + newline * 2 + block.removesuffix(newline)


def _without_block(data: bytes, block: bytes) -> bytes | None:
    """Return the text before a table was added; None if the table is not there unchanged."""
    newline = newline_of(data).encode()
    appended_block = newline * 2 + block.removesuffix(newline)
    if data.endswith(appended_block):
        return data.removesuffix(appended_block)
    if data.removeprefix(BOM).startswith(block):
        return data.replace(block, b"", 1)
    if data.count(newline + block) == 1:
        return data.replace(newline + block, b"")
    return None


def _without_lines(data: bytes, start: int, end: int) -> bytes:
    """Return the text without a part, and without its line if nothing else is on it."""
    line_end_match = _LINE_END.match(data, end)
    is_first_on_line = not data[data.rfind(b"\n", 0, start) + 1 : start].strip(b" \t" + BOM)
    return (
        data[:start] + data[line_end_match.end() if line_end_match and is_first_on_line else end :]
    )


def _key(name: str | int) -> str:
    key_text = str(name)
    return key_text if _BARE.fullmatch(key_text) else json.dumps(key_text)


def _is_written(value: Any) -> bool:
    """Whether a value is of the types that day1 writes, so that it can be compared."""
    inner_values = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return isinstance(value, (str, bool, int, list, dict)) and all(map(_is_written, inner_values))


def _text(value: Any) -> str:
    """Return a value as TOML, as day1 writes it."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(name)} = {_text(member)}" for name, member in value.items())
        return f"{{{pairs}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if not isinstance(value, (str, int)):
        raise NotUnderstood(f"it has a {type(value).__name__}, which day1 does not write")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(data: bytes, expected: dict[str, Any]) -> bytes:
    if value_of(data) != expected:
        raise NotUnderstood("its form is too unusual for a safe edit: change it by hand")
    return data
