"""JSON with comments and trailing commas, edited in place: only day1's own bytes change.

tree-sitter says where each part lies; `json` says what it means. What is edited is read again, and
given only if it means what it has to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import tree_sitter_json
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from day1.adapters.clients.documents import (
    SPACE,
    Keys,
    NotUnderstood,
    Ranges,
    at,
    is_blank,
    newline_of,
    with_value,
    without,
)

BLANK: Final = b"{}\n"


def value_of(data: bytes) -> dict[str, Any]:
    """Parse a document: return its content as a dictionary."""
    return _read(data).value


def put(data: bytes, keys: Keys, value: Any) -> bytes:
    """Return the document with a value at a path of keys; missing containers are made."""
    parsed = _read(data + BLANK if is_blank(data) else data)
    if at(parsed.value, keys) == value:
        return parsed.data
    new_document = with_value(parsed.value, keys, value)
    node, missing_keys = parsed.root, list(keys)
    while missing_keys and (member := _member(node, missing_keys[0])) is not None:
        node = _value(member)
        missing_keys.pop(0)
    if missing_keys:
        for key in reversed(missing_keys[1:]):
            value = [value] if isinstance(key, int) else {key: value}
        edited_data = _inserted(parsed, node, missing_keys[0], value)
    else:
        value_text = parsed.text(value, parsed.indent(node)).encode()
        edited_data = _cut(parsed.data, [(node.start_byte, node.end_byte, value_text)])
    return _checked(edited_data, new_document)


def take_out(data: bytes, keys: Keys) -> bytes:
    """Return the document without the value at a path of keys."""
    parsed = _read(data)
    if at(parsed.value, keys) is None:
        return data
    node = parsed.root
    for key in keys[:-1]:
        node = _value(_member(node, key) or node)
    members = list(_members(node))
    member = _member(node, keys[-1]) or node
    index = members.index(member)
    previous_end = members[index - 1].end_byte if index else node.start_byte
    next_start = members[index + 1].start_byte if index + 1 < len(members) else node.end_byte
    commas = {comma.start_byte for comma in node.children if comma.type == ","} | parsed.trailing
    commas_before = [comma for comma in commas if previous_end <= comma < member.start_byte]
    commas_after = [comma for comma in commas if member.end_byte <= comma < next_start]
    cut_start = len(parsed.data[: member.start_byte].rstrip(SPACE))
    line_goes_on = not parsed.data[member.end_byte :].lstrip(b", \t").startswith((b"\r", b"\n"))
    if line_goes_on and _in_line_comment(parsed.data, cut_start - 1):  # which ends with its line
        cut_start = max(cut_start, parsed.data.rfind(b"\n", 0, member.start_byte) + 1)
    cuts = [
        (cut_start, member.end_byte, b""),
        *((comma, comma + 1, b"") for comma in commas_after or commas_before),
    ]
    edited_data = _closed_up(_cut(parsed.data, cuts), node.start_byte)
    return _checked(edited_data, without(parsed.value, keys))


def own(data: bytes, paths: Sequence[Keys]) -> Ranges:
    """Return the byte ranges of entries at paths of keys, and of containers with no others."""
    if is_blank(data):
        return []
    parsed = _read(data)
    root = parsed.root
    nodes_of_paths = []
    ranges: set[tuple[int, int]] = set()
    for keys in paths:
        nodes_on_path, node = [(root, root)], root
        for key in keys:
            member = _member(node, key)
            if member is None:
                break
            node = _value(member)
            nodes_on_path.append((member, node))
        else:
            ranges.add(_range(nodes_on_path.pop()[0]))
        nodes_of_paths.append(nodes_on_path)
    for nodes_on_path in nodes_of_paths:
        for member, node in reversed(nodes_on_path):
            inner_ranges = [
                *map(_range, node.named_children),
                *(comment for comment in parsed.comments if _is_inside(comment, _range(member))),
            ]
            if not all(
                inner_range in ranges
                or any(_is_inside(inner_range, outer_range) for outer_range in ranges)
                for inner_range in inner_ranges
            ):
                break
            if node.type in {"object", "array"}:
                ranges.add(_range(member))
    outermost_ranges = [
        own_range
        for own_range in ranges
        if not any(_is_inside(own_range, enclosing_range) for enclosing_range in ranges)
    ]
    return sorted(outermost_ranges)


def is_empty(data: bytes, keys: Keys) -> bool:
    """Whether a path of keys leads to an empty container, without even a comment."""
    parsed = _read(data)
    member = node = parsed.root
    for key in keys:
        next_member = _member(node, key)
        if next_member is None:
            return False
        member, node = next_member, _value(next_member)
    is_filled = bool(node.named_children) or node.type not in {"object", "array"}
    return not is_filled and not any(
        _is_inside(comment, _range(member)) for comment in parsed.comments
    )


def _range(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def _is_inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


def shown(keys: Keys, value: Any) -> str:
    """Return the text that a person would add to a document by hand."""
    return put(BLANK, keys, value).decode()


@dataclass(frozen=True)
class _Read:
    data: bytes
    value: dict[str, Any]
    root: Node
    trailing: frozenset[int]
    """The positions of trailing commas, which strict JSON does not allow."""
    comments: Ranges

    @property
    def newline(self) -> str:
        return newline_of(self.data)

    @property
    def unit(self) -> str:
        """The white space by which one level is indented."""
        return next((self.indent(member) for member in _members(self.root)), "") or "  "

    def indent(self, node: Node) -> str:
        """Return the white space at the start of the line on which a node begins."""
        line = self.data[self.data.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
        return line[: len(line) - len(line.lstrip(b" \t"))].decode()

    def text(self, value: Any, indent: str) -> str:
        """Return a value as JSON: objects and lists of objects on lines of their own."""
        inner_indent = indent + self.unit
        if isinstance(value, dict) and value:
            member_texts = [
                f"{inner_indent}{_dumped(key)}: {self.text(inner_value, inner_indent)}"
                for key, inner_value in value.items()
            ]
            opening_bracket, closing_bracket = "{}"
        elif isinstance(value, list) and any(
            isinstance(inner_value, dict) for inner_value in value
        ):
            member_texts = [
                f"{inner_indent}{self.text(inner_value, inner_indent)}" for inner_value in value
            ]
            opening_bracket, closing_bracket = "[]"
        else:
            return _dumped(value)
        return self.newline.join(
            [opening_bracket, f",{self.newline}".join(member_texts), indent + closing_bracket]
        )


def _inserted(read: _Read, node: Node, key: str | int, value: Any) -> bytes:
    """Return the text with one more member at the end of an object or a list."""
    members, close_position = list(_members(node)), node.end_byte - 1
    body_end = len(read.data[:close_position].rstrip(SPACE))
    key_text = "" if isinstance(key, int) else f"{_dumped(key)}: "
    last_member_end = members[-1].end_byte if members else node.start_byte + 1
    has_trailing_comma = any(
        last_member_end <= comma_position < close_position for comma_position in read.trailing
    )
    comma = b"," if members and not has_trailing_comma else b""
    trailing_comma = "," if has_trailing_comma else ""
    if members and b"\n" not in read.data[node.start_byte : close_position]:
        member_text = f" {key_text}{_dumped(value)}{trailing_comma}"
        return _cut(
            read.data,
            [(last_member_end, last_member_end, comma), (body_end, body_end, member_text.encode())],
        )
    node_indent = read.indent(node)
    has_own_lines = members and b"\n" in read.data[node.start_byte : members[0].start_byte]
    member_indent = read.indent(members[0]) if has_own_lines else node_indent + read.unit
    member_text = (
        f"{read.newline}{member_indent}{key_text}{read.text(value, member_indent)}{trailing_comma}"
    )
    if b"\n" not in read.data[body_end:close_position] and not members:
        member_text += read.newline + node_indent
    return _cut(
        read.data,
        [(last_member_end, last_member_end, comma), (body_end, body_end, member_text.encode())],
    )


def _closed_up(data: bytes, start: int) -> bytes:
    """Write `{}` or `[]` for the container at `start` if only white space is left in it."""
    data_after = data[start + 1 :].lstrip(SPACE)
    return data[: start + 1] + data_after if data_after.startswith((b"}", b"]")) else data


def _cut(data: bytes, parts: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Return the text with some parts replaced; each is its start, its end and the new bytes."""
    edited_data, position = b"", 0
    for start, end, new_bytes in sorted(parts, key=lambda part: part[:2]):
        edited_data += data[position:start] + new_bytes
        position = end
    return edited_data + data[position:]


def _dumped(value: Any) -> str:
    """Return a value as JSON on one line; half of a surrogate pair stays escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def _checked(data: bytes, expected: dict[str, Any]) -> bytes:
    if _read(data).value != expected:
        raise NotUnderstood("its form is too unusual for a safe edit: change it by hand")
    return data


def _read(data: bytes) -> _Read:
    """Parse a document into its text, line break and tree of nodes.

    Raises:
        NotUnderstood: the document is not a JSON object.
    """
    strict_data, trailing_commas, comments = _strict(data)
    try:
        text = strict_data.decode("utf-8-sig")
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except (ValueError, RecursionError) as exc:
        raise NotUnderstood(f"it is not JSON ({exc})") from exc
    if not isinstance(document, dict):
        raise NotUnderstood("it is not a JSON object")
    top_nodes = _parser().parse(strict_data).root_node.named_children
    return _Read(
        data,
        document,
        next(node for node in top_nodes if node.type == "object"),
        trailing_commas,
        comments,
    )


def _strict(data: bytes) -> tuple[bytes, frozenset[int], Ranges]:
    """Replace trailing commas and comments by spaces; also return the positions of the commas."""
    if not (b"//" in data or b"/*" in data or _TRAILING.search(data)):
        return data, frozenset(), []
    nodes_by_capture = QueryCursor(_query()).captures(_parser().parse(data).root_node)
    strict_data = bytearray(data)
    for comment in nodes_by_capture.get("comment", ()):
        comment_text = comment.text or b""
        if comment_text.startswith(b"//") and b"\r" in comment_text.removesuffix(b"\r"):
            line_number = data.count(b"\n", 0, comment.start_byte) + 1
            raise NotUnderstood(
                f"it is not JSON (a comment in line {line_number} has a CR without a LF)"
            )
        strict_data[comment.start_byte : comment.end_byte] = _NO_SPACE.sub(b" ", comment_text)
    comma_positions = (comma.start_byte for comma in nodes_by_capture.get("comma", ()))
    trailing_commas = frozenset(
        comma for comma in comma_positions if _TRAILING.match(strict_data, comma)
    )
    for comma in trailing_commas:
        strict_data[comma] = ord(" ")
    return (
        bytes(strict_data),
        trailing_commas,
        [_range(comment) for comment in nodes_by_capture.get("comment", ())],
    )


def _in_line_comment(data: bytes, place: int) -> bool:
    comments = QueryCursor(_query()).captures(_parser().parse(data).root_node).get("comment", ())
    return any(
        comment.start_byte <= place < comment.end_byte
        and data.startswith(b"//", comment.start_byte)
        for comment in comments
    )


_NO_SPACE: Final = re.compile(rb"[^\r\n]")
_TRAILING: Final = re.compile(rb",(?=\s*[\]}])")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        repeated_name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated_name[:40]!a} occurs twice in one object")
    return members


def _refused(constant: str) -> Any:
    raise ValueError(f"it contains {constant}, which JSON does not allow")


@lru_cache(maxsize=1)
def _language() -> Language:
    return Language(tree_sitter_json.language())


def _parser() -> Parser:
    return Parser(_language())


@lru_cache(maxsize=1)
def _query() -> Query:
    return Query(_language(), '(comment) @comment "," @comma')


def _members(node: Node) -> Iterator[Node]:
    """Yield the members of an object or of a list."""
    return (child for child in node.named_children if child.type != "comment")


def _member(node: Node, key: str | int) -> Node | None:
    """Return an object's member by name, or a list's by place; None if there is none."""
    for index, member in enumerate(_members(node)):
        if key == (index if isinstance(key, int) else _name(member)):
            return member
    return None


def _name(pair: Node) -> str:
    return str(json.loads(pair.named_children[0].text or b"null"))


def _value(member: Node) -> Node:
    """Return the value of an object's member; the member of a list is the value itself."""
    return member.named_children[1] if member.type == "pair" else member
