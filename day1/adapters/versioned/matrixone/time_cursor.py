"""A cursor that reads a past state: it adds the time to each statement.

On MatrixOne a statement about the past names a time beside each table. Statements are the same for
all engines and are compiled once, so this cursor adds the time. It refuses a statement that it does
not understand: without a time, the statement would read the present and nobody would notice.
"""

import re
from dataclasses import dataclass
from typing import Any

from pymysql.cursors import Cursor

from day1.adapters.rows.tables import SCHEMA, TABLES
from day1.errors import IntegrityBroken

_TABLES = frozenset({*TABLES, SCHEMA.name})
_READ = re.compile(r"\b(FROM|JOIN)\s+(`[^`]+`\.)?`?(\w+)`?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PastState:
    """A past state: a database at a time; one statement reads one state."""

    database: str
    ns: int

    def of(self, table: str) -> str:
        """Return the name of a table of this state for a statement."""
        return f"`{self.database}`.`{table}` {{MO_TS = {self.ns}}}"


class TimeCursor(Cursor):  # type: ignore[misc]  # the driver has no types
    """A cursor that reads day1's tables at the past state of its connection's position."""

    def execute(self, query: str, args: Any = None) -> Any:
        """Run a statement, with the time of the connection's state added."""
        position = getattr(self.connection, "position", None)
        if position is not None and position.state is not None:
            query = timed(query, position.state)
        return super().execute(query, args)


def timed(query: str, state: PastState) -> str:
    """Add a state's time to each plain table of day1 in a statement.

    Raises:
        IntegrityBroken: the statement reads a table that is not day1's.
    """

    def timed_table(match: re.Match[str]) -> str:
        keyword, database, table = match.groups()
        if database is not None:
            return match.group()
        if table not in _TABLES:
            raise IntegrityBroken(
                f"A read of the past names {table}, which is no table of day1: nothing was read.",
                table=table,
            )
        return f"{keyword} {state.of(table)}"

    return _READ.sub(timed_table, query)
