"""The versioned tables, once for all engines.

A primary key and nothing else unique, no foreign keys (a merge would leave violations),
secondary indexes where a query needs them. Nothing is NOT NULL either: after a merge the engine
checks such a column over the whole table (20 ms and more at 100,000 rows), and the models refuse
what is missing before it comes here.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, Float, Index, MetaData, String, Table, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateTable
from sqlalchemy.types import TypeEngine

from day1.model.rows.kind import KINDS

SCHEMA_VERSION = 1

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


@compiles(CreateTable, "mysql")
def _by_bytes(table: CreateTable, compiler: Any, **options: Any) -> str:
    """Texts differ if their bytes do, as in SQLite."""
    created = str(compiler.visit_create_table(table, **options)).rstrip()
    return f"{created} CHARSET=utf8mb4 COLLATE=utf8mb4_0900_bin"


_ID = String(64)
_TYPES: dict[str, TypeEngine[Any]] = {
    "confidence": Real(),
    "created_at": BigInteger(),
    "happened_at": BigInteger(),
}
_IDS = {"agent_id", "session_id", "task_id", "origin_id", "row_id", "closes", "superseded_by"}
_IDS |= {"conversation_id", "previous_id", "content_hash", "merge_id", "source_commit"}
_LONG = {"fact_text", "summary", "raw_input", "raw_output", "properties", "scores", "content"}
_LONG |= {"thinking", "tool_calls", "ours", "theirs", "reason", "title"}
_INDEXED: dict[str, tuple[str | tuple[str, ...], ...]] = {
    "facts": ("content_hash", "session_id", "task_id", "created_at"),
    "observations": ("content_hash", "session_id", "task_id", "created_at"),
    "relations": ("source_entity", "target_entity", "session_id", "created_at"),
    "conversations": ("session_id", "created_at"),
    # A conversation's newest message is what a new one looks for first.
    "messages": (
        "content_hash",
        ("conversation_id", "created_at"),
        "session_id",
        "task_id",
        "created_at",
    ),
    "edits": ("row_id",),
    "held": ("row_id",),
}


def _column(name: str) -> Column[Any]:
    if name == "id":
        # The engine keeps a key from being null by itself, at no cost.
        return Column(name, _ID, primary_key=True, nullable=True)
    kind: TypeEngine[Any] = _TYPES.get(name) or (
        _ID if name in _IDS else UnboundedText() if name in _LONG else String(255)
    )
    return Column(name, kind)


TABLES = {kind.table: Table(kind.table, versioned, *map(_column, kind.columns)) for kind in KINDS}
for _table, _indexes in _INDEXED.items():
    for _index in _indexes:
        _names = (_index,) if isinstance(_index, str) else _index
        Index(f"{_table}_{'_'.join(_names)}", *(TABLES[_table].c[_name] for _name in _names))

SCHEMA = Table(
    "schema",
    versioned,
    Column("version", BigInteger(), primary_key=True, autoincrement=False),
    Column("created_at", BigInteger(), nullable=False),
)
"""One row per version of the schema that the state has been stepped to."""
