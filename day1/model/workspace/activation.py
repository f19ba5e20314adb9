"""How present a row is: how recently it was written or found, and how often it was found."""

from typing import Final

HALF_LIFE_US: Final = 2 * 3_600 * 1_000_000
"""After this time without a question that found it, a row is half as recent: two hours."""
_OFTEN: Final = 3
"""Questions that make a row half as frequent as it can be."""


def recency(last: int, now: int) -> float:
    """Score from 0 to 1 how recent an instant is; an instant ahead of `now` counts as now."""
    return float(0.5 ** (max(0, now - last) / HALF_LIFE_US))


def frequency(count: int) -> float:
    """Score from 0 to below 1 how many questions found a row."""
    return count / (count + _OFTEN)


def activation(created_at: int, use: tuple[int, int] | None, now: int) -> float:
    """Score from 0 to 1 how active a row is: the mean of recency and frequency.

    Args:
        created_at: when the row was written (microseconds UTC).
        use: how many questions found it, and when the last one did.
        now: the present time.
    """
    count, found_at = use or (0, created_at)
    return (recency(max(created_at, found_at), now) + frequency(count)) / 2
