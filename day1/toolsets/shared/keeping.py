"""How long a memory is true and kept, and how it is handled, as callers say it."""

from typing import TypedDict

from day1.call.context import Context
from day1.errors import InvalidRequest
from day1.model.redaction.veil import SECRET
from day1.model.values.instant import NEVER, parse


class ValidTime(TypedDict):
    """When something became true and when it ceased to be (microseconds UTC)."""

    happened_at: int | None
    valid_until: int | None


class Kept(TypedDict):
    """When a row expires (microseconds UTC), and its sensitivity, as its columns have them."""

    expires_at: int | None
    sensitivity: str | None


def instant(text: str | None) -> int | None:
    """A time that a caller may have given; the end of what has none is none."""
    return None if text is None or text == NEVER else parse(text)


def valid_time(happened_at: str | None, valid_until: str | None) -> ValidTime:
    """The valid time of a row.

    Raises:
        InvalidRequest: it ends before it begins.
    """
    start, end = instant(happened_at), instant(valid_until)
    if start is not None and end is not None and end < start:
        raise InvalidRequest("`valid_until` is earlier than `happened_at`: swap them.")
    return {"happened_at": start, "valid_until": end}


def kept(ctx: Context, expires_at: str | None, sensitivity: str | None) -> Kept:
    """How a new row is kept.

    Raises:
        InvalidRequest: it would be expired already.
    """
    end = instant(expires_at)
    if end is not None and end <= ctx.clock():
        raise InvalidRequest("`expires_at` is over already: give a later time, or `never`.")
    return {"expires_at": end, "sensitivity": SECRET if sensitivity == SECRET else None}
