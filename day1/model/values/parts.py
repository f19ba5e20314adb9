"""Cutting a text that is too long for one memory, and the marks that link its parts.

The first part has the id that the whole text would have; the ids of the others follow from it. A
part ends in a line that names its place and the first part. So all of it is in columns that every
kind of text has, and goes along to files, copies and branches. The line counts only in a row of the
id that it says: nobody makes a row a part of another's text by writing such a line.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from day1.model.values.ids import derived_id

MAX_TEXT: Final = 32_768
"""Maximum number of characters of one memory's text."""
MOST_VALUE: Final = 8 * 1024 * 1024
"""Maximum number of bytes, in UTF-8, of the JSON that a row keeps beside its text."""
MOST_PIECE: Final = MAX_TEXT - 128
"""Maximum number of characters of a part without its mark."""

MARK: Final = "\n[part "
"""The start of a part's last line."""
_MARK_PATTERN: Final = re.compile(r"\n\[part (\d{1,6}) of (\d{1,6}) of ([a-z]{1,8}_\w{1,64})\]")
_PLACES: Final = (
    re.compile(r"\n[ \t\r]*\n+|\n(?=#{1,6}[ \t])"),
    re.compile(r"\r\n?|\n"),
    re.compile(r"[.!?\u2026][)\]\"'\u2019\u201d]{0,3}\s+|[\u3002\uff01\uff1f]"),
    re.compile(r"\s+"),
)
"""Patterns of places after which a text is cut, best first: a paragraph or the line before a
heading, a line, a sentence, a word."""
_JOINERS: Final = frozenset("\u200d\u034f")
_FLAGS: Final = ("\U0001f1e6", "\U0001f1ff")
_TONES: Final = ("\U0001f3fb", "\U0001f3ff")
_JAMO: Final = ("\u1160", "\u11ff")


class TooLong(ValueError):
    """A given text is longer than one memory may be."""

    def __init__(self, length: int, subject: str = "") -> None:
        """State the length and the limit; `subject` names a text that is made of arguments."""
        problem = f"has {length:,} characters, and a memory at most {MAX_TEXT:,}"
        super().__init__(f"{subject} {problem}" if subject else problem)


@dataclass(frozen=True, slots=True)
class Part:
    """The place of a row in a text of several rows."""

    whole: str
    """The id of the first part, by which the text is known."""
    number: int
    """The number of this part, counted from 1."""
    count: int

    @property
    def before(self) -> str | None:
        """The id of the previous part; None for the first one."""
        return part_id(self.whole, self.number - 1) if self.number > 1 else None

    @property
    def after(self) -> str | None:
        """The id of the next part; None for the last one."""
        return part_id(self.whole, self.number + 1) if self.number < self.count else None

    @property
    def ids(self) -> list[str]:
        """The ids of all parts, in their order."""
        return [part_id(self.whole, part_number) for part_number in range(1, self.count + 1)]

    def __str__(self) -> str:
        """Write the place as words: `part 2 of 11`."""
        return f"part {self.number} of {self.count}"


def part_id(whole: str, number: int) -> str:
    """Return the id of a part of the text whose first part is `whole`."""
    if number == 1:
        return whole
    return derived_id(whole.partition("_")[0], None, "part", whole, str(number))


def parts_of(whole: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield ids and texts of the rows that keep a text: one row, or parts with their marks."""
    if len(text) <= MAX_TEXT:
        yield whole, text
        return
    pieces = cut(text, MOST_PIECE)
    for part_number, piece in enumerate(pieces, start=1):
        mark = f"{MARK}{part_number} of {len(pieces)} of {whole}]"
        yield part_id(whole, part_number), piece + mark


def part_of(row: Mapping[str, object], text: object) -> Part | None:
    """Return a row's place in a longer text, by the mark in `text`; None if it is no part.

    A copy under another id is a part as the row is that it was copied from.
    """
    mark_match = _mark(str(text))
    if mark_match is None:
        return None
    part = Part(mark_match[3], int(mark_match[1]), int(mark_match[2]))
    if not 1 <= part.number <= part.count or part.count < 2:  # noqa: PLR2004 - one is no part
        return None
    id_by_mark = part_id(part.whole, part.number)
    return part if id_by_mark in {row.get("id"), row.get("origin_id")} else None


def piece_of(text: str) -> str:
    """Return a part's text without its mark."""
    mark_match = _mark(text)
    return text if mark_match is None else text[: mark_match.start()]


def mark_in(text: str) -> str:
    """Return the last line of a part, its mark; "" for a text that is no part."""
    mark_match = _mark(text)
    return "" if mark_match is None else mark_match[0]


def _mark(text: str) -> re.Match[str] | None:
    mark_start = text.rfind(MARK)
    return None if mark_start < 0 else _MARK_PATTERN.fullmatch(text, mark_start)


def cut(text: str, max_length: int) -> list[str]:
    """Cut a text into pieces of at most `max_length` characters that join to the same text.

    They are about equally long: each ends at the best place within a quarter of the equal length,
    and never within a character and what is combined with it, if that fits a piece.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > max_length:
        remaining_length = len(text) - start
        equal_length = remaining_length // -(-remaining_length // max_length)
        earliest_end, latest_end = (
            start + max(1, equal_length * 3 // 4),
            start + max(1, min(max_length, equal_length * 5 // 4)),
        )
        end = _end(text, start, (earliest_end, start + equal_length, latest_end))
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return pieces


def _end(text: str, start: int, window: tuple[int, int, int]) -> int:
    """Find where a piece ends: the best place in the window, near its middle."""
    low, middle, high = window
    for pattern in _PLACES:
        end_places = (match.end() for match in pattern.finditer(text, low - 1, high))
        allowed_ends = [end for end in end_places if low <= end and _may_cut(text, start, end)]
        if allowed_ends:
            return min(allowed_ends, key=lambda end: abs(end - middle))
    cut_place = next(
        (position for position in range(middle, low - 1, -1) if _may_cut(text, start, position)),
        None,
    )
    if cut_place is not None:
        return cut_place
    return next(
        (position for position in range(middle, high + 1) if _may_cut(text, start, position)),
        middle,
    )


def _may_cut(text: str, start: int, at: int) -> bool:
    """Whether a cut before the character `at` splits no visible character."""
    character_before, character_after = text[at - 1], text[at]
    if character_before < "\x80" and character_after < "\x80":
        return (character_before, character_after) != ("\r", "\n")
    if (
        unicodedata.category(character_after)[0] == "M"
        or character_after in _JOINERS
        or character_before in _JOINERS
    ):
        return False
    if "\ud800" <= character_before <= "\udbff" and "\udc00" <= character_after <= "\udfff":
        return False
    if _within(character_after, _TONES) or _within(character_after, _JAMO):
        return False
    if _within(character_before, _FLAGS) and _within(character_after, _FLAGS):
        first_flag = at
        while first_flag > start and _within(text[first_flag - 1], _FLAGS):
            first_flag -= 1
        return (at - first_flag) % 2 == 0
    return True


def _within(character: str, ends: tuple[str, str]) -> bool:
    return ends[0] <= character <= ends[1]
