"""The versioned tables, defined once for all engines.

A table has a primary key and no other unique key. It has no foreign keys, since a merge would leave
violations, and secondary indexes only where a query needs them. No column is NOT NULL: after a
merge the engine would check such a column over the whole table (20 ms and more at 100,000 rows).
The models refuse missing values before they come here.
"""

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import BigInteger, Column, Dialect, Float, Index, MetaData, String, Table, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql import quoted_name
from sqlalchemy.types import TypeEngine

from day1.model.rows.column import Column as Described
from day1.model.rows.column import ColumnType
from day1.model.rows.kind import KINDS, Kind

SCHEMA_VERSION = 3
SCHEMA_ROW = {"version": SCHEMA_VERSION, "created_at": 0}
"""The row that marks a state as having this version's tables. A constant: two branches that step
apart merge, which they would not if each row had a time of its own."""

INDEXED_BY_TIME = 3
"""The schema version that added the indexes by time and by expiry."""
SINCE = "since"
"""The entry of an index's `info` with the schema version that added it; without: the first."""
BY_TIME = ("happened_at", "created_at", "id")
"""The order of rows in time, as an index has it. Rows without `happened_at` stand together in it,
in the order in which they were learned."""
_YOUNGER_INDEXES = {"time": BY_TIME, "expires_at": ("expires_at",)}
"""The indexes that version 3 added to the tables that have all of their columns, by the end of
their names. By `expires_at`, the rows that expired are counted without reading all others. In
a file that index has only the rows that expire, so it costs the others nothing; servers have no
such indexes."""

_WORDS_OF_ENGINES = frozenset({"vector"})

versioned = MetaData()


class UnboundedText(Text):
    """Text of any length, also on servers, where a `TEXT` ends at 64 KB."""


class Real(Float[float]):
    """A float of 64 bits, also on servers, where a `FLOAT` has 32."""


# What is special on servers is said here and not to SQLAlchemy's types and tables, which import the
# servers' dialects for that: a fifth of the start of a command.


@compiles(UnboundedText, "mysql")
def _long_text(*_: Any, **__: Any) -> str:
    return "LONGTEXT"


@compiles(Real, "mysql")
def _real(*_: Any, **__: Any) -> str:
    return "DOUBLE"


_collations: WeakKeyDictionary[Dialect, str] = WeakKeyDictionary()
"""The collations of `set_collation`, by dialect."""


def set_collation(dialect: Dialect, name: str) -> None:
    """Name the collation by which a server compares the bytes of texts, if it is another one.

    In MySQL `utf8mb4_bin` does not count spaces at the end of a text, and `utf8mb4_0900_bin` does.
    MatrixOne counts them in `utf8mb4_bin`, and its newer versions refuse the other name.
    """
    _collations[dialect] = name


@compiles(CreateTable, "mysql")
def _by_bytes(table: CreateTable, compiler: Any, **options: Any) -> str:
    """Compare texts by their bytes, as SQLite does."""
    create_statement = str(compiler.visit_create_table(table, **options)).rstrip()
    collation = _collations.get(compiler.dialect, "utf8mb4_0900_bin")
    return f"{create_statement} CHARSET=utf8mb4 COLLATE={collation}"


_TYPES: dict[ColumnType, TypeEngine[Any]] = {
    "id": String(64),
    "label": String(255),
    "text": UnboundedText(),
    "json": UnboundedText(),
    "time": BigInteger(),
    "real": Real(),
}


def quoted(name: str) -> str:
    """Quote a column's name where needed: SQLAlchemy does not know every reserved word."""
    return quoted_name(name, quote=True) if name in _WORDS_OF_ENGINES else name


def _column(column: Described) -> Column[Any]:
    # An engine keeps a key from being null by itself; DoltLite checks each after a merge even so.
    name = quoted(column.name)
    return Column(name, _TYPES[column.type], primary_key=column.name == "id", nullable=True)


def _table(kind: Kind) -> Table:
    columns = kind.column.values()
    table = Table(kind.table, versioned, *map(_column, columns))
    indexed_columns = [
        (column.name, column.indexed_with)
        for column in columns
        if column.indexed or column.indexed_with
    ]
    for first_column, second_column in (
        *indexed_columns,
        *((name, None) for name in kind.origin_indexes),
    ):
        names = [name for name in (first_column, second_column) if name is not None]
        Index(f"{kind.table}_{'_'.join(names)}", *(table.c[name] for name in names))
    for name_ending, names_in_order in _YOUNGER_INDEXES.items():
        if set(names_in_order) <= kind.column.keys():
            index_columns = [table.c[name] for name in names_in_order]
            partial_condition = (
                index_columns[0].is_not(None) if name_ending == "expires_at" else None
            )
            Index(
                f"{kind.table}_{name_ending}",
                *index_columns,
                info={SINCE: INDEXED_BY_TIME},
                sqlite_where=partial_condition,
            )
    return table


TABLES = {kind.table: _table(kind) for kind in KINDS}


def _narrow(kind: Kind) -> frozenset[str]:
    indexed_names = {
        column.name for column in kind.column.values() if column.indexed or column.indexed_with
    }
    return frozenset({"id", *kind.origin_indexes, *indexed_names} - {"space"})


NARROW = {kind.table: _narrow(kind) for kind in KINDS if set(BY_TIME) <= kind.column.keys()}
"""By table with an index on time, the columns whose own index finds fewer rows: those of a session,
a task or a conversation. A space can have most rows of a table."""

SCHEMA = Table(
    "schema",
    versioned,
    Column("version", BigInteger(), primary_key=True, autoincrement=False),
    Column("created_at", BigInteger(), nullable=False),
)
"""One row per version of the schema that the state has been stepped to."""
