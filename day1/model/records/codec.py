"""Records, which are plain dataclasses, as JSON and back."""

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar, get_origin, get_type_hints

from day1.errors import Json

T = TypeVar("T")


def to_json(record: object) -> dict[str, Json]:
    """Return the fields of a record as JSON values."""
    values: dict[str, Any] = {f.name: getattr(record, f.name) for f in fields(record)}  # type: ignore[arg-type]  # a dataclass
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def from_json(kind: type[T], values: Mapping[str, Any]) -> T:
    """Build a record of `kind` from its fields as JSON values."""
    list_fields = _lists(kind)  # type: ignore[arg-type]  # a class is hashable
    return kind(**{n: tuple(v) if n in list_fields else v for n, v in values.items()})


@lru_cache(maxsize=64)
def _lists(kind: type) -> frozenset[str]:
    hints = get_type_hints(kind)
    return frozenset(name for name, hint in hints.items() if get_origin(hint) is tuple)
