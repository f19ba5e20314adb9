"""The ledger's tables: one for each kind of record, made from its fields."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints
from zlib import crc32

from sqlalchemy import BigInteger, Boolean, Column, Connection, Index, MetaData, Row, String, Table
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

VERSION: Final = 13
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
    types = [part for part in get_args(hint) or (hint,) if part is not type(None)]
    return types[0] if len(types) == 1 and types[0] in _PLAIN else object


_PLAIN: Final[Mapping[Any, TypeEngine[Any]]] = {str: _TEXT, int: BigInteger(), bool: Boolean()}


def _table(record: type[Record], *more: Column[Any]) -> Table:
    """Build the table of a kind of record, with a column for each field."""
    kind, hints = record.KIND, _hints(record)
    columns = [_column(f.name, hints[f.name], set(kind.keys)) for f in fields(record)]  # type: ignore[arg-type]  # a dataclass
    table = Table(kind.table, metadata, *columns, *more, Column(SUM, BigInteger()))
    for key in kind.keys:
        Index(f"{kind.table}_{key}", table.c[key])
    return table


def _column(name: str, hint: Any, keys: set[str]) -> Column[Any]:
    """Build the column of a field."""
    if name == "id":
        return Column(name, _KEY, primary_key=True)
    kind = _KEY if name in keys else _PLAIN.get(_kept_as(hint), _TEXT)
    return Column(name, kind, nullable=type(None) in get_args(hint))


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


def _read_tuple(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


_FROM_JSON: Final[Mapping[type, Mapping[str, Callable[[str], Any]]]] = {
    kind: {
        name: _read_tuple if get_origin(hint) is tuple else json.loads
        for name, hint in _hints(kind).items()
        if _kept_as(hint) is object
    }
    for kind in TABLES
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
    as_json = _FROM_JSON[type(record)]
    values = {f.name: getattr(record, f.name) for f in fields(record)}  # type: ignore[arg-type]  # a dataclass
    row = {n: canonical(v) if n in as_json else v for n, v in values.items()}
    return {**row, SUM: _sum(row)}


def as_record(kind: type[T], row: Row[Any]) -> T:
    """Convert a row to a record; a column added after the row gets its default."""
    read = _FROM_JSON[kind]
    stored = _fields(kind, row)
    values = {n: v for n, v in stored.items() if v is not None or n not in _DEFAULTED[kind]}
    return kind(**{n: read[n](v) if n in read else v for n, v in values.items()})


def is_changed(kind: type, row: Row[Any]) -> bool:
    """Whether a row's checksum shows that it is not as day1 wrote it."""
    return row._mapping[SUM] not in {None, sum_of(kind, row)}


def sum_of(kind: type, row: Row[Any]) -> int:
    """Compute the checksum of a row."""
    return _sum(_fields(kind, row))


def _fields(kind: type, row: Row[Any]) -> dict[str, Any]:
    return {f.name: row._mapping[f.name] for f in fields(kind)}


def _sum(row: Mapping[str, Any]) -> int:
    """Compute the checksum of the columns with a value, so that a new column does not change it."""
    return crc32(canonical({n: v for n, v in row.items() if v is not None}).encode())


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
        check_version(connection.exec_driver_sql("PRAGMA user_version").scalar_one(), where)
