"""One hit for a text that is kept in parts: the best part. Other memories get the freed places."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Final, TypeVar

from day1.model.rows.kind import MEMORIES, Row
from day1.model.search.ranking import Candidate, Scored
from day1.model.values.parts import MARK, Part, part_of

Order = Callable[[Iterable[Candidate], int], list[Scored]]
"""The first so many of some candidates, best first."""
Show = Callable[[Iterable[str]], dict[str, Row]]
"""The rows of these ids that may be shown."""
_TEXTS: Final = tuple(kind.text for kind in MEMORIES if kind.text)
T = TypeVar("T")


def best_rows(
    candidates: Sequence[Candidate], limit: int, order: Order, show: Show
) -> tuple[list[Scored], dict[str, Row]]:
    """The best candidates that may be shown, and their rows; one part of each text."""
    most = limit
    while True:
        ranked = order(candidates, most)
        rows = show([scored.row_id for scored in ranked])
        if len(rows) < len(ranked):  # some were made of hidden rows: others come in their place
            visible = show([candidate.row_id for candidate in candidates])
            candidates = [one for one in candidates if one.row_id in visible]
            ranked = order(candidates, most)
            rows = show([scored.row_id for scored in ranked])
        keys = [(one, text_key(rows[one.row_id])) for one in ranked if one.row_id in rows]
        best = [one for one, _ in once_each(keys, itemgetter(1))]
        if len(best) >= limit or len(ranked) < most:
            return best[:limit], rows
        most *= 4


def once_each(found: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """The first item of each key, in their order."""
    first: dict[Hashable, T] = {}
    for one in found:
        first.setdefault(key(one), one)
    return list(first.values())


def text_key(row: Row) -> Hashable:
    """The key that all parts of one text share; any other row has a key of its own."""
    part = part_in(row)
    return row["id"] if part is None else (part.whole, row.get("conversation_id"))


def part_in(row: Row) -> Part | None:
    """The place of a row in a longer text; None if it is no part."""
    text = str(next((row[column] for column in _TEXTS if column in row), ""))
    return part_of(row, text) if MARK in text else None  # most texts have no mark
