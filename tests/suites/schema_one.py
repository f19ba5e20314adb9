"""Stores of earlier schemas: for tests of what becomes of them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from sqlalchemy import Column, Index, MetaData, String, Table

from day1.adapters.rows.statements import columns_at
from day1.adapters.rows.tables import SCHEMA, SINCE, TABLES, quoted, versioned
from day1.adapters.versioned.dolt import store as dolt
from day1.adapters.versioned.doltlite import store as doltlite
from day1.adapters.versioned.matrixone import store as matrixone
from day1.model.rows.kind import KINDS

NARROW = ("agent_id", "session_id", "task_id")
"""The columns whose texts had at most 64 characters on servers."""


def tables_of(version: int) -> MetaData:
    """The tables that an earlier version of the schema had."""
    made = MetaData()
    for kind in KINDS:
        there, table = columns_at(kind, version), TABLES[kind.table]
        narrow = NARROW if version == 1 else ()
        columns = [
            Column(
                quoted(name),
                String(64) if name in narrow else table.c[name].type,
                primary_key=name == "id",
                nullable=True,
            )
            for name in there
        ]
        old = Table(kind.table, made, *columns)
        for index in table.indexes:
            names = [column.name for column in index.columns]
            if index.info.get(SINCE, 1) <= version and set(names) <= set(there):
                Index(index.name, *(old.c[name] for name in names))
    SCHEMA.to_metadata(made)
    assert made.tables.keys() == versioned.tables.keys()
    return made


@contextmanager
def schema_one(version: int = 1) -> Iterator[None]:
    """What is made meanwhile is a store of schema 1, or of another earlier one.

    That of schema 1 has a time of its own in its row.
    """
    created_at = 1_700_000_000_000_000 if version == 1 else 0
    tables, row = tables_of(version), {"version": version, "created_at": created_at}
    with ExitStack() as patched:
        for engine in (dolt, doltlite, matrixone):
            patched.enter_context(patch.object(engine, "versioned", tables))
            patched.enter_context(patch.object(engine, "SCHEMA_ROW", row))
        yield
