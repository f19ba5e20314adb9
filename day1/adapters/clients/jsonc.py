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

from day1.adapters.clients.documents import Keys, NotUnderstood, at, newline_of, with_value, without

BLANK: Final = b"{}\n"
_SPACE: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"


def value_of(data: bytes) -> dict[str, Any]:
    """The document as values."""
    return _read(data).value


def put(data: bytes, keys: Keys, value: Any) -> bytes:
    """The document with a value at a path of keys."""
    read = _read(data if data.removeprefix(_BOM).strip() else BLANK)
    if at(read.value, keys) == value:
        return read.data
    wanted = with_value(read.value, keys, value)
    node, rest = read.root, list(keys)
    while rest and (member := _member(node, rest[0])) is not None:
        node = _value(member)
        rest.pop(0)
    if rest:
        for key in reversed(rest[1:]):
            value = [value] if isinstance(key, int) else {key: value}
        edited = _inserted(read, node, rest[0], value)
    else:
        text = read.text(value, read.indent(node)).encode()
        edited = _cut(read.data, [(node.start_byte, node.end_byte, text)])
    return _checked(edited, wanted)


def take_out(data: bytes, keys: Keys) -> bytes:
    """The document without what is at a path of keys."""
    read = _read(data)
    if at(read.value, keys) is None:
        return data
    node = read.root
    for key in keys[:-1]:
        node = _value(_member(node, key) or node)
    members = list(_members(node))
    own = _member(node, keys[-1]) or node
    place = members.index(own)
    starts = members[place - 1].end_byte if place else node.start_byte
    ends = members[place + 1].start_byte if place + 1 < len(members) else node.end_byte
    commas = {c.start_byte for c in node.children if c.type == ","} | read.trailing
    before = [c for c in commas if starts <= c < own.start_byte]
    after = [c for c in commas if own.end_byte <= c < ends]
    begin = len(read.data[: own.start_byte].rstrip(_SPACE))
    goes_on = not read.data[own.end_byte :].lstrip(b", \t").startswith((b"\r", b"\n"))
    if goes_on and _in_line_comment(read.data, begin - 1):  # which ends with its line
        begin = max(begin, read.data.rfind(b"\n", 0, own.start_byte) + 1)
    parts = [(begin, own.end_byte, b""), *((c, c + 1, b"") for c in after or before)]
    edited = _closed_up(_cut(read.data, parts), node.start_byte)
    return _checked(edited, without(read.value, keys))


def shown(keys: Keys, value: Any) -> str:
    """What a person would add to a document."""
    return put(BLANK, keys, value).decode()


@dataclass(frozen=True)
class _Read:
    data: bytes
    value: dict[str, Any]
    root: Node
    trailing: frozenset[int]
    """Where commas stand that strict JSON does not have."""

    @property
    def newline(self) -> str:
        return newline_of(self.data)

    @property
    def unit(self) -> str:
        """How far one level is indented."""
        return next((self.indent(pair) for pair in _members(self.root)), "") or "  "

    def indent(self, node: Node) -> str:
        """The space at the start of the line on which a node begins."""
        line = self.data[self.data.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
        return line[: len(line) - len(line.lstrip(b" \t"))].decode()

    def text(self, value: Any, indent: str) -> str:
        """A value as JSON: objects and lists of objects on lines of their own."""
        deeper = indent + self.unit
        if isinstance(value, dict) and value:
            members = [
                f"{deeper}{json.dumps(key, ensure_ascii=False)}: {self.text(inner, deeper)}"
                for key, inner in value.items()
            ]
            opens, closes = "{}"
        elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
            members = [f"{deeper}{self.text(inner, deeper)}" for inner in value]
            opens, closes = "[]"
        else:
            return json.dumps(value, ensure_ascii=False)
        return self.newline.join([opens, f",{self.newline}".join(members), indent + closes])


def _inserted(read: _Read, node: Node, key: str | int, value: Any) -> bytes:
    """The text with one more member at the end of an object or a list."""
    pairs, close = list(_members(node)), node.end_byte - 1
    body_end = len(read.data[:close].rstrip(_SPACE))
    name = "" if isinstance(key, int) else f"{json.dumps(key, ensure_ascii=False)}: "
    last = pairs[-1].end_byte if pairs else node.start_byte + 1
    trails = any(last <= comma < close for comma in read.trailing)
    comma = b"," if pairs and not trails else b""
    end = "," if trails else ""
    if pairs and b"\n" not in read.data[node.start_byte : close]:
        member = f" {name}{json.dumps(value, ensure_ascii=False)}{end}"
        return _cut(read.data, [(last, last, comma), (body_end, body_end, member.encode())])
    base = read.indent(node)
    own_lines = pairs and b"\n" in read.data[node.start_byte : pairs[0].start_byte]
    indent = read.indent(pairs[0]) if own_lines else base + read.unit
    member = f"{read.newline}{indent}{name}{read.text(value, indent)}{end}"
    if b"\n" not in read.data[body_end:close] and not pairs:
        member += read.newline + base
        return _cut(read.data, [(last, last, comma), (body_end, close, member.encode())])
    return _cut(read.data, [(last, last, comma), (body_end, body_end, member.encode())])


def _closed_up(data: bytes, start: int) -> bytes:
    """The text with `{}` or `[]` for what, begun at `start`, has nothing left but space."""
    rest = data[start + 1 :].lstrip(_SPACE)
    return data[: start + 1] + rest if rest.startswith((b"}", b"]")) else data


def _cut(data: bytes, parts: Sequence[tuple[int, int, bytes]]) -> bytes:
    """The text with parts, given by start and end, replaced."""
    edited, done = b"", 0
    for start, end, new in sorted(parts, key=lambda part: part[:2]):
        edited += data[done:start] + new
        done = end
    return edited + data[done:]


def _checked(data: bytes, wanted: dict[str, Any]) -> bytes:
    if _read(data).value != wanted:
        raise NotUnderstood("its form is too unusual to be edited safely")
    return data


def _read(data: bytes) -> _Read:
    """A sound document.

    Raises:
        NotUnderstood: it is none.
    """
    clean, trailing = _strict(data)
    try:
        value = json.loads(clean.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as exc:
        raise NotUnderstood(f"it is no JSON ({exc})") from exc
    if not isinstance(value, dict):
        raise NotUnderstood("it is no JSON object")
    tops = _parser().parse(clean).root_node.named_children
    return _Read(data, value, next(top for top in tops if top.type == "object"), trailing)


def _strict(data: bytes) -> tuple[bytes, frozenset[int]]:
    """The same text with space for comments and for trailing commas, and where these stood."""
    if not (b"//" in data or b"/*" in data or _TRAILING.search(data)):
        return data, frozenset()
    captured = QueryCursor(_query()).captures(_parser().parse(data).root_node)
    clean = bytearray(data)
    for comment in captured.get("comment", ()):
        for place in range(comment.start_byte, comment.end_byte):
            if clean[place] not in b"\r\n":
                clean[place] = ord(" ")
    commas = (comma.start_byte for comma in captured.get("comma", ()))
    trailing = frozenset(comma for comma in commas if _TRAILING.match(clean, comma))
    for comma in trailing:
        clean[comma] = ord(" ")
    return bytes(clean), trailing


def _in_line_comment(data: bytes, place: int) -> bool:
    comments = QueryCursor(_query()).captures(_parser().parse(data).root_node).get("comment", ())
    return any(
        comment.start_byte <= place < comment.end_byte
        and data.startswith(b"//", comment.start_byte)
        for comment in comments
    )


_TRAILING: Final = re.compile(rb",(?=\s*[\]}])")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


@lru_cache(maxsize=1)
def _language() -> Language:
    return Language(tree_sitter_json.language())


def _parser() -> Parser:
    return Parser(_language())


@lru_cache(maxsize=1)
def _query() -> Query:
    return Query(_language(), '(comment) @comment "," @comma')


def _members(node: Node) -> Iterator[Node]:
    """The members of an object, or of a list."""
    return (child for child in node.named_children if child.type != "comment")


def _member(node: Node, key: str | int) -> Node | None:
    """The member of an object that has a name, or that of a list which has a place."""
    for place, member in enumerate(_members(node)):
        if key == (place if isinstance(key, int) else _name(member)):
            return member
    return None


def _name(pair: Node) -> str:
    return str(json.loads(pair.named_children[0].text or b"null"))


def _value(member: Node) -> Node:
    """What a member of an object has; that of a list is the value itself."""
    return member.named_children[1] if member.type == "pair" else member
