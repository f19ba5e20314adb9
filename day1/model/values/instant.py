"""Instants: whole microseconds since 1970 UTC inside, ISO 8601 with offset outside."""

from datetime import UTC, datetime, timedelta
from typing import Final

from day1.errors import InvalidRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000
DAY = 86_400 * SECOND
NEVER = "never"
"""The word for *no end*."""
FIRST: Final = -62_135_596_800_000_000
"""The first microsecond of the year 1 in UTC: no memory has an earlier time."""
LAST: Final = 253_402_300_799_999_999
"""The last microsecond of the year 9999 in UTC: no memory has a later time."""
LAST_LEARNED: Final = LAST - 366 * DAY
"""The last time at which a row can be learned. Each later write on its branch needs a later time,
so a year is left for those."""


def parse(text: str, *, end: bool = False) -> int:
    """Read an ISO 8601 date or time as microseconds UTC; without an offset it is UTC.

    A bare date means its first instant, or with `end` its last.

    Raises:
        InvalidRequest: the text is not an ISO 8601 date or time of the years 1 to 9999 UTC.
    """
    stripped_text = text.strip()
    try:
        moment = datetime.fromisoformat(stripped_text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise InvalidRequest(
            "A time must be ISO 8601, in the years 1 to 9999 of UTC, such as 2026-03-01 or "
            "2026-03-01T10:00:00Z.",
            given=stripped_text[:40],
        ) from exc
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    instant = (moment - _EPOCH) // _MICROSECOND
    is_date = len(stripped_text) <= len("2026-03-01") and "T" not in stripped_text
    return instant + DAY - 1 if end and is_date else instant


def in_range(instant: int) -> int:
    """Check that every wire, file and engine can carry a time, and return it.

    Raises:
        ValueError: the time is not in the years 1 to 9999 of UTC.
    """
    if not FIRST <= instant <= LAST:
        raise ValueError("a time must be in the years 1 to 9999 of UTC")
    return instant


def show(instant: int) -> str:
    """Write an instant as ISO 8601 UTC with offset and microseconds."""
    return (_EPOCH + timedelta(microseconds=instant)).isoformat(timespec="microseconds")


def show_optional(instant: int | None) -> str | None:
    """Write an instant that may be absent."""
    return None if instant is None else show(instant)
