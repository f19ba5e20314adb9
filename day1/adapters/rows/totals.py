"""Totals over the rows of a table: rows by the values of a column, and the bytes of a column."""

from typing import Any

from sqlalchemy import Connection, Select, func, select

from day1.adapters.rows.statements import TableAt, conditions
from day1.model.rows.kind import Cell

Bound = tuple[dict[str, Any], tuple[str, ...]]
"""The values of a query by the names of their conditions, and the columns that must be empty."""


def tally(connection: Connection, table: TableAt, column: str, query: Bound) -> dict[Cell, int]:
    """Count the rows that a query finds by their value of a column."""
    statement = _where(select(table.c[column], func.count()), table, query)
    counted_rows = connection.execute(statement.group_by(table.c[column]), query[0])
    return {value: int(count) for value, count in counted_rows}


def size(connection: Connection, table: TableAt, column: str, query: Bound) -> int:
    """Sum the bytes of a column of the rows that a query finds."""
    length = func.length if connection.dialect.name == "mysql" else func.octet_length  # in bytes
    statement = _where(select(func.sum(length(table.c[column]))), table, query)
    return int(connection.execute(statement, query[0]).scalar() or 0)


def _where(statement: Select[Any], table: TableAt, query: Bound) -> Select[Any]:
    values, null_columns = query
    return statement.select_from(table.table).where(*conditions(table, null_columns, tuple(values)))
