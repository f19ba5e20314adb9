"""How much a memory counts by its age: it halves with each half-life."""

from typing import Final

from day1.model.values.instant import DAY

HALF_LIFE_DAYS: Final = 30
"""Days after which an unused memory has half of its decay score."""


def decay_score(last: int, now: int, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """Compute ½^(age / half-life) since a memory was last used or written: above 0, at most 1.

    Args:
        last: the instant of the last use or writing, in microseconds.
        now: the present instant, in microseconds.
        half_life_days: the half-life in days.
    """
    age_us = max(0, now - last)
    return float(0.5 ** (age_us / (half_life_days * DAY)))
