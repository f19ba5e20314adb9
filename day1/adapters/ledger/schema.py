"""The tables of a ledger: made, brought up to date, and told from those of other programs."""

from sqlalchemy import Connection, bindparam, select, update

from day1.adapters.ledger.tables import (
    BRANCHES,
    OLDEST,
    SUM,
    TABLES,
    VERSION,
    metadata,
    sum_of,
)
from day1.adapters.rows.ownership import Columns, columns, columns_of, foreign, tables


def make_tables(connection: Connection, version: int, where: str, marks: Columns) -> None:
    """Make the tables, and the columns of tables, that are missing; nothing is ever dropped.

    Args:
        connection: to the ledger's database, in a transaction.
        version: the one that it says it has, 0 if none.
        where: names it in messages.
        marks: the table that says so, if there is one.

    Raises:
        ForeignStore: it has tables that are another program's.
    """
    there = own_tables(connection, version, where, marks)
    metadata.create_all(connection)
    for table in metadata.tables.values():
        for column in table.columns:
            if column.name not in there.get(table.name, table.columns):
                kind = column.type.compile(connection.dialect)
                name = connection.dialect.identifier_preparer.quote(column.name)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD {name} {kind}")
    if connection.dialect.name == "sqlite":  # where they are compared
        _add_sums(connection)


def _add_sums(connection: Connection) -> None:
    """Give rows that an earlier version of day1 wrote their checksums."""
    for kind, table in TABLES.items():
        rows = connection.execute(select(table).where(table.c[SUM].is_(None))).all()
        sums = [{"row": row.id, "sum": sum_of(kind, row)} for row in rows]
        if sums:
            of_row = update(table).where(table.c.id == bindparam("row"))
            connection.execute(of_row.values({SUM: bindparam("sum")}), sums)


def own_tables(
    connection: Connection, version: int, where: str, marks: Columns | None = None
) -> Columns:
    """A ledger's tables as they are there, if they are day1's: a mark alone could be anybody's.

    What an earlier day1 made lacks columns that have a default, and no others. What a later one
    made may have more. Beside a ledger there may be other tables, which are left alone.

    Args:
        connection: to the ledger's database.
        version: the one that it says it has, 0 if none.
        where: names it in messages.
        marks: the table that says so, if there is one.

    Raises:
        ForeignStore: it has tables that are another program's.
    """
    there, marks = tables(connection), marks or {}
    oldest, newest = {**OLDEST, **marks}, {**columns_of(metadata), **marks}
    found = {name: columns(connection, name) for name in there & oldest.keys()}
    strange = {
        name
        for name, has in found.items()
        if not oldest[name] <= has or (version <= VERSION and has - newest[name])
    }
    if not version or BRANCHES.name not in found:
        strange |= there - found.keys()
    if strange:
        raise foreign(where, strange)
    return found
