"""The difference of two texts, word by word, for a person to read."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import groupby, takewhile
from typing import Literal

Change = Literal["same", "removed", "added"]

MAX_PIECES = 10_000
"""Maximum number of pieces (words, gaps and marks) of both texts to compare. Longer texts are
compared by lines, and with more lines than that not at all: the time grows with the square (at
worst 0.25 s here)."""

# A word, a gap, or one mark: together they are the text.
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")


def changed_words(before: str, after: str) -> list[tuple[Change, str]]:
    """List the parts of two texts: same, removed or added; a removal comes before its replacement.

    The parts `same` and `added` joined are exactly `after`; `same` and `removed` are `before`. No
    part is empty, and no two neighbours have the same kind.
    """
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    equal_at_start = _equal_ahead(old, new)
    old, new, start = old[equal_at_start:], new[equal_at_start:], old[:equal_at_start]
    equal_at_end = _equal_ahead(old[::-1], new[::-1])
    end = old[len(old) - equal_at_end :]
    old, new = old[: len(old) - equal_at_end], new[: len(new) - equal_at_end]
    if len(old) + len(new) > MAX_PIECES:
        old, new = "".join(old).splitlines(keepends=True), "".join(new).splitlines(keepends=True)
    return _joined([("same", start), *_compared(old, new), ("same", end)])


def _equal_ahead(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the equal pieces at the start of both texts."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _compared(old: list[str], new: list[str]) -> Iterable[tuple[Change, list[str]]]:
    """Yield runs of pieces, each the same, removed or added."""
    if len(old) + len(new) > MAX_PIECES:
        yield "removed", old
        yield "added", new
        return
    # Gaps are junk: a space between two changed words must not count as equal.
    matcher = SequenceMatcher(str.isspace, old, new)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield "same", old[old_start:old_end]
        else:
            yield "removed", old[old_start:old_end]
            yield "added", new[new_start:new_end]


def _joined(parts: list[tuple[Change, list[str]]]) -> list[tuple[Change, str]]:
    """Join the parts to texts, without empty ones; neighbours of one kind become one."""
    filled_parts = [part for part in parts if part[1]]
    return [
        (kind, "".join(piece for _, pieces in group for piece in pieces))
        for kind, group in groupby(filled_parts, key=lambda part: part[0])
    ]
