"""The front matter of a note: keys and values between two marks, read leniently."""

import re
from collections.abc import Sequence

_MARKS = frozenset(("---", "+++"))
_KEY = re.compile(r"(?P<indent>[ \t]*+)(?P<key>[\w-]++)[ \t]*+[:=](?:[ \t]++(?P<value>.*))?$")
_ENTRY = re.compile(r"[ \t]*+-[ \t]++(?P<value>.+)$")
_BLOCK = re.compile(r"[|>][-+]?\d?[-+]?")
"""Markers after a key whose value is in the lines below."""


class FrontMatter:
    """The keys of a note's front matter, with their values as far as they are plain.

    A key below another one is `outer.inner`, a list has several values, a block of text one. What
    is written in any other way of YAML's is not read. Each key that is asked for counts as read.
    """

    def __init__(self, text: str) -> None:
        """Read the front matter of a note, if it has one.

        `body` is the note without it, `length` how many lines it has with its marks.
        """
        lines, self.body, self.length = _divided(text)
        self._values: dict[str, list[str]] = {}
        self._lines: dict[str, int] = {}
        self._others = 0
        self._asked: set[str] = set()
        self._read(lines)

    def all(self, key: str) -> Sequence[str]:
        """Return the values of a key; empty if the key is missing."""
        self._asked.add(key)
        return self._values.get(key, ())

    def first(self, key: str) -> str:
        """Return the first value of a key, or "". A key with other values counts as unread."""
        values = self._values.get(key, [])
        if len(values) == 1:
            self._asked.add(key)
        return values[0] if values else ""

    def joined(self, key: str) -> str:
        """Return the values of a key as one text; "" if the key is missing."""
        return ", ".join(self.all(key))

    @property
    def unread(self) -> int:
        """The number of lines with values that no caller asked for."""
        line_counts = (
            line_count for key, line_count in self._lines.items() if key not in self._asked
        )
        return self._others + sum(line_counts)

    def _read(self, lines: Sequence[str]) -> None:
        outer_key, last_key, next_line = "", "", 0
        while next_line < len(lines):
            line, next_line = lines[next_line], next_line + 1
            if last_key and (entry_match := _ENTRY.match(line)):
                self._add(last_key, [_unquoted(entry_match["value"])])
            elif key_match := _KEY.match(line):
                last_key = (
                    f"{outer_key}.{key_match['key']}"
                    if key_match["indent"] and outer_key
                    else key_match["key"]
                )
                outer_key = outer_key if key_match["indent"] else key_match["key"]
                value = key_match["value"] or ""
                if _BLOCK.fullmatch(value.strip()):
                    block_end = _end_of_block(lines, next_line, key_match["indent"])
                    separator = " " if value.lstrip().startswith(">") else "\n"
                    block_lines = [block_line.strip() for block_line in lines[next_line:block_end]]
                    self._set(
                        last_key,
                        [separator.join(block_lines).strip()],
                        len(list(filter(None, block_lines))),
                    )
                    next_line = block_end
                else:
                    self._set(last_key, _listed(value))
            else:
                self._others += bool(line.strip())

    def _set(self, key: str, values: list[str], lines: int = 1) -> None:
        """Set the values of a key; the last of several entries of one key counts."""
        self._others += self._lines.pop(key, 0)
        self._values[key] = []
        self._add(key, values, lines)

    def _add(self, key: str, values: list[str], lines: int = 1) -> None:
        self._values[key] += values
        self._lines[key] = self._lines.get(key, 0) + (lines if any(values) else 0)


def _divided(text: str) -> tuple[Sequence[str], str, int]:
    """Return the lines of the front matter, the rest, and the number of lines before the rest.

    Front matter has a key in its first line; a note may as well open with a rule of dashes.
    """
    lines = text.split("\n")
    opening_mark = lines[0].rstrip(" \t")
    first_key_line = "".join(lines[1:2])
    if opening_mark in _MARKS and (":" in first_key_line or "=" in first_key_line):
        for line_index, line in enumerate(lines[2:], start=2):
            if line.rstrip(" \t") in (opening_mark, "..."):
                return lines[1:line_index], "\n".join(lines[line_index + 1 :]), line_index + 1
    return (), text, 0


def _end_of_block(lines: Sequence[str], at: int, indent: str) -> int:
    """Return the place of the first line after a block of text, indented more than its key."""
    while at < len(lines):
        line = lines[at]
        if line.strip() and len(line) - len(line.lstrip()) <= len(indent):
            break
        at += 1
    return at


def _listed(value: str) -> list[str]:
    """Return the values of `[a, b]`, or the one value; empty for an empty text."""
    value = value.strip()
    parts = value[1:-1].split(",") if value[:1] == "[" and value[-1:] == "]" else [value]
    return [_unquoted(part) for part in parts if part.strip()]


def _unquoted(value: str) -> str:
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
