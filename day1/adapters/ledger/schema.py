"""The schema of a ledger: make, upgrade and check its tables, recognize other programs' tables."""

from sqlalchemy import Connection, bindparam, update

from day1.adapters.ledger.statements import selecting
from day1.adapters.ledger.tables import (
    BRANCHES,
    OLDEST,
    SUM,
    TABLES,
    VERSION,
    is_changed,
    metadata,
    refuse_later,
    sum_of,
)
from day1.adapters.rows.ownership import Columns, columns, columns_of, foreign, tables


def make_tables(connection: Connection, version: int, where: str, marks: Columns) -> None:
    """Make missing tables and columns of a ledger; nothing is ever dropped.

    Args:
        connection: to the ledger's database, in a transaction.
        version: the one that it says it has, 0 if none.
        where: names it in messages.
        marks: the table that says so, if there is one.

    Raises:
        ForeignStore: it has tables that are another program's.
    """
    columns_by_table = own_tables(connection, version, where, marks)
    missing_tables = [t for t in metadata.sorted_tables if t.name not in columns_by_table]
    metadata.create_all(connection, missing_tables, checkfirst=False)
    for table in metadata.tables.values():
        for column in table.columns:
            if column.name not in columns_by_table.get(table.name, table.columns):
                column_type = column.type.compile(connection.dialect)
                column_name = connection.dialect.identifier_preparer.quote(column.name)
                connection.exec_driver_sql(
                    f"ALTER TABLE {table.name} ADD {column_name} {column_type}"
                )
    if connection.dialect.name == "sqlite":  # only there checksums are compared
        _add_sums(connection, columns_by_table)


def _add_sums(connection: Connection, existing: Columns) -> None:
    """Add checksums to rows that an earlier version of day1 wrote without, in existing tables."""
    for kind, table in TABLES.items():
        if table.name not in existing:
            continue
        rows = connection.execute(selecting(kind).where(table.c[SUM].is_(None))).all()
        checksum_rows = [{"row": row.id, "sum": sum_of(kind, row)} for row in rows]
        if checksum_rows:
            update_statement = update(table).where(table.c.id == bindparam("row"))
            connection.execute(update_statement.values({SUM: bindparam("sum")}), checksum_rows)


def own_tables(
    connection: Connection, version: int, where: str, marks: Columns | None = None
) -> Columns:
    """Return the columns of a ledger's existing tables, after checking that they are day1's.

    Tables of an earlier day1 may lack columns with a default and no others; tables of a later day1
    may have more columns. Other tables beside a ledger are ignored.

    Args:
        connection: to the ledger's database.
        version: the one that it says it has, 0 if none.
        where: names it in messages.
        marks: the table that says so, if there is one.

    Raises:
        ForeignStore: it has tables that are another program's.
    """
    table_names, marks = tables(connection), marks or {}
    oldest_columns, newest_columns = {**OLDEST, **marks}, {**columns_of(metadata), **marks}
    columns_by_table = {
        table_name: columns(connection, table_name)
        for table_name in table_names & oldest_columns.keys()
    }
    foreign_names = {
        table_name
        for table_name, present_columns in columns_by_table.items()
        if not oldest_columns[table_name] <= present_columns
        or (version <= VERSION and present_columns - newest_columns[table_name])
    }
    if not version or BRANCHES.name not in columns_by_table:
        foreign_names |= table_names - columns_by_table.keys()
    if foreign_names:
        raise foreign(where, foreign_names)
    return columns_by_table


def faults(connection: Connection, name: str, *, has_sums: bool) -> list[str]:
    """Read every row, and every page and checksum of a file; return the problems found.

    Args:
        connection: a connection to the ledger.
        name: the ledger's name in errors.
        has_sums: whether the ledger is a file, whose rows have checksums that count.

    Raises:
        StoreVersionUnknown: a later day1 has upgraded the file.
    """
    problems = []
    if has_sums:
        refuse_later(connection, name)
        check_lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
        problems = [str(check_line) for check_line in check_lines if check_line != "ok"]
    for kind, table in TABLES.items():
        rows = connection.execute(selecting(kind)).all()
        changed_count = has_sums and sum(is_changed(kind, row) for row in rows)
        if changed_count:
            problems.append(f"{changed_count} of {len(rows)} rows of {table.name} were changed")
    return problems
