"""Checks that the fakes make of what is written, as the tables of engines do."""

from dataclasses import fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from day1.model.rows.kind import Cell, Kind, Row

_TYPES: dict[str, tuple[type, ...]] = {"time": (int,), "real": (int, float)}


def _has_type(value: object, wanted: Any) -> bool:
    origin = get_origin(wanted)
    if origin in {Union, UnionType}:
        return any(_has_type(value, one) for one in get_args(wanted))
    if origin is Literal:
        return value in get_args(wanted)
    plain = wanted if origin is None else origin
    return not isinstance(plain, type) or isinstance(value, plain)


def check_record(record: Any) -> None:
    """Check that each field of a record has its type: no table of the ledger takes another."""
    types = get_type_hints(type(record))
    for field in fields(record):
        value = getattr(record, field.name)
        assert _has_type(value, types[field.name]), (field.name, value)


def check_row(kind: Kind, row: Row) -> None:
    """Check that the cells of a row are of its columns, each with a value of its type."""
    for name, cell in row.items():
        assert name in kind.column, f"{kind.table} has no column {name}"
        assert _may_have(kind, name, cell), (name, cell)


def _may_have(kind: Kind, name: str, cell: Cell) -> bool:
    column = kind.column[name]
    if cell is None:
        return not column.required
    return isinstance(cell, _TYPES.get(column.type, (str,)))
