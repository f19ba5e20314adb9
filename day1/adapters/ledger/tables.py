"""The ledger's tables: one for each kind of record, made from its fields."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints
from zlib import crc32

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    MetaData,
    String,
    Table,
)
from sqlalchemy.types import TypeEngine

from day1.adapters.rows.ownership import Columns
from day1.adapters.rows.tables import UnboundedText
from day1.errors import StoreVersionUnknown
from day1.model.branches.branch import Branch
from day1.model.catalogue import RECORDS
from day1.model.lessons.rating import Rating
from day1.model.rows.kind import canonical
from day1.model.values.record_kind import Record

T = TypeVar("T")

VERSION: Final = 16
"""The version of the ledger's tables; raise it with each new table or column."""
metadata = MetaData()
SUM: Final = "row_sum"
"""The column with a row's checksum; NULL in rows that an earlier day1 wrote. It is compared only in
SQLite, which has no checksums of its own: on a server, a row that an administrator mended by hand
stays usable."""
_KEY: Final = String(255)
_TEXT: Final = UnboundedText()
_hints = cache(get_type_hints)


def _kept_as(hint: Any) -> type:
    """Return the type in which a field is stored: `str`, `int`, `bool`, or `object` for JSON."""
    if get_origin(hint) is Literal:
        return str
    value_types = [argument for argument in get_args(hint) or (hint,) if argument is not type(None)]
    return value_types[0] if len(value_types) == 1 and value_types[0] in _PLAIN else object


_PLAIN: Final[Mapping[Any, TypeEngine[Any]]] = {str: _TEXT, int: BigInteger(), bool: Boolean()}


def _table(record: type[Record], *more: Column[Any]) -> Table:
    """Build the table of a kind of record, with a column for each field."""
    kind, type_hints = record.KIND, _hints(record)
    names = [record_field.name for record_field in fields(record)]  # type: ignore[arg-type]  # a dataclass
    columns = [_column(name, type_hints[name], set(kind.keys)) for name in names]
    table = Table(kind.table, metadata, *columns, *more, Column(SUM, BigInteger()))
    for key in kind.keys:
        Index(f"{kind.table}_{key}", table.c[key])
    return table


def _column(name: str, hint: Any, keys: set[str]) -> Column[Any]:
    """Build the column of a field."""
    if name == "id":
        return Column(name, _KEY, primary_key=True)
    column_type = _KEY if name in keys else _PLAIN.get(_kept_as(hint), _TEXT)
    return Column(name, column_type, nullable=type(None) in get_args(hint))


BRANCHES: Final = _table(Branch, Column("folded", String(100), nullable=False, unique=True))
TABLES: Final[Mapping[type, Table]] = {
    record: BRANCHES if record is Branch else _table(record) for record in RECORDS
}
Index("ratings_created_at", TABLES[Rating].c.created_at)
HEADS: Final = Table(
    "heads",
    metadata,
    Column("key", _KEY, primary_key=True),
    Column("branch_id", _KEY, nullable=False),
)


FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    kind: tuple(f.name for f in fields(kind)) for kind in TABLES
}
"""The names of each kind's fields, in their order."""
_FLAGS: Final[Mapping[type, tuple[str, ...]]] = {
    kind: tuple(name for name in names if _kept_as(_hints(kind)[name]) is bool)
    for kind, names in FIELDS.items()
}
"""The fields that are booleans; the drivers return them as integers."""


def _read_tuple(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


_FROM_JSON: Final[Mapping[type, Mapping[str, Callable[[str], Any]]]] = {
    kind: {
        name: _read_tuple if get_origin(_hints(kind)[name]) is tuple else json.loads
        for name in names
        if _kept_as(_hints(kind)[name]) is object
    }
    for kind, names in FIELDS.items()
}
"""The fields that are stored as JSON, each with the function that parses it."""
_DEFAULTED: Final = {
    kind: frozenset(f.name for f in fields(kind) if f.default is not MISSING) for kind in TABLES
}

OLDEST: Final[Columns] = {
    HEADS.name: frozenset(HEADS.columns.keys()),
    **{
        table.name: frozenset(table.columns.keys()) - _DEFAULTED[kind] - {SUM}
        for kind, table in TABLES.items()
    },
}
"""Columns that every version of a table has; all later columns have a default."""


def as_row(record: object) -> dict[str, Any]:
    """Convert a record to a row of its table."""
    row = _columns_of(record)
    return {**row, SUM: _sum(row)}


def is_row_of(record: object, row: Sequence[Any]) -> bool:
    """Whether columns that `selecting` read are those of a record as they are written now."""
    return record is not None and [*row[:-1]] == [*_columns_of(record).values()]


def _columns_of(record: object) -> dict[str, Any]:
    """Return the columns of a record's row, without the checksum."""
    kind = type(record)
    row = {name: getattr(record, name) for name in FIELDS[kind]}
    return row | {name: canonical(row[name]) for name in _FROM_JSON[kind]}


def as_record(kind: type[T], row: Sequence[Any], *, checked: bool) -> T | None:
    """Convert what `selecting` reads to a record; a column added after it gets its default.

    Args:
        kind: the kind of the record.
        row: its columns, and the checksum.
        checked: whether to compare the checksum: None if the row is not as day1 wrote it.
    """
    field_values = _fields(kind, row)
    if checked and row[-1] not in {None, _sum(field_values)}:
        return None
    for name in _DEFAULTED[kind]:
        if field_values[name] is None:
            del field_values[name]
    for name, parse_json in _FROM_JSON[kind].items():
        if name in field_values:
            field_values[name] = parse_json(field_values[name])
    return kind(**field_values)


def is_changed(kind: type, row: Sequence[Any]) -> bool:
    """Whether the checksum of what `selecting` reads shows that it is not as day1 wrote it."""
    return row[-1] not in {None, sum_of(kind, row)}


def sum_of(kind: type, row: Sequence[Any]) -> int:
    """Compute the checksum of what `selecting` reads."""
    return _sum(_fields(kind, row))


def _fields(kind: type, row: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of what `selecting` reads, by name and without the checksum."""
    field_values: dict[str, Any] = dict(zip(FIELDS[kind], row, strict=False))
    for name in _FLAGS[kind]:
        if field_values[name] is not None:
            field_values[name] = bool(field_values[name])
    return field_values


def _sum(row: Mapping[str, Any]) -> int:
    """Compute the checksum of the columns with a value, so that a new column does not change it."""
    return crc32(
        canonical({name: value for name, value in row.items() if value is not None}).encode()
    )


def check_version(version: int, where: str) -> None:
    """Make sure that this day1 knows the tables of a ledger.

    Raises:
        StoreVersionUnknown: a later day1 made the tables.
    """
    if version > VERSION:
        raise StoreVersionUnknown(
            f"{where} has version {version}, this day1 reads up to {VERSION}: install a newer "
            "day1, start whatever uses the store anew, and try again.",
            version=version,
        )


def refuse_later(connection: Connection, where: str) -> None:
    """Make sure that no later day1 has upgraded the file since it was opened.

    Rows of a later day1 may have columns unknown here: their checksums look wrong, and writing a
    record would lose them.

    Raises:
        StoreVersionUnknown: a later day1 has upgraded the file.
    """
    if connection.dialect.name == "sqlite":
        driver_connection: Any = connection.connection.driver_connection
        check_version(driver_connection.execute("PRAGMA user_version").fetchone()[0], where)
