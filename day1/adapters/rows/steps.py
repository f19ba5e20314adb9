"""The version of the schema of a branch's tables, and the step to the present one.

A step adds what is missing. A column is added as NULL, which no engine writes into the rows: that
takes as long for a thousand rows as for a million. Only an index reads the rows once.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, Index, Table, func, insert, select
from sqlalchemy.schema import CreateColumn, CreateIndex

from day1.adapters.rows.ownership import columns
from day1.adapters.rows.tables import SCHEMA, SCHEMA_ROW, SCHEMA_VERSION, TABLES
from day1.errors import NotAStore, StoreVersionUnknown

_VERSIONS = select(func.min(SCHEMA.c.version), func.max(SCHEMA.c.version))


def step(connection: Connection) -> None:
    """Step the tables of a connection's branch to the present schema, and record its version."""
    add_missing(connection)
    note_version(connection)


def add_missing(connection: Connection) -> None:
    """Add the columns and indexes that are missing.

    On a server each statement is durable by itself: a killed process leaves some of them done.
    MatrixOne copies the table for each, so a table gets its columns by one; a file takes but one.
    """
    for table in TABLES.values():
        present_columns = columns(connection, table.name)
        column_additions = [
            f"ADD COLUMN {CreateColumn(column).compile(dialect=connection.dialect)}"
            for column in table.columns
            if column.name not in present_columns
        ]
        if column_additions and _on_a_server(connection):
            column_additions = [", ".join(column_additions)]
        for addition in column_additions:
            connection.exec_driver_sql(f"ALTER TABLE `{table.name}` {addition}")
        for index in _missing(connection, table):
            connection.execute(CreateIndex(index))


def note_version(connection: Connection) -> None:
    """Record that the tables have the present schema."""
    if newest_version(connection) < SCHEMA_VERSION:
        connection.execute(insert(SCHEMA), SCHEMA_ROW)


def newest_version(connection: Connection) -> int:
    """Return the version to which the tables of a connection's state were upgraded."""
    return int(connection.execute(select(func.max(SCHEMA.c.version))).scalar_one())


def check_schema(connection: Connection) -> int:
    """Check that this day1 knows the schema; return the schema version of the store's beginning.

    Raises:
        NotAStore: the tables were only partly made.
        StoreVersionUnknown: a later day1 made the tables.
    """
    return versions(connection)[0]


def versions(connection: Connection) -> tuple[int, int]:
    """Return the first and the present version of a state's schema; raises as `check_schema`."""
    first_version, present_version = connection.execute(_VERSIONS).one()
    return int(first_version or 0), checked(present_version)


def checked(version: int | None) -> int:
    """Return the version of a state's schema if this day1 knows it; raises as `check_schema`."""
    if version is None:
        raise NotAStore(
            "The store has tables of day1 but no version: `day1 init` completes it if it is empty."
        )
    if version > SCHEMA_VERSION:
        raise later_schema(version)
    return int(version)


def later_schema(version: int) -> StoreVersionUnknown:
    """Build the refusal of a state that a later day1 upgraded: this one would drop its columns."""
    return StoreVersionUnknown(
        f"The store has schema version {version}, this day1 reads up to {SCHEMA_VERSION}: install "
        "a newer day1, start whatever uses the store anew, and try again.",
        version=version,
    )


def _missing(connection: Connection, table: Table) -> Iterator[Index]:
    """Yield the indexes that a table lacks."""
    is_on_server = _on_a_server(connection)
    query = (
        f"SHOW INDEX FROM `{table.name}`" if is_on_server else f"PRAGMA index_list('{table.name}')"
    )
    name_key = "Key_name" if is_on_server else "name"
    index_names = {str(row[name_key]) for row in connection.exec_driver_sql(query).mappings()}
    yield from (index for index in table.indexes if index.name not in index_names)


def _on_a_server(connection: Connection) -> bool:
    return connection.dialect.name == "mysql"
