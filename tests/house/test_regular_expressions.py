"""No regular expression takes long, whatever it is given: `re` holds the whole interpreter."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from day1.adapters.judges import injection
from tests.house.regular_expressions import LENGTH, Pattern, every_pattern, hard_texts
from tests.house.worst_texts import WorstText, worst_texts
from tests.sampling import sampled
from tests.yardstick import slowness, spent

PATTERNS = every_pattern()
MOST_S = 0.05
"""Of the process's own time, on 32 KB, on a machine as quick as the yardstick says."""
_FEW = 25
"""Letters that tell of a pattern that takes twice as long for each: it would never end."""
_FEW_TEXTS, _MOST_TEXTS = 20, 80
"""Hard texts that each run tries of a pattern, and that are tried once a week."""
_MARGIN = 0.75


def too_long(tried: Callable[[Any], object], text: Any) -> bool:
    """Whether the best of three takes more than the most: a busy machine is not the pattern."""
    return all(
        (taken := spent(tried, text)) > MOST_S and taken > MOST_S * slowness() for _ in range(3)
    )


def slow(pattern: Pattern, most_texts: int) -> tuple[str, int] | None:
    """The first of so many hard texts that takes the pattern too long: its start, and how much of it does.

    The judge's patterns are given no more than the part of a text that it reads.
    """
    judges = pattern.where.startswith(injection.__name__)
    longest = injection.MOST_JUDGED if judges else LENGTH
    every = list(dict.fromkeys(hard_texts(pattern.compiled.pattern, pattern.compiled.flags)))
    for text in every[:: len(every) // most_texts + 1]:
        whole: Any = text.encode() if isinstance(pattern.compiled.pattern, bytes) else text
        for tried in pattern.tries():
            for length in (_FEW, longest // 16, longest // 4, longest // 2, longest):
                # What ends in a near miss must keep its end.
                parts = whole[:length], whole[-length:]
                if any(too_long(tried, part) for part in parts):
                    return text[:40], length
                if length > _FEW and sum(spent(tried, part) for part in parts) < MOST_S * (
                    _MARGIN * (length / longest) ** 2
                ):
                    break  # nor will the whole take too long, if its time grows with the square
    return None


def test_the_list_of_regular_expressions_has_those_of_every_layer() -> None:
    names = {pattern.where for pattern in PATTERNS}
    assert len(PATTERNS) > 60
    assert {
        "day1.model.rows.validation._SHAPES",
        "day1.model.search.stance._MEASURE",
        "day1.adapters.sources.git._ADDRESS",
        "day1.adapters.versioned.doltlite.dbapi.statement._BLANK",
    } <= names


@pytest.mark.parametrize("most_texts", sampled((_FEW_TEXTS, _MOST_TEXTS), {_FEW_TEXTS}))
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.where)
def test_a_pattern_is_quick_on_the_worst_text(pattern: Pattern, most_texts: int) -> None:
    """B7: no pattern takes more than 50 ms of the processor for 32 KB."""
    assert slow(pattern, most_texts) is None


def test_hard_texts_are_soon_cleared_of_orders_to_a_judge() -> None:
    """It searches a text for many patterns, twice, and in other letters; all together are quick."""
    slow = []
    for pattern in PATTERNS:
        if pattern.where.startswith(injection.__name__):
            every = list(hard_texts(pattern.compiled.pattern, pattern.compiled.flags))
            for text in every[:: len(every) // 6 + 1]:
                parts = text[:LENGTH], text[-LENGTH:]
                slow += [part[:40] for part in parts if too_long(injection.cleared, part)]
    assert slow == []


_LONGEST = 2500
"""Characters of a pattern that is searched; the longer one joins patterns that are searched alone."""
_WORTH_S = 0.002
"""What is quicker is not compared with a text of twice the length."""
_FEW_S = 0.01
"""What few repetitions may take: if each doubled the time, they would soon take longer."""
_GROWTH = 3
"""How many times as long a text of twice the length may take."""


def slow_end(compiled: re.Pattern[Any], way: str, text: WorstText) -> str | None:
    """The end with which a text takes longer than its length tells; None if there is no such end."""
    of_bytes = isinstance(compiled.pattern, bytes)
    tried = Pattern("", compiled, frozenset((way,))).tries()[0]

    def best(length: int, end: str) -> float:
        whole: Any = text.of_length(length, end)
        whole = whole.encode("latin-1", "replace") if of_bytes else whole
        least = spent(tried, whole)
        return least if least < _WORTH_S else min(least, *(spent(tried, whole) for _ in range(2)))

    for end in text.ends:
        for count in range(6, 27, 4) if text.doubles else ():
            if best(count * len(text.part), end) > _FEW_S:
                return end
        for length in (256, 1024, 4096):
            if (once := best(length, end)) >= _WORTH_S:
                if best(2 * length, end) > _GROWTH * once:
                    return end
                break
    return None


def growing(compiled: re.Pattern[Any], way: str) -> tuple[str, str, str] | None:
    """A text on which a pattern takes longer than the length tells: its start, part and end."""
    for text in worst_texts(compiled.pattern, compiled.flags, searches=way == "search"):
        end = slow_end(compiled, way, text)
        if end is not None:
            return text.before, text.part, end
    return None


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"(a+)+$", "match"),
        (r"(a*)*b", "match"),
        (r"(?:a|a)*b", "match"),
        (r"(?:\w+\s?)*$", "fullmatch"),
        (r"[\w-]+:\s*[^\s/][^/]*(/[^/]*[^\s/][^/]*)*", "fullmatch"),
        (r"x*x*x*y", "match"),
        (r"a.*b.*c", "match"),
        (r"(.+)\1y", "match"),
        (r"(?=.*z)a", "search"),
        (r"\s*#+\s*$", "search"),
        (r"\s*(?:#{1,6}\s+|\*\*)(.+?)(?:\s*#*|:?\*\*:?)\s*$", "match"),
        (r"\s*[-*]\s+\[\[[^\[\]]+\]\]\s*(?:\(.*\))?\s*$", "match"),
        (r"(?s)\A(---)[ \t]*\n[^\n]*[:=][^\n]*\n(?:.*?\n)??(?:\1)[ \t]*(?:\n|\Z)", "match"),
    ],
)
def test_the_search_finds_the_texts_of_patterns_that_are_known_to_take_long(
    pattern: str, way: str
) -> None:
    assert growing(re.compile(pattern), way)


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"a+", "match"),
        (r"\w++b", "match"),
        (r"(?<!\w)\w++b", "search"),
        (r"[a-z]+:[0-9]+", "fullmatch"),
        (r"a[^b]*b", "match"),
    ],
)
def test_the_search_passes_patterns_that_are_known_to_be_linear(pattern: str, way: str) -> None:
    assert growing(re.compile(pattern), way) is None


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.where)
def test_the_time_of_a_pattern_grows_no_faster_than_a_text(pattern: Pattern) -> None:
    if len(pattern.compiled.pattern) > _LONGEST:
        pytest.skip("its parts are searched one by one")
    assert {way: growing(pattern.compiled, way) for way in pattern.used} == dict.fromkeys(
        pattern.used
    )
