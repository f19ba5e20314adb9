"""The ledger of a store on a server: a database of its own beside the store's, never committed.

One working set, in which each transaction is durable by itself. Writers take turns under a lock of
the server's: two transactions that change the same to the same would both be told that they did.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    Table,
    insert,
)
from typing_extensions import override

from day1.adapters.ledger.ledger import SqlLedger
from day1.adapters.ledger.roles import Watch
from day1.adapters.ledger.schema import own_tables
from day1.adapters.ledger.tables import VERSION, check_version
from day1.adapters.mysql.failures import server_number
from day1.adapters.mysql.lock import Locked, Queues, ServerLock, lock_name, locked
from day1.adapters.mysql.url import ServerUrl, connect, make_database, opened
from day1.adapters.rows.ownership import columns_of
from day1.errors import Day1Error, ForeignStore, NotAStore, Refused, StoreReadOnly
from day1.model.records.intent import Intent

SUFFIX: Final = "_ledger"
DOLT_STAMP: Final = "SELECT DOLT_HASHOF_DB('WORKING')"
"""Of all that is in the database, so also after a write by another program."""
_MAKING_S: Final = 60.0
_SAME_VERSION_S: Final = 1.0
_MOST: Final = 8
"""Connections: each is used for one statement, save a writer's and the lock's."""
_NOT_THERE: Final = (1049, 1146, 1064)
"""No such database, no such table, which MatrixOne calls an error of syntax."""
_SCHEMA: Final = Table(
    "ledger_schema",
    MetaData(),
    Column("version", BigInteger(), primary_key=True, autoincrement=False),
)
"""One row per version that the tables were brought to."""
_NEWEST: Final = "SELECT max(version) FROM ledger_schema"


def open_server_ledger(
    engine: Engine,
    place: ServerUrl,
    *,
    wait_s: float,
    stamp: str | None = DOLT_STAMP,
    hold: Locked = locked,
) -> SqlLedger:
    """Open the ledger that belongs to a store, making it where it is missing.

    Args:
        engine: connections to the server, to no database.
        place: the store.
        wait_s: how long a writer waits for another one.
        stamp: asks for a value that changes with each write; None if the engine has none.
        hold: how a named lock is held on this engine.

    Raises:
        Refused: the user may not make its database.
        ForeignStore: its database is another program's.
    """
    own = _connect(place, wait_s)
    ledger = ServerLedger(own, place, wait_s=wait_s, stamp=stamp, hold=hold)
    try:
        version = ledger.version()
        check_version(version, ledger.where)
        if version < VERSION:
            _bring_up(engine, place, ledger, hold)
        ledger.is_whole = True
    except Day1Error:
        ledger.close()
        raise
    return ledger


def check_ledger(place: ServerUrl) -> None:
    """Make sure that no other program has the database that a store's ledger is to have.

    Raises:
        ForeignStore: one has.
    """
    own = _connect(place, _MAKING_S)
    ledger = ServerLedger(own, place, wait_s=0, stamp=None, hold=locked)
    try:
        ledger.check_own()
    except ForeignStore:
        raise
    except (NotAStore, Refused):  # none is there, or the user may not look: said when it is made
        return
    finally:
        ledger.close()


@dataclass(slots=True)
class _RememberedStamp:
    """What was answered in a call, and until when that is good enough."""

    value: str = ""
    until: float = 0.0


def _connect(place: ServerUrl, wait_s: float) -> Engine:
    url = place.url.set(database=place.database + SUFFIX)
    return connect(replace(place, url=url), wait_s, _MOST)


class _Stamp(Watch):
    """Asks the server whether the ledger was written to."""

    def __init__(self, opened: Callable[[], AbstractContextManager[Connection]], ask: str) -> None:
        self._opened, self._ask = opened, ask
        self._mine = threading.local()

    @override
    def version(self) -> Hashable:
        stamp: _RememberedStamp | None = getattr(self._mine, "stamp", None)
        if stamp is None or time.monotonic() >= stamp.until:
            with self._opened() as connection:
                value = str(connection.exec_driver_sql(self._ask).scalar_one())
            if stamp is None:
                return value
            stamp.value, stamp.until = value, time.monotonic() + _SAME_VERSION_S
        return stamp.value

    @contextmanager
    def same_version(self) -> Iterator[None]:
        """Ask but once in this thread."""
        self._mine.stamp = _RememberedStamp()
        try:
            yield
        finally:
            self._mine.stamp = None

    def wrote(self) -> None:
        """Ask again: this thread wrote."""
        if getattr(self._mine, "stamp", None) is not None:
            self._mine.stamp = _RememberedStamp()

    @override
    def close(self) -> None:
        pass


class ServerLedger(SqlLedger):
    """A ledger in a database of a server."""

    _marks = columns_of(_SCHEMA.metadata)
    is_whole = False
    """Whether all tables are there, among them the one that has the version."""

    def __init__(
        self, engine: Engine, place: ServerUrl, *, wait_s: float, stamp: str | None, hold: Locked
    ) -> None:
        """Use connections to the ledger's database; open nothing yet."""
        name = self.where = place.name + SUFFIX
        lock = ServerLock(engine, lock_name(place.database, "/deeds"), name, wait_s, hold)
        self._asked = None if stamp is None else _Stamp(lambda: opened(engine, name), stamp)
        if_damaged = "its administrator can bring back a backup."
        super().__init__(engine, lock, name, if_damaged, self._asked)
        self._lock: ServerLock = lock
        self._turn = lock_name(place.database, "/ledger")
        self._queues = Queues(wait_s, hold)

    @contextmanager
    def _opened(self) -> Iterator[Connection]:
        with opened(self._engine, self._name) as connection:
            yield connection

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        """A transaction, in its turn; under the ledger's lock only if that is still held.

        The driver's own begin and rollback are not heard by every server.

        Raises:
            StoreVersionUnknown: as in a file. No later day1 brings the tables up during the turn.
        """
        with self._queues.held(self._turn, self._opened) as connection:
            version = self._lock.check(_NEWEST)
            connection.exec_driver_sql("START TRANSACTION")
            if self.is_whole:
                version = version or int(connection.exec_driver_sql(_NEWEST).scalar_one())
                check_version(version, self.where)
            yield connection
            connection.exec_driver_sql("COMMIT")
        if self._asked is not None:
            self._asked.wrote()

    @override
    def same_version(self) -> AbstractContextManager[None]:
        """Each question for the stamp is a round trip to the server."""
        return nullcontext() if self._asked is None else self._asked.same_version()

    def _recover(self, intent: Intent) -> None:
        self._lock.check()
        super()._recover(intent)

    def create(self, version: int) -> None:
        """Make what is missing, and note the version when all of it is there."""
        super().create(version)
        with self._opened() as connection:
            _SCHEMA.create(connection, checkfirst=True)
        with self._writing() as connection:
            connection.execute(insert(_SCHEMA), {"version": VERSION})

    def check_own(self) -> None:
        """Make sure that no other program has the database.

        Raises:
            ForeignStore: one has.
        """
        version = self.version()
        with self._opened() as connection:
            own_tables(connection, version, self.where, self._marks)

    def version(self) -> int:
        """Which version the tables have; 0 where there are none, or not all of them."""
        try:
            with self._opened() as connection:
                # Of a table that is another program's the columns are not known.
                newest = f"SELECT * FROM {_SCHEMA.name} ORDER BY 1 DESC LIMIT 1"  # noqa: S608 - our own name
                found = connection.exec_driver_sql(newest).mappings().first()
            return int(found["version"]) if found and found.keys() == _SCHEMA.columns.keys() else 0
        except Day1Error as exc:
            may_not = isinstance(exc, Refused | StoreReadOnly)  # said again when it is made
            if not may_not and server_number(exc.__cause__) not in _NOT_THERE:
                raise
            return 0


def _bring_up(engine: Engine, place: ServerUrl, ledger: ServerLedger, hold: Locked) -> None:
    """Give the database what this day1 keeps in it.

    One at a time; a killed one leaves a version that is too low, and the next goes on.
    """
    with (
        opened(engine, place.name + SUFFIX) as connection,
        hold(connection, lock_name(place.database, "/ledger/create"), _MAKING_S),
    ):
        found = ledger.version()
        if found >= VERSION:  # another was quicker
            return
        make_database(connection, place.database + SUFFIX, place.name)
        try:
            ledger.create(found)
        except StoreReadOnly as exc:
            raise StoreReadOnly(
                f"{ledger.where} has version {found} and needs {VERSION}, which this user may not "
                "make of it: run `day1 init` once as a user with the rights that docs/servers.md "
                "gives to day1."
            ) from exc
