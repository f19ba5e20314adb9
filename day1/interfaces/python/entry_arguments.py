"""The arguments of an entry, as operations take them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from day1.errors import InvalidRequest
from day1.interfaces.python.handle import plain
from day1.interfaces.python.options import SpaceName
from day1.model.contexts.content import as_value
from day1.model.contexts.keyed import value_too_large
from day1.model.values.parts import TooLong


def place(key: str, space: SpaceName | None) -> dict[str, Any]:
    """Return the place of an entry."""
    return plain({"key": key, "space": space})


def new_entry(
    key: str,
    value: Mapping[str, Any],
    space: SpaceName | None,
    ttl: float | timedelta | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return an entry to put.

    Raises:
        InvalidRequest: the value is no JSON.
        ValueTooLarge: it is longer than an entry may be.
    """
    given: object = value  # callers without a type checker may give anything
    as_dict = dict(given) if isinstance(given, Mapping) else given
    try:
        as_value(as_dict)
    except TooLong as exc:
        raise value_too_large(str(key), exc.length) from exc
    except ValueError as exc:
        raise InvalidRequest(
            f"value: {exc}.", problems=[{"argument": "value", "problem": str(exc)}]
        ) from exc
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    return {**place(key, space), "value": as_dict, **plain({"ttl_seconds": seconds, **options})}
