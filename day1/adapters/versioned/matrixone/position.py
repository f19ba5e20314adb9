"""The position of a connection: a branch's database, or a state of the past."""

from dataclasses import dataclass
from typing import Any

from pymysql.connections import TEXT_TYPES
from sqlalchemy import Connection

from day1.adapters.versioned.matrixone.time_cursor import PastState, TimeCursor
from day1.model.rows.change import CommitId

_DATALINK = 241
"""The type of texts in differences. The driver takes it for bytes, and is out of step after it."""


@dataclass(slots=True)
class Position:
    """The position of a connection while it is out of the pool."""

    branch: str
    database: str
    tip: CommitId
    units: int = 0
    """How many units of work the branch has seen."""
    state: PastState | None = None
    """What is read; None in a unit of work, which reads its own rows."""
    source: CommitId | None = None
    """What the unit merges."""
    differs: bool = False
    """Whether the branch had rows beyond its tip when that was last looked at."""


def set_position(connection: Connection, position: Position | None) -> None:
    """Set a connection's position; None for no position."""
    raw = _raw(connection)
    raw.cursorclass = TimeCursor
    raw.position = position


def position_of(connection: Connection) -> Position:
    """The position of a connection of `Connections`."""
    position: Position = _raw(connection).position
    return position


def _raw(connection: Connection) -> Any:
    return connection.connection.driver_connection


TEXT_TYPES.add(_DATALINK)
