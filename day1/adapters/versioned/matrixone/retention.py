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
"""The statement that makes the server keep its past for 100 years."""
WITHOUT: Final = (
    f"The server keeps its past for an hour only: an administrator must run this once: {CREATE}"
)
"""The warning for a server without PITR."""
UNKNOWN: Final = (
    "This user may not see how far back the server keeps its past (SHOW PITR), so an old state may "
    "be read wrong: let an administrator of the tenant run `day1 init` once, which stores it."
)
"""The warning for a user who may not see the server's PITR."""
_ALWAYS: Final = DAY // 24
"""The time for which a server keeps its past without PITR: an hour in microseconds."""
_UNITS: Final = {"h": 1 / 24, "d": 1, "mo": 28, "y": 365}
"""Days of each unit of a PITR's length."""
_ASKED_EVERY_S: Final = 60.0
"""Seconds after which the server is asked again for its PITR."""
_PITRS: Final = (
    "SHOW PITR",
    # For users who may not run SHOW PITR, in the tenant `sys`.
    "SELECT pitr_name, FROM_UNIXTIME(FLOOR(create_time / 1000000000)), NULL, level, account_name,"
    " database_name, table_name, pitr_length, pitr_unit FROM mo_catalog.mo_pitr",
)


class Retention:
    """The times whose states a server still keeps."""

    def __init__(self, graph: CommitStore) -> None:
        """Begin without knowledge; `graph` may have what an administrator's `day1 init` stored."""
        self._graph = graph
        self._asked = float("-inf")
        self._begins = 0
        self.known = False
        """Whether it is known how far back the server keeps states."""
        self.kept = False
        """Whether the server has a PITR."""

    @property
    def stale(self) -> bool:
        """Whether it is time to `look` again."""
        return time.monotonic() - self._asked > _ASKED_EVERY_S

    def check(self, state: PastState) -> None:
        """Make sure that the server still keeps a state, as far as is known.

        Raises:
            NotFound: the state is older than the server keeps.
        """
        if state.ns < self._begins * 1_000:
            raise NotFound(
                "This state is older than the server keeps states: name a later one, or let the "
                "server's administrator lengthen its PITR.",
                kept_since=self._begins,
            )

    def look(self, connection: Connection) -> None:
        """Ask how far back the server keeps states; impossible inside a transaction."""
        pitr_spans = _pitrs(connection)
        spans = pitr_spans or self._graph.stated_kept(connection)
        self.known = pitr_spans is not None or bool(spans)
        self.kept = bool(spans)
        now = clock(connection)
        span_starts = [max(since, now - span_length) for since, span_length in spans]
        self._begins = min([now - _ALWAYS, *span_starts]) if self.known else 0
        self._asked = time.monotonic()


def _pitrs(connection: Connection) -> list[Span] | None:
    """Read the spans of this tenant's PITRs for all databases; None if not allowed."""
    own_account = connection.exec_driver_sql("SELECT current_account_name()").scalar_one()
    for statement in _PITRS:
        try:
            pitr_rows = connection.exec_driver_sql(statement).all()
        except DBAPIError as exc:
            if exc.connection_invalidated:
                raise
            continue
        # These times are the server's local time, to the second.
        local_now: datetime = connection.exec_driver_sql("SELECT now(6)").scalar_one()
        now = clock(connection)
        return [
            (now - _microseconds(local_now - created_at) - SECOND, int(length * _UNITS[unit] * DAY))
            for _, created_at, _, level, tenant, _, _, length, unit in pitr_rows
            if level == "cluster" or (level == "account" and tenant == own_account)
        ]
    return None


def _microseconds(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def keep(connection: Connection, graph: CommitStore) -> list[Span]:
    """Make the server keep past states, if it does not; return the times that it covers.

    If the user may not do that, `day1 doctor` will say what is missing.
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
