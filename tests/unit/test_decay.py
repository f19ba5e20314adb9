"""The decay score of a memory: it halves with each half-life since its last use."""

import pytest

from day1.model.values.decay import HALF_LIFE_DAYS, decay_score
from day1.model.values.instant import DAY

NOW = 1_700_000_000_000_000


@pytest.mark.parametrize("half_lives", [0, 1, 2, 3.5])
def test_it_halves_with_each_half_life(half_lives: float) -> None:
    last = NOW - int(half_lives * HALF_LIFE_DAYS * DAY)
    assert decay_score(last, NOW) == pytest.approx(0.5**half_lives)


def test_a_memory_of_a_clock_that_is_ahead_counts_as_new() -> None:
    assert decay_score(NOW + DAY, NOW) == 1


def test_an_other_half_life() -> None:
    assert decay_score(NOW - 10 * DAY, NOW, 10) == pytest.approx(0.5)
