"""Tell which program made a database's tables: day1 makes none beside those of another.

day1 never drops a table, and alters only what an earlier day1 made.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, MetaData

from day1.errors import ForeignStore, StoreDamaged

Columns = Mapping[str, frozenset[str]]
"""The names of columns, by table."""


def columns_of(metadata: MetaData) -> Columns:
    """Return the columns that day1 gives its tables, by the table's name."""
    return {name: frozenset(table.columns.keys()) for name, table in metadata.tables.items()}


def tables(connection: Connection) -> set[str]:
    """Return the names of the tables and views of a connection's database, whoever made them.

    SQLAlchemy's inspector would ask for those of a Dolt branch by another name.
    """
    tables_query = "SHOW TABLES" if connection.dialect.name == "mysql" else _IN_A_FILE
    return {str(name) for name in connection.exec_driver_sql(tables_query).scalars()}


_IN_A_FILE = (
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
    "ESCAPE '\\'"
)


def columns(connection: Connection, table: str) -> frozenset[str]:
    """Return the names of a table's columns; their types differ from engine to engine."""
    cursor_result = connection.exec_driver_sql(f"SELECT * FROM `{table}` LIMIT 0")  # noqa: S608 - our own names
    return frozenset(cursor_result.keys())


@dataclass(frozen=True, slots=True)
class Known:
    """The tables by which this day1 recognises a store."""

    tables: Columns
    mark: str
    """The table that has a row once a store is complete."""
    version: int
    """The newest schema version that this day1 knows."""
    oldest: Columns = field(default_factory=dict)
    """The columns in the oldest version, by table, of tables that have more columns now."""

    def is_own(self, table: str, columns: frozenset[str]) -> bool:
        """Whether a table with these columns is of this day1 or an earlier one."""
        return self.oldest.get(table, self.tables[table]) <= columns <= self.tables[table]


def is_store(connection: Connection, known: Known, version: Callable[[], int], where: str) -> bool:
    """Whether a database is a store; False if it is empty, or a store whose creation was cut off.

    Args:
        connection: to the database.
        known: what a store is.
        version: reads the mark, if its table is there; 0 where there is none.
        where: names the database in messages.

    Raises:
        ForeignStore: it has other tables than a store.
        StoreDamaged: it has rows of a store, but not the mark.
    """
    table_names, expected_tables = tables(connection), known.tables
    own_tables = {
        table_name
        for table_name in table_names & expected_tables.keys()
        if known.is_own(table_name, columns(connection, table_name))
    }
    stored_version = version() if known.mark in own_tables else 0
    if stored_version > known.version or (stored_version and own_tables == expected_tables.keys()):
        return True  # a later one is refused when it is opened
    if table_names - own_tables:
        raise foreign(where, table_names - own_tables)
    nonempty_tables = [
        table_name for table_name in sorted(own_tables) if _has_rows(connection, table_name)
    ]
    if nonempty_tables:
        raise StoreDamaged(
            f"{where} has rows in tables of day1 ({', '.join(nonempty_tables)}), but is not a "
            "complete store, and is left as it is: restore a backup, or name an empty database.",
            tables=nonempty_tables,
        )
    return False


def _has_rows(connection: Connection, table: str) -> bool:
    rows = connection.exec_driver_sql(f"SELECT 1 FROM `{table}` LIMIT 1")  # noqa: S608 - our own names
    return rows.first() is not None


def foreign(where: str, names: Collection[str]) -> ForeignStore:
    """Build the refusal of tables or branches that another program made."""
    first_names = sorted(names)[:10]
    return ForeignStore(
        f"{where} holds what day1 did not make ({', '.join(first_names)}) and is left as it is: "
        "name a folder or a database of day1's own (DAY1_HOME, DAY1_STORE__URL).",
        found=first_names,
    )
