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
        raise NotUnderstood(f"it is no TOML ({exc})") from exc


def put(data: bytes, keys: Keys, value: Any) -> bytes:
    """Return the document with a value at a path of keys; missing tables are made."""
    old_value = value_of(data)
    present_value = at(old_value, keys)
    if present_value == value:
        return data
    if present_value is None and isinstance(value, dict):
        edited = _with_block(data, _block(data, keys, value))
    else:
        node, inner = _nearest(data, keys)
        changed_value = at(with_value(old_value, keys, value), inner)
        edited = data[: node.start_byte] + _text(changed_value).encode() + data[node.end_byte :]
    return _checked(edited, with_value(old_value, keys, value))


def take_out(data: bytes, keys: Keys) -> bytes:
    """Return the document without the value at a path of keys."""
    old_value = value_of(data)
    value = at(old_value, keys)
    if value is None:
        return data
    edited = _without_block(data, _block(data, keys, value)) if _is_written(value) else None
    if edited is None:
        edited = data
        for start, end in reversed(own(data, [keys])):
            edited = _without_lines(edited, start, end)
    expected_value = without(old_value, keys)
    if keys[0] not in value_of(edited):  # its last table is gone, and was in no table of its own
        expected_value = without(expected_value, keys[:1])
    return _checked(edited, expected_value)


def own(data: bytes, paths: Sequence[Keys]) -> Ranges:
    """Return the byte ranges of the tables and pairs at paths of keys, in their order."""
    value = value_of(data)
    ranges: list[tuple[int, int]] = []
    for keys in paths:
        if at(value, keys) is None:
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
    lines = "".join(f"{_key(name)} = {_text(inner)}\n" for name, inner in value.items())
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
            bracket = next(c.end_byte for c in node.children if c.type in {"]", "]]"})
            ranges = [_range(pair) for pair in node.named_children if pair.type == "pair"]
            yield _Part(path, [(node.start_byte, bracket), *ranges], table=True, node=node)


def _range(pair: Node) -> tuple[int, int]:
    return pair.start_byte, _value(pair).end_byte


def _nearest(data: bytes, keys: Keys) -> tuple[Node, list[str | int]]:
    """Find the smallest value to rewrite so that a path of keys has a value; also return its path.

    Raises:
        NotUnderstood: what is above it has no table of its own.
    """
    parts = [part for part in _parts(_root(data)) if part.table]
    for depth in range(len(keys), 0, -1):
        first_keys = list(keys[:depth])
        for part in parts:
            for pair in part.node.named_children:
                if pair.type == "pair" and [*part.path, *_path(pair)] == first_keys:
                    return _value(pair), first_keys
    raise NotUnderstood(
        f"{'.'.join(map(str, keys))} has no line that day1 could edit: change it by hand"
    )


def _path(node: Node) -> tuple[str, ...]:
    """Return the keys of a pair, or of a table's head."""

    def names(key: Node) -> Iterator[str]:
        if key.type == "dotted_key":
            for inner in key.named_children:
                yield from names(inner)
        else:
            text = (key.text or b"").decode()
            yield text if key.type == "bare_key" else next(iter(tomllib.loads(f"{text} = 0")))

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
    line = newline_of(data).encode()
    if not data.removeprefix(BOM):
        return data + block
    if data.endswith(b"\n"):
        return data + line + block
    return data + line * 2 + block.removesuffix(line)


def _without_block(data: bytes, block: bytes) -> bytes | None:
    """Return the text before a table was added; None if the table is not there unchanged."""
    line = newline_of(data).encode()
    open_ended = line * 2 + block.removesuffix(line)
    if data.endswith(open_ended):
        return data.removesuffix(open_ended)
    if data.removeprefix(BOM).startswith(block):
        return data.replace(block, b"", 1)
    if data.count(line + block) == 1:
        return data.replace(line + block, b"")
    return None


def _without_lines(data: bytes, start: int, end: int) -> bytes:
    """Return the text without a part, and without its line if nothing else is on it."""
    line_end = _LINE_END.match(data, end)
    is_alone = not data[data.rfind(b"\n", 0, start) + 1 : start].strip(b" \t" + BOM)
    return data[:start] + data[line_end.end() if line_end and is_alone else end :]


def _key(name: str | int) -> str:
    text = str(name)
    return text if _BARE.fullmatch(text) else json.dumps(text)


def _is_written(value: Any) -> bool:
    """Whether a value is of the types that day1 writes, so that it can be compared."""
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return isinstance(value, (str, bool, int, list, dict)) and all(map(_is_written, children))


def _text(value: Any) -> str:
    """Return a value as TOML, as day1 writes it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(name)} = {_text(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if not isinstance(value, (str, int)):
        raise NotUnderstood(f"it has a {type(value).__name__}, which day1 does not write")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(data: bytes, expected: dict[str, Any]) -> bytes:
    if value_of(data) != expected:
        raise NotUnderstood("its form is too unusual for a safe edit: change it by hand")
    return data
