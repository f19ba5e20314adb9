"""How far back a MatrixOne server keeps past states: as far as its point-in-time recovery (PITR).

A server must have PITR. If a read asks for a time that MatrixOne has already cleaned away, it
answers without an error, and the answer may be wrong. So day1 never asks for a time that old.
"""

import logging
import time
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from day1.adapters.mysql.url import clock
from day1.adapters.versioned.matrixone.commit_store import CommitStore, Span
from day1.adapters.versioned.matrixone.time_cursor import PastState
from day1.errors import NotFound
from day1.model.values.instant import DAY, SECOND

log = logging.getLogger(__name__)

CREATE: Final = "CREATE PITR day1_keep FOR ACCOUNT RANGE 100 'y'"
WITHOUT: Final = (
    "The server keeps its past for an hour only: an administrator says once, before it is needed, "
    f"{CREATE}"
)
UNKNOWN: Final = (
    "This user may not see how far back the server keeps its past (SHOW PITR), so an old state may "
    "be read wrong. `day1 init`, said once by an administrator of the tenant, writes it down."
)
_ALWAYS: Final = DAY // 24
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


class Retention:
    """The times that a server can be asked for."""

    def __init__(self, graph: CommitStore) -> None:
        """Nothing is known yet; `graph` has what an administrator stated."""
        self._graph = graph
        self._asked = float("-inf")
        self._begins = 0
        self.known = False
        """Whether the server told, or an administrator."""
        self.kept = False
        """Whether there is a PITR."""

    @property
    def stale(self) -> bool:
        """Whether it is time to `look` again."""
        return time.monotonic() - self._asked > _ASKED_EVERY_S

    def check(self, state: PastState) -> None:
        """Let a state pass that the server still has, as far as is known.

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
        told = _pitrs(connection)
        spans = told or self._graph.stated_kept(connection)
        self.known = told is not None or bool(spans)
        self.kept = bool(spans)
        now = clock(connection)
        begins = [max(since, now - length) for since, length in spans]
        self._begins = min([now - _ALWAYS, *begins]) if self.known else 0
        self._asked = time.monotonic()


def _pitrs(connection: Connection) -> list[Span] | None:
    """What each PITR of this tenant that keeps all there is does; None if the user may not ask."""
    account = connection.exec_driver_sql("SELECT current_account_name()").scalar_one()
    for statement in _PITRS:
        try:
            rows = connection.exec_driver_sql(statement).all()
        except DBAPIError as exc:
            if exc.connection_invalidated:
                raise
            continue
        # Times are the server's own here, to the second.
        here: datetime = connection.exec_driver_sql("SELECT now(6)").scalar_one()
        now = clock(connection)
        return [
            (now - _microseconds(here - created) - SECOND, int(length * _UNITS[unit] * DAY))
            for _, created, _, level, of, _, _, length, unit in rows
            if level == "cluster" or (level == "account" and of == account)
        ]
    return None


def _microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def keep(connection: Connection, graph: CommitStore) -> list[Span]:
    """Tell the server to keep its past, if nobody did; says what it then keeps.

    A user who may not is left to `day1 doctor`, which says what is missing.
    """
    spans = _pitrs(connection)
    if not spans:
        try:
            connection.exec_driver_sql(CREATE)
        except DBAPIError as exc:
            if exc.connection_invalidated:
                raise
            if spans is not None or not graph.stated_kept(connection):
                log.warning(UNKNOWN if spans is None else WITHOUT)
        else:
            spans = _pitrs(connection)
    return spans or []
