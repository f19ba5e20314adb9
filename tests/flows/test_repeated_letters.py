"""Texts of one letter, as long as a text may be, keep nobody waiting."""

import time
from collections.abc import Callable

import pytest

from day1.adapters.judges import injection
from day1.adapters.judges import rules_scoring as scoring
from day1.adapters.sources import git
from day1.model.redaction.quotes import without
from day1.model.rows import validation
from day1.model.search import grouping, stance

MOST_S = 1.0
"""Of the process's own time; each took several seconds."""


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(lambda: stance.stance("1" * 8_000, "2" * 8_000), id="a fact of digits"),
        pytest.param(lambda: grouping._SPECIFIC.findall("a" * 32_000), id="letters"),
        pytest.param(lambda: git._without_addresses(" " * 60_000 + "x"), id="a commit of blanks"),
        pytest.param(lambda: scoring._PLACE_PATTERN.search("a-" * 16_000), id="hyphens"),
        pytest.param(lambda: validation.looks_secret("eyJ-" * 8_000), id="no secret"),
        pytest.param(lambda: injection.cleared("\u05d4\u05ea\u05e2\u05dc" * 8_000), id="Hebrew"),
        pytest.param(
            lambda: without(["- " * 8_000 + "x"])("- " * 16_000 + "x"), id="a quote of hyphens"
        ),
    ],
)
def test_a_long_text_is_soon_read(asked: Callable[[], object]) -> None:
    """B7: what reads a whole text takes time as the text is long, not as its square."""
    before = time.process_time()
    asked()
    assert time.process_time() - before < MOST_S
