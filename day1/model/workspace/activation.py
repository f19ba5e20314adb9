"""The activation of a row: how recently it was written or found, and how often it was found."""

from typing import Final

HALF_LIFE_US: Final = 2 * 3_600 * 1_000_000
"""Microseconds after which the recency score of a row has fallen by half: two hours."""
_OFTEN: Final = 3
"""The number of questions that found a row at which its frequency score is one half."""


def recency(last: int, now: int) -> float:
    """Score from 0 to 1 how recent `last` is (microseconds UTC); the future counts as now."""
    return float(0.5 ** (max(0, now - last) / HALF_LIFE_US))


def frequency(count: int) -> float:
    """Score from 0 to below 1 how often questions found a row; `count` is their number."""
    return count / (count + _OFTEN)


def activation(created_at: int, use: tuple[int, int] | None, now: int) -> float:
    """Score from 0 to 1 how active a row is: the mean of recency and frequency.

    Args:
        created_at: when the row was written (microseconds UTC).
        use: how many questions found it, and when the last one did (microseconds UTC).
        now: the present time (microseconds UTC).
    """
    question_count, found_at = use or (0, created_at)
    return (recency(max(created_at, found_at), now) + frequency(question_count)) / 2
