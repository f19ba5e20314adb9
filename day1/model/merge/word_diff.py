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
    old_pieces, new_pieces = _PIECE.findall(before), _PIECE.findall(after)
    equal_start_count = _equal_ahead(old_pieces, new_pieces)
    old_pieces, new_pieces, start_pieces = (
        old_pieces[equal_start_count:],
        new_pieces[equal_start_count:],
        old_pieces[:equal_start_count],
    )
    equal_end_count = _equal_ahead(old_pieces[::-1], new_pieces[::-1])
    end_pieces = old_pieces[len(old_pieces) - equal_end_count :]
    old_pieces, new_pieces = (
        old_pieces[: len(old_pieces) - equal_end_count],
        new_pieces[: len(new_pieces) - equal_end_count],
    )
    if len(old_pieces) + len(new_pieces) > MAX_PIECES:
        old_pieces, new_pieces = (
            "".join(old_pieces).splitlines(keepends=True),
            "".join(new_pieces).splitlines(keepends=True),
        )
    return _joined(
        [("same", start_pieces), *_compared(old_pieces, new_pieces), ("same", end_pieces)]
    )


def _equal_ahead(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the equal pieces at the start of both texts."""
    piece_pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], piece_pairs))


def _compared(old: list[str], new: list[str]) -> Iterable[tuple[Change, list[str]]]:
    """Yield runs of pieces, each the same, removed or added."""
    if len(old) + len(new) > MAX_PIECES:
        yield "removed", old
        yield "added", new
        return
    # Gaps are junk: a space between two changed words must not count as equal.
    matcher = SequenceMatcher(str.isspace, old, new)
    for edit_tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if edit_tag == "equal":
            yield "same", old[old_start:old_end]
        else:
            yield "removed", old[old_start:old_end]
            yield "added", new[new_start:new_end]


def _joined(parts: list[tuple[Change, list[str]]]) -> list[tuple[Change, str]]:
    """Join the parts to texts, without empty ones; neighbours of one kind become one."""
    filled_parts = [part for part in parts if part[1]]
    return [
        (change, "".join(piece for _, pieces in change_parts for piece in pieces))
        for change, change_parts in groupby(filled_parts, key=lambda part: part[0])
    ]
