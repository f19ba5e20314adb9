"""How long a memory is true and answered, and whether it is secret, from a caller's words."""

from typing import TypedDict

from day1.errors import InvalidRequest
from day1.model.redaction.veil import SECRET
from day1.model.values.instant import NEVER, parse


class ValidTime(TypedDict):
    """When something became true and when it ceased to be (microseconds UTC)."""

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
        InvalidRequest: it ends before it begins.
    """
    start, end = parse_optional(happened_at), parse_optional(valid_until)
    if start is not None and end is not None and end < start:
        raise InvalidRequest("`valid_until` is earlier than `happened_at`: swap them.")
    return {"happened_at": start, "valid_until": end}


def retention(expires_at: str | None, sensitivity: str | None, now: int) -> Retention:
    """Parse when a new row expires, and whether it is secret.

    Raises:
        InvalidRequest: it would be expired already.
    """
    end = parse_optional(expires_at)
    if end is not None and end <= now:
        raise InvalidRequest("`expires_at` is over already: give a later time, or `never`.")
    return {"expires_at": end, "sensitivity": sensitivity_of(sensitivity)}


def sensitivity_of(word: str | None) -> str | None:
    """The sensitivity of a row as its column has it: None for all that is not secret."""
    return SECRET if word == SECRET else None
