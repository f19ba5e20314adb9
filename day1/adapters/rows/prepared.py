"""Statements that are compiled once and run on the driver itself.

SQLAlchemy needs longer to set up an execution and its result than a short statement needs to run:
a write, which is a few short statements, becomes a third quicker.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import ClauseElement

from day1.model.rows.kind import Cell


class Prepared:
    """A statement in a dialect's words; none of its parameters may be a list."""

    __slots__ = ("_fixed", "_names", "_sql")

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        """Compile it."""
        compiled: Any = statement.compile(dialect=dialect)
        self._sql: str = compiled.string
        self._names: tuple[str, ...] | None = compiled.positiontup and tuple(compiled.positiontup)
        """Parameters by place, for drivers that do not take them by name."""
        self._fixed = {name: value for name, value in compiled.params.items() if value is not None}

    def rows(self, connection: Connection, values: Mapping[str, Cell]) -> list[tuple[Cell, ...]]:
        """Run it, and read all its rows."""
        with self._cursor(connection) as cursor:
            cursor.execute(self._sql, self._given(values))
            found: list[tuple[Cell, ...]] = cursor.fetchall()
        return found

    def many(self, connection: Connection, values: Sequence[Mapping[str, Cell]]) -> None:
        """Run it once for each set of values."""
        with self._cursor(connection) as cursor:
            cursor.executemany(self._sql, [self._given(one) for one in values])

    @contextmanager
    def _cursor(self, connection: Connection) -> Iterator[Any]:
        """A cursor of the driver, whose errors become SQLAlchemy's, as of any other statement."""
        raw: Any = connection.connection.driver_connection
        driver: Any = connection.dialect.loaded_dbapi
        cursor = raw.cursor()
        try:
            yield cursor
        except driver.Error as exc:
            raise DBAPIError.instance(
                self._sql, None, exc, driver.Error, hide_parameters=True
            ) from exc
        finally:
            cursor.close()

    def _given(self, values: Mapping[str, Cell]) -> Any:
        whole = {**self._fixed, **values}
        return whole if self._names is None else [whole[name] for name in self._names]
