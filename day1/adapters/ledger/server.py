"""The ledger of a store on a server: a database of its own beside the store's, without commits.

Each transaction is durable by itself. Writers take turns under a lock of the server, since the
server would accept two transactions that make the same change to the same row.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    Table,
    bindparam,
    func,
    insert,
    literal,
    literal_column,
    select,
    true,
)
from typing_extensions import override

from day1.adapters.ledger.ledger import SqlLedger
from day1.adapters.ledger.schema import own_tables
from day1.adapters.ledger.stamp import DOLT_STAMP, STAMP_PARTS, Stamp
from day1.adapters.ledger.statements import deleting, inserting, selecting
from day1.adapters.ledger.tables import TABLES, VERSION, as_row, check_version
from day1.adapters.mysql.batch import allow, is_allowed, send, send_with_next
from day1.adapters.mysql.failures import server_number
from day1.adapters.mysql.lock import (
    Locked,
    Queues,
    ServerLocks,
    commit_and_release,
    lock_name,
    locked,
)
from day1.adapters.mysql.url import ServerUrl, connect, make_database, opened, roll_back
from day1.adapters.rows.ownership import columns_of
from day1.adapters.rows.rows import prepared
from day1.errors import Day1Error, ForeignStore, NotAStore, Refused, StoreReadOnly
from day1.model.branches.branch import Branch
from day1.model.records.intent import Intent
from day1.model.redaction.mask import Mask

SUFFIX: Final = "_ledger"
"""What the name of a ledger's database adds to the store's."""
_MAKING_S: Final = 60.0
"""Seconds to wait while another process makes the ledger."""
_MAX_CONNECTIONS: Final = 16
"""Maximum number of connections; all but a writer's and those with locks serve one statement at a
time."""
_MOST_INTENTS: Final = 12
"""Maximum number of intents that one process has open: each has a connection with its locks."""
_NOT_THERE: Final = (1049, 1146, 1064)
"""Error numbers for a missing database or table; MatrixOne reports a syntax error (1064)."""
_SCHEMA: Final = Table(
    "ledger_schema",
    MetaData(),
    Column("version", BigInteger(), primary_key=True, autoincrement=False),
)
"""The table of versions: a row for each version that the ledger was upgraded to."""
_NEWEST: Final = "SELECT max(version) FROM ledger_schema"
_VERSION: Final = select(func.max(_SCHEMA.c.version).label("version")).subquery()
_OPEN_INTENTS: Final = (
    selecting(Intent)
    .add_columns(_VERSION.c.version)
    .select_from(_VERSION.outerjoin(TABLES[Intent], true()))
)
"""The query for the open intents, each with the ledger's version; without any, one row."""
_ONE: Final = select(literal(1)).subquery()
_BRANCH_AND_STAMP: Final[Any] = (
    selecting(Branch)
    .with_only_columns(*map(literal_column, STAMP_PARTS), *selecting(Branch).selected_columns)
    .select_from(_ONE.outerjoin(TABLES[Branch], TABLES[Branch].c.folded == bindparam("folded")))
)
"""The query for the stamp and the branch of a name; without the branch, its columns are null."""


def open_server_ledger(
    engine: Engine,
    place: ServerUrl,
    *,
    wait_s: float,
    stamp: str | None = DOLT_STAMP,
    hold: Locked = locked,
) -> SqlLedger:
    """Open the ledger of a store on a server; make it if it is missing.

    Args:
        engine: connections to the server without a database.
        place: the store.
        wait_s: how long a writer waits for another.
        stamp: the statement that reads a value changed by each write; None if there is none.
        hold: how a named lock is held on this engine.

    Raises:
        Refused: the user may not make the ledger's database.
        ForeignStore: the ledger's database belongs to another program.
    """
    engine_of_ledger = _connect(place, wait_s)
    if is_allowed(engine):
        allow(engine_of_ledger)
    ledger = ServerLedger(engine_of_ledger, place, wait_s=wait_s, stamp=stamp, hold=hold)
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
    """Make sure that the database for a store's ledger does not belong to another program.

    Raises:
        ForeignStore: the database has tables of another program.
    """
    engine = _connect(place, _MAKING_S)
    ledger = ServerLedger(engine, place, wait_s=0, stamp=None, hold=locked)
    try:
        ledger.check_own()
    except ForeignStore:
        raise
    except (NotAStore, Refused):  # none is there, or the user may not look: said when it is made
        return
    finally:
        ledger.close()


def _connect(place: ServerUrl, wait_s: float) -> Engine:
    ledger_url = place.url.set(database=place.database + SUFFIX)
    return connect(replace(place, url=ledger_url), wait_s, _MAX_CONNECTIONS)


class ServerLedger(SqlLedger):
    """A ledger in a database on a server."""

    _marks = columns_of(_SCHEMA.metadata)
    is_whole = False
    """Whether all tables exist, including the table of versions."""

    def __init__(
        self, engine: Engine, place: ServerUrl, *, wait_s: float, stamp: str | None, hold: Locked
    ) -> None:
        """Use connections to the ledger's database; open nothing yet."""
        ledger_name = self.where = place.name + SUFFIX
        lock_queues = Queues(wait_s, hold, _MOST_INTENTS)
        # Only servers with a stamp, which are Dolt's, are known to let a connection hold several.
        place_of_locks, locks_by_name = (place.database, ledger_name), stamp is not None
        locks = ServerLocks(engine, place_of_locks, lock_queues, wait_s, by_name=locks_by_name)
        self._asked = None if stamp is None else Stamp(locks.connection, stamp)
        if_damaged = "its administrator can bring back a backup."
        super().__init__(engine, locks, ledger_name, if_damaged, self._asked)
        self._locks: ServerLocks = locks
        self._turn = lock_name(place.database, "/ledger")
        self._queues = Queues(wait_s, hold)

    @override
    def _opened(self) -> AbstractContextManager[Connection]:
        """Open a connection: the one that holds this thread's locks, if it holds any."""
        return self._locks.connection()

    @contextmanager
    def _begun(self, *, own: bool) -> Iterator[Connection]:
        """Open a transaction when it is this writer's turn; fail if the thread's locks were lost.

        What is this thread's `own` by its locks needs no turn.

        Not every server obeys the driver's own begin and rollback.

        Raises:
            StoreVersionUnknown: a later day1 has upgraded the ledger. It cannot during the turn.
        """
        needs_turn = not (own and self._locks.by_name)
        turn = self._queues.held((self._turn,), self._opened)
        with turn if needs_turn else self._opened() as connection:
            send_with_next(connection, "START TRANSACTION")
            try:
                if self.is_whole:
                    version = int(connection.exec_driver_sql(_NEWEST).scalar_one())
                    check_version(version, self.where)
                yield connection
                send(connection)  # or a COMMIT behind a write that fails would store the others
                if needs_turn:
                    commit_and_release(connection, (self._turn,))
                else:  # the thread's intent ends with it, and so do its locks
                    self._locks.commit(connection)
            except BaseException:
                roll_back(connection)
                raise
        self._wrote()

    def _wrote(self) -> None:
        """Forget what may have changed, since this thread wrote."""
        self._seen = (None, {})
        if self._asked is not None:
            self._asked.wrote()

    @override
    def same_version(self) -> AbstractContextManager[None]:
        """Read the stamp once in the block: each read is a round trip to the server."""
        return nullcontext() if self._asked is None else self._asked.same_version()

    @override
    def branch(self, name: str) -> Branch | None:
        """Find a branch by name; the stamp is read with its row, unless the branch is remembered.

        A branch that was found before is found again without a statement while the stamp is known.
        """
        if (
            self._asked is None
            or self._asked.is_known
            or name in self._seen[1]
            or self._in_transaction
        ):
            return super().branch(name)
        with self._opened() as connection:
            row = connection.execute(_BRANCH_AND_STAMP, {"folded": name.lower()}).one()
        stamp = self._asked.learn(row[: len(STAMP_PARTS)])
        remembered_stamp, branch_by_name = self._seen
        if stamp != remembered_stamp:
            branch_by_name = {}
            self._seen = stamp, branch_by_name
        fields = row[len(STAMP_PARTS) :]
        branch = None if fields[0] is None else self._record(Branch, fields)
        branch_by_name[name] = branch
        return branch

    @override
    def mask(self) -> Mask:
        """Return the mask; it is read again after a redaction, not after each write."""
        stamp = self.stamp()
        return self._mask_at(stamp[1] if isinstance(stamp, tuple) else None)

    @override
    def _put(self, table: Table, key: str, values: dict[str, Any]) -> None:
        goes_on = self._in_transaction
        with self._writing() as connection:
            send_with_next(connection, deleting(table, key), {key: values[key]})
            if goes_on:
                send_with_next(connection, inserting(table), values)
            else:
                prepared(inserting, table).many(connection, [values])

    @property
    def _in_transaction(self) -> bool:
        """Whether this thread has a transaction open."""
        return getattr(self._local, "connection", None) is not None

    @override
    def open_intents(self) -> list[Intent]:
        """List the open intents, after a check that no later day1 has upgraded the ledger."""
        if not self._locks.by_name:
            return super().open_intents()
        with self._reading() as connection:
            rows = connection.execute(_OPEN_INTENTS).all()
        check_version(int(rows[0].version), self.where)
        return [self._record(Intent, row[:-1]) for row in rows if row.id is not None]

    @override
    def add_intent(self, intent: Intent) -> None:
        """Write the row of a new intent without waiting for a turn: its names are locked."""
        if not self._locks.by_name:
            super().add_intent(intent)
            return
        with self._opened() as connection:
            # The next statement asks whether somebody holds the lock of the whole store.
            send_with_next(connection, inserting(TABLES[Intent]), as_row(intent))
        self._wrote()

    @override
    def finish_intent(self, intent: Intent) -> None:
        self._locks.check()
        super().finish_intent(intent)

    def create(self, version: int) -> None:
        """Make missing tables and columns, then write the version."""
        super().create(version)
        with self._opened() as connection:
            _SCHEMA.create(connection, checkfirst=True)
        with self._writing() as connection:
            connection.execute(insert(_SCHEMA), {"version": VERSION})

    def check_own(self) -> None:
        """Make sure that the ledger's database does not belong to another program.

        Raises:
            ForeignStore: the database has tables of another program.
        """
        version = self.version()
        with self._opened() as connection:
            own_tables(connection, version, self.where, self._marks)

    def version(self) -> int:
        """Read the version of the ledger; 0 if its tables are missing or incomplete."""
        try:
            with self._opened() as connection:
                # `*`, since another program's table of this name may have any columns.
                newest_version_query = f"SELECT * FROM {_SCHEMA.name} ORDER BY 1 DESC LIMIT 1"  # noqa: S608 - our own name
                row = connection.exec_driver_sql(newest_version_query).mappings().first()
            return int(row["version"]) if row and row.keys() == _SCHEMA.columns.keys() else 0
        except Day1Error as exc:
            is_forbidden = isinstance(exc, Refused | StoreReadOnly)  # making it will say so again
            if not is_forbidden and server_number(exc.__cause__) not in _NOT_THERE:
                raise
            return 0


def _bring_up(engine: Engine, place: ServerUrl, ledger: ServerLedger, hold: Locked) -> None:
    """Upgrade the ledger to this day1's version, or make it.

    One process at a time; a killed one leaves the old version, and the next process continues.
    """
    with (
        opened(engine, place.name + SUFFIX) as connection,
        hold(connection, (lock_name(place.database, "/ledger/create"),), _MAKING_S),
    ):
        version = ledger.version()
        if version >= VERSION:  # another process was quicker
            return
        make_database(connection, place.database + SUFFIX, place.name)
        try:
            ledger.create(version)
        except StoreReadOnly as exc:
            raise StoreReadOnly(
                f"{ledger.where} has version {version} and needs {VERSION}, but this user may not "
                "upgrade it: run `day1 init` once as a user with the rights that docs/servers.md "
                "gives to day1."
            ) from exc
