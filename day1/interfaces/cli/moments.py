"""Parse and print the times that people type; operations take ISO 8601 only."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from day1.model.values.instant import DAY, SECOND, parse, show

_AGO = re.compile(r"(\d{1,9})\s*([smhdw])(?:\s+ago)?", re.IGNORECASE)
_UNITS: Final = {
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3_600 * SECOND,
    "d": DAY,
    "w": 7 * DAY,
}
_FRACTION = re.compile(r"[.,]\d+")
_WHOLE_SECOND: Final = len("2026-03-01T10:00:00")
_WHOLE_MINUTE: Final = len("2026-03-01T10:00")


def moment(text: str, now: int, *, end: bool = False) -> str:
    """Parse `now`, `10m`, `2h ago`, `3d`, `1w` or an ISO time into ISO 8601.

    `2026-03-01`, `2026-03-01T10:00` and `2026-03-01T10:00:07` mean their first instant, or with
    `end` their last: "as of" a time that day1 printed then includes the row it was printed beside.

    Raises:
        InvalidRequest: the text is none of these.
    """
    stripped_text = text.strip()
    if stripped_text.lower() == "now":
        return show(now)
    ago_match = _AGO.fullmatch(stripped_text)
    if ago_match is not None:
        return show(max(0, now - int(ago_match[1]) * _UNITS[ago_match[2].lower()]))
    instant = parse(stripped_text, end=end)
    return show(instant + _to_end_of_unit(stripped_text) if end else instant)


def _to_end_of_unit(text: str) -> int:
    """Return the microseconds from the first to the last instant of an ISO second or minute."""
    without_zone = re.sub(r"(?:Z|[+-]\d\d:?\d\d(?::?\d\d)?)$", "", text, flags=re.IGNORECASE)
    if _FRACTION.search(without_zone) or ":" not in without_zone:
        return 0
    return {_WHOLE_SECOND: SECOND - 1, _WHOLE_MINUTE: 60 * SECOND - 1}.get(len(without_zone), 0)


def brief(iso: str) -> str:
    """Return an ISO time to the second in UTC, which `moment` parses: 2026-03-01T10:00:07Z."""
    utc_time = datetime.fromisoformat(iso).astimezone(UTC).replace(tzinfo=None)
    return f"{utc_time.isoformat(timespec='seconds')}Z"


def day(iso: str) -> str:
    """Return the day of an ISO time, in UTC."""
    return brief(iso)[: len("2026-03-01")]


def since(instant: int, now: int) -> str:
    """Say how long ago an instant was, such as `2 hours ago`."""
    age = timedelta(microseconds=max(0, now - instant))
    age_seconds = int(age.total_seconds())
    for unit_name, unit_seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if age_seconds >= unit_seconds:
            unit_count = age_seconds // unit_seconds
            return f"{unit_count} {unit_name}{'' if unit_count == 1 else 's'} ago"
    return "just now"
