"""The position of a connection: a branch's database, or a state of the past."""

from dataclasses import dataclass
from typing import Any

from pymysql.connections import TEXT_TYPES
from sqlalchemy import Connection

from day1.adapters.versioned.matrixone.time_cursor import PastState, TimeCursor
from day1.model.rows.change import CommitId

_DATALINK = 241
"""The type of texts in comparisons; the driver would take it for bytes and then lose track."""


@dataclass(slots=True)
class Position:
    """What a connection reads and writes while it is out of the pool: a branch and its state."""

    branch: str
    database: str
    tip: CommitId
    units: int = 0
    """The branch's count of units of work."""
    state: PastState | None = None
    """The past state to read; None in a unit of work, which reads its own rows."""
    source: CommitId | None = None
    """The commit that the unit of work merges, if any."""
    differs: bool = False
    """Whether the last comparison found changes since the tip."""


def set_position(connection: Connection, position: Position | None) -> None:
    """Set a connection's position; None for no position."""
    driver_connection = _raw(connection)
    driver_connection.cursorclass = TimeCursor
    driver_connection.position = position


def position_of(connection: Connection) -> Position:
    """Return the branch, the tip and the past state that a connection is set to."""
    position: Position = _raw(connection).position
    return position


def _raw(connection: Connection) -> Any:
    return connection.connection.driver_connection


TEXT_TYPES.add(_DATALINK)
