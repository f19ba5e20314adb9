"""How far back a server keeps what was: by its point-in-time recovery (PITR), which it must have.

MatrixOne answers a read of a time that it has cleaned away without a word, and nobody knows with
what. So day1 asks nothing that old.
"""

import logging
import time
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from day1.adapters.matrixone.stand import State
from day1.adapters.sql.server import clock
from day1.errors import NotFound
from day1.model.instant import SECOND

log = logging.getLogger(__name__)

CREATE: Final = "CREATE PITR day1_keep FOR ACCOUNT RANGE 100 'y'"
WITHOUT: Final = (
    "As far as this user may see, the server keeps its past for an hour only: an administrator "
    f"says once, before it is needed, {CREATE}"
)
_ALWAYS: Final = timedelta(hours=1)
"""What is kept in any case."""
_UNITS: Final = {"h": 1 / 24, "d": 1, "mo": 28, "y": 365}
"""Days."""
_ASKED_EVERY_S: Final = 60.0
_PITRS: Final = (
    "SHOW PITR",
    # Who may not say that may see it here, in the tenant `sys`.
    "SELECT pitr_name, FROM_UNIXTIME(FLOOR(create_time / 1000000000)), NULL, level, account_name,"
    " database_name, table_name, pitr_length, pitr_unit FROM mo_catalog.mo_pitr",
)


class Window:
    """The times that a server can be asked for."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._asked = float("-inf")
        self._begins = 0
        self.kept = False
        """Whether there is a PITR."""

    @property
    def stale(self) -> bool:
        """Whether it is time to `look` again."""
        return time.monotonic() - self._asked > _ASKED_EVERY_S

    def check(self, state: State) -> None:
        """Let a state pass that the server still has.

        Raises:
            NotFound: it is older than that.
        """
        if state.ns < self._begins * 1_000:
            raise NotFound(
                "That state is older than what the server keeps: its PITR says how long that is.",
                kept_since=self._begins,
            )

    def look(self, connection: Connection) -> None:
        """Ask how far the server goes back, which it does not say inside a transaction."""
        now = clock(connection)
        here: datetime = connection.exec_driver_sql("SELECT now(6)").scalar_one()
        spans = [_ALWAYS]
        for created, length, unit in _pitrs(connection):
            kept = timedelta(days=length * _UNITS[unit])
            spans.append(min(here - created + timedelta(seconds=1), kept))
        self.kept = len(spans) > 1
        self._begins = now - int(max(spans).total_seconds() * SECOND)
        self._asked = time.monotonic()


def _pitrs(connection: Connection) -> list[tuple[datetime, int, str]]:
    """Since when, and how long, each PITR of this tenant keeps all there is."""
    account = connection.exec_driver_sql("SELECT current_account_name()").scalar_one()
    for statement in _PITRS:
        try:
            rows = connection.exec_driver_sql(statement).all()
        except DBAPIError as exc:
            if exc.connection_invalidated:
                raise
            continue
        return [
            (created, length, unit)
            for _, created, _, level, of, _, _, length, unit in rows
            if level == "cluster" or (level == "account" and of == account)
        ]
    return []


def keep(connection: Connection) -> None:
    """Tell the server to keep its past, if nobody did.

    A user who may not is left to `day1 doctor`, which says what is missing.
    """
    window = Window()
    window.look(connection)
    if not window.kept:
        try:
            connection.exec_driver_sql(CREATE)
        except DBAPIError as exc:
            if exc.connection_invalidated:
                raise
            log.warning(WITHOUT)
