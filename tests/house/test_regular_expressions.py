"""No regular expression takes long, whatever it is given: `re` holds the whole interpreter."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.house.regular_expressions import LENGTH, Pattern, every_pattern, hard_texts

PATTERNS = every_pattern()
MOST_S = 0.05
"""Of the process's own time, on 32 KB."""
_FEW = 25
"""Letters that tell of a pattern that takes twice as long for each: it would never end."""
_MOST_TEXTS = 80
_MARGIN = 0.75


def spent(tried: Callable[[Any], object], text: Any) -> float:
    before = time.process_time()
    tried(text)
    return time.process_time() - before


def too_long(tried: Callable[[Any], object], text: Any) -> bool:
    """Whether the best of three takes more than the most: a busy machine is not the pattern."""
    return all(spent(tried, text) > MOST_S for _ in range(3))


def slow(pattern: Pattern) -> tuple[str, int] | None:
    """The first hard text that takes the pattern too long: its start, and how much of it does."""
    every = list(dict.fromkeys(hard_texts(pattern.compiled.pattern, pattern.compiled.flags)))
    for text in every[:: len(every) // _MOST_TEXTS + 1]:
        whole: Any = text.encode() if isinstance(pattern.compiled.pattern, bytes) else text
        for tried in pattern.tries():
            for length in (_FEW, LENGTH // 16, LENGTH // 4, LENGTH // 2, LENGTH):
                # What ends in a near miss must keep its end.
                parts = whole[:length], whole[-length:]
                if any(too_long(tried, part) for part in parts):
                    return text[:40], length
                if length > _FEW and sum(spent(tried, part) for part in parts) < MOST_S * (
                    _MARGIN * (length / LENGTH) ** 2
                ):
                    break  # nor will the whole take too long, if its time grows with the square
    return None


def test_the_list_of_regular_expressions_has_those_of_every_layer() -> None:
    names = {pattern.where for pattern in PATTERNS}
    assert len(PATTERNS) > 60
    assert {
        "day1.model.rows.validation._SHAPES",
        "day1.adapters.judges.stance._MEASURE",
        "day1.adapters.sources.git._ADDRESS",
        "day1.adapters.versioned.doltlite.dbapi.statement._BLANK",
    } <= names


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.where)
def test_a_pattern_is_quick_on_the_worst_text(pattern: Pattern) -> None:
    """B7: no pattern takes more than 50 ms of the processor for 32 KB."""
    assert slow(pattern) is None
