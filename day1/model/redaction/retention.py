"""Parse a caller's words for the valid time, the expiry and the sensitivity of a memory."""

import re
from collections.abc import Mapping
from typing import Final, TypedDict

from day1.errors import InvalidRequest
from day1.model.redaction.veil import SECRET
from day1.model.values.instant import DAY, LAST, NEVER, SECOND, parse

_SPAN: Final = re.compile(r"\s*([0-9]{1,6})\s*([mhdw])\s*", re.IGNORECASE)
_UNITS: Final[Mapping[str, int]] = {
    "m": 60 * SECOND,
    "h": 3_600 * SECOND,
    "d": DAY,
    "w": 7 * DAY,
}


class ValidTime(TypedDict):
    """When a memory became true and when it ceased to be true (microseconds UTC)."""

    happened_at: int | None
    valid_until: int | None


class Retention(TypedDict):
    """When a row expires (microseconds UTC), and its sensitivity, as its columns have them."""

    expires_at: int | None
    sensitivity: str | None


def parse_optional(text: str | None) -> int | None:
    """Parse an optional time; `never` means no end."""
    return None if text is None or text == NEVER else parse(text)


def valid_time(happened_at: str | None, valid_until: str | None) -> ValidTime:
    """Parse the valid time of a row.

    Raises:
        InvalidRequest: the valid time ends before it begins.
    """
    start, end = parse_optional(happened_at), parse_optional(valid_until)
    if start is not None and end is not None and end < start:
        raise InvalidRequest("`valid_until` is earlier than `happened_at`: swap them.")
    return {"happened_at": start, "valid_until": end}


def retention(expires_at: str | None, sensitivity: str | None, now: int) -> Retention:
    """Parse when a new row expires, and whether it is secret.

    Raises:
        InvalidRequest: the row would be expired already.
    """
    expiry = parse_optional(expires_at)
    if expiry is not None and expiry <= now:
        raise InvalidRequest("`expires_at` is in the past: give a later time, or `never`.")
    return {"expires_at": expiry, "sensitivity": sensitivity_of(sensitivity)}


def end_of_span(word: str | None, now: int) -> int | None:
    """Read when a memory expires from a span such as `12h`, `7d` or `4w`; None for other words.

    Raises:
        ValueError: the span is zero, or ends after the year 9999.
    """
    span_match = None if word is None else _SPAN.fullmatch(word)
    if span_match is None:
        return None
    span_length = int(span_match[1]) * _UNITS[span_match[2].lower()]
    if not 0 < span_length <= LAST - now:
        raise ValueError("must be longer than zero, and end before the year 10000")
    return now + span_length


def sensitivity_of(word: str | None) -> str | None:
    """Return the value of the column `sensitivity` for a caller's word: `secret`, else None."""
    return SECRET if word == SECRET else None
