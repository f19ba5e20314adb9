"""Records, which are plain dataclasses, as JSON and back."""

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar, get_origin, get_type_hints

from day1.errors import Json

T = TypeVar("T")


def to_json(record: object) -> dict[str, Json]:
    """Return the fields of a record as JSON values."""
    record_fields = fields(record)  # type: ignore[arg-type]  # a dataclass
    value_by_name: dict[str, Any] = {
        field.name: getattr(record, field.name) for field in record_fields
    }
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in value_by_name.items()
    }


def from_json(kind: type[T], values: Mapping[str, Any]) -> T:
    """Build a record of `kind` from its fields as JSON values."""
    list_fields = _lists(kind)  # type: ignore[arg-type]  # a class is hashable
    return kind(
        **{name: tuple(value) if name in list_fields else value for name, value in values.items()}
    )


@lru_cache(maxsize=64)
def _lists(kind: type) -> frozenset[str]:
    hint_by_name = get_type_hints(kind)
    return frozenset(name for name, hint in hint_by_name.items() if get_origin(hint) is tuple)
