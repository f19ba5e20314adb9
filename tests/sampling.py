"""What every run tries of many forms, and what it leaves to the run of the week."""

import os
from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def sampled(every: Iterable[Any], daily: Container[Any]) -> list[Any]:
    """Parameters of a test, those that are not daily with the marker `weekly`."""
    weekly = pytest.mark.weekly
    return [one if one in daily else pytest.param(one, marks=weekly) for one in every]


EXAMPLES = sampled((50, 200), {50})
"""How many lists of deeds a property is tried on."""


def cases(daily: int) -> int:
    """How many cases of foreign files a test tries: so many, or `DAY1_FOREIGN_CASES`."""
    return int(os.environ.get("DAY1_FOREIGN_CASES", daily))


def hold(examples: int, deed: st.SearchStrategy[Any], check: Callable[[list[Any]], None]) -> None:
    """Check a property after each of so many lists of deeds."""

    @settings(max_examples=examples)
    @given(deeds=st.lists(deed, max_size=8))
    def holds(deeds: list[Any]) -> None:
        check(deeds)

    holds()
