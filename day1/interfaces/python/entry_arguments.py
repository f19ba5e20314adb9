"""The arguments of an entry, as operations take them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from day1.errors import InvalidRequest
from day1.interfaces.python.handle import plain
from day1.interfaces.python.options import SpaceName
from day1.model.contexts.content import JsonTooLong, as_value
from day1.model.contexts.keyed import value_too_large


def place(key: str, space: SpaceName | None) -> dict[str, Any]:
    """Return the arguments that name an entry: its key and its space."""
    return plain({"key": key, "space": space})


def json_of(key: str, value: Mapping[str, Any]) -> str:
    """Check the value of an entry, and return its JSON.

    Raises:
        InvalidRequest: the value is no JSON.
        ValueTooLarge: it is longer than an entry may be.
    """
    try:
        return as_value(_as_object(value))
    except JsonTooLong as exc:
        raise value_too_large(str(key), exc.length) from exc
    except ValueError as exc:
        raise InvalidRequest(
            f"value: {exc}.", problems=[{"argument": "value", "problem": str(exc)}]
        ) from exc


def new_entry(
    key: str,
    value: Mapping[str, Any],
    space: SpaceName | None,
    ttl: float | timedelta | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the arguments that put an entry, whose value `json_of` has checked."""
    ttl_seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    return {
        **place(key, space),
        "value": _as_object(value),
        **plain({"ttl_seconds": ttl_seconds, **options}),
    }


def _as_object(value: object) -> Any:
    """Return any mapping as a `dict`; callers without a type checker may give anything else."""
    return dict(value) if isinstance(value, Mapping) else value
