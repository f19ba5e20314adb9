"""Stores as they were before schema 2: for tests of what becomes of them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from sqlalchemy import Column, Index, MetaData, String, Table

from day1.adapters.rows.statements import columns_at
from day1.adapters.rows.tables import SCHEMA, TABLES, versioned
from day1.adapters.versioned.dolt import store as dolt
from day1.adapters.versioned.doltlite import store as doltlite
from day1.adapters.versioned.matrixone import store as matrixone
from day1.model.rows.kind import KINDS

NARROW = ("agent_id", "session_id", "task_id")
"""The columns whose texts had at most 64 characters on servers."""


def tables_of_schema_one() -> MetaData:
    """The tables that the first version of the schema had."""
    made = MetaData()
    for kind in KINDS:
        there, table = columns_at(kind, 1), TABLES[kind.table]
        columns = [
            Column(
                name,
                String(64) if name in NARROW else table.c[name].type,
                primary_key=name == "id",
                nullable=True,
            )
            for name in there
        ]
        old = Table(kind.table, made, *columns)
        for index in table.indexes:
            names = [column.name for column in index.columns]
            if set(names) <= set(there):
                Index(index.name, *(old.c[name] for name in names))
    SCHEMA.to_metadata(made)
    assert made.tables.keys() == versioned.tables.keys()
    return made


@contextmanager
def schema_one() -> Iterator[None]:
    """What is made meanwhile is a store of schema 1, with a time of its own in its row."""
    tables, row = tables_of_schema_one(), {"version": 1, "created_at": 1_700_000_000_000_000}
    with ExitStack() as patched:
        for engine in (dolt, doltlite, matrixone):
            patched.enter_context(patch.object(engine, "versioned", tables))
            patched.enter_context(patch.object(engine, "SCHEMA_ROW", row))
        yield
