"""Where a connection stands: on a branch's database, or on a state of the past.

A statement of the past names its time beside each table. Statements are the same for all engines
and are compiled once, so the cursor puts the time in; one that it does not understand is refused,
since without a time it would read the present and be silently wrong.
"""

import re
from dataclasses import dataclass
from typing import Any

from pymysql.connections import TEXT_TYPES
from pymysql.cursors import Cursor
from sqlalchemy import Connection

from day1.adapters.sql.tables import SCHEMA, TABLES
from day1.errors import IntegrityBroken
from day1.model.change import CommitId

_TABLES = frozenset({*TABLES, SCHEMA.name})
_READ = re.compile(r"\b(FROM|JOIN)\s+(`[^`]+`\.)?`?(\w+)`?", re.IGNORECASE)
_DATALINK = 241
"""The type of texts in differences. The driver takes it for bytes, and is out of step after it."""


@dataclass(frozen=True, slots=True)
class State:
    """The rows of a database at a time; one statement reads one state."""

    database: str
    ns: int

    def of(self, table: str) -> str:
        """A table of this state, as a statement names it."""
        return f"`{self.database}`.`{table}` {{MO_TS = {self.ns}}}"


@dataclass(slots=True)
class Stand:
    """Where a connection stands while it is out of the pool."""

    branch: str
    database: str
    tip: CommitId
    units: int = 0
    """How many units of work the branch has seen."""
    state: State | None = None
    """What is read; None in a unit of work, which reads its own rows."""
    source: CommitId | None = None
    """What the unit merges."""
    differs: bool = False
    """Whether the branch had rows beyond its tip when that was last looked at."""


class StandingCursor(Cursor):  # type: ignore[misc]  # the driver has no types
    """Reads day1's tables as of the state that its connection stands on."""

    def execute(self, query: str, args: Any = None) -> Any:
        """Run a statement, with its time put in."""
        stand: Stand | None = getattr(self.connection, "stand", None)
        if stand is not None and stand.state is not None:
            query = timed(query, stand.state)
        return super().execute(query, args)


def timed(query: str, state: State) -> str:
    """A statement with each plain table of day1 as of a state.

    Raises:
        IntegrityBroken: it reads a table that cannot be timed.
    """

    def place(found: re.Match[str]) -> str:
        verb, database, table = found.groups()
        if database is not None:
            return found.group()
        if table not in _TABLES:
            raise IntegrityBroken(
                "A statement would read the present instead of the past; nothing was read.",
                table=table,
            )
        return f"{verb} {state.of(table)}"

    return _READ.sub(place, query)


def put(connection: Connection, stand: Stand | None) -> None:
    """Let a connection stand there, or nowhere."""
    raw = _raw(connection)
    raw.cursorclass = StandingCursor
    raw.stand = stand


def stand_of(connection: Connection) -> Stand:
    """Where a connection of `Connections` stands."""
    stand: Stand = _raw(connection).stand
    return stand


def _raw(connection: Connection) -> Any:
    return connection.connection.driver_connection


TEXT_TYPES.add(_DATALINK)
