"""The statements over records, which are built once for each kind."""

from typing import Any

from sqlalchemy import (
    Delete,
    Insert,
    Select,
    Table,
    Update,
    bindparam,
    delete,
    insert,
    select,
    update,
)

from day1.adapters.ledger.tables import FIELDS, SUM, TABLES


def selecting(kind: type) -> Select[Any]:
    """Return the statement that reads records: their fields, then the checksum."""
    table = TABLES[kind]
    return select(*(table.c[name] for name in (*FIELDS[kind], SUM)))


def selecting_by(kind: type, names: tuple[str, ...]) -> Select[Any]:
    """Return the statement that reads the records with given values, oldest first."""
    table = TABLES[kind]
    conditions = [table.c[name] == bindparam(name) for name in names]
    return selecting(kind).where(*conditions).order_by(table.c.created_at, table.c.id)


def inserting(table: Table) -> Insert:
    """Return the statement that inserts a row."""
    return insert(table).values({column.name: bindparam(column.name) for column in table.columns})


def updating(table: Table) -> Update:
    """Return the statement that replaces the row of an id."""
    new_values: dict[str, Any] = {
        column.name: bindparam(column.name) for column in table.columns if column.name != "id"
    }
    return update(table).where(table.c.id == bindparam("id")).values(new_values)


def deleting(table: Table, key: str) -> Delete:
    """Return the statement that deletes the row with a given key."""
    return delete(table).where(table.c[key] == bindparam(key))
