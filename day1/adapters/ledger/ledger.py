"""The ledger as tables of a SQL database of its own."""

import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table, bindparam, delete, insert, select
from sqlalchemy.event import listens_for
from sqlalchemy.exc import DisconnectionError
from typing_extensions import override

from day1.adapters.ledger.intents import Intents, LedgerWithIntents
from day1.adapters.ledger.lock_and_watch import Locks, Watch
from day1.adapters.ledger.schema import faults, make_tables
from day1.adapters.ledger.statements import inserting, selecting, selecting_by, updating
from day1.adapters.ledger.tables import HEADS, TABLES, as_record, as_row, is_row_of, refuse_later
from day1.adapters.rows.ownership import Columns
from day1.adapters.rows.rows import prepared
from day1.adapters.sqlite_failures import raise_translated
from day1.errors import BranchExists, Conflict, StoreDamaged
from day1.model.branches.branch import Branch
from day1.model.lessons.rating import KnownVotes, Rating, Votes
from day1.model.records.intent import Intent
from day1.model.redaction.mask import CLEAR, Mask, mask_of
from day1.model.redaction.redaction import Redaction
from day1.ports.ledger import Recover

T = TypeVar("T")
_REMEMBERED = 1_000
"""Maximum number of branch names remembered, of existing and missing branches."""


class FileWatch(Watch):
    """Detects in a few microseconds whether any process wrote to or replaced a SQLite file."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        """Set the file to watch, and the function that opens it; open nothing yet."""
        self._path, self._connect = path, connect
        self._guard = threading.Lock()
        self._opened: Hashable = None
        self._connection: sqlite3.Connection | None = None
        self._same: tuple[Hashable, Hashable] = (None, None)
        """The count after an overlooked commit, and the version that stays the same over it."""

    def file(self) -> tuple[int, ...]:
        """Return the device and inode of the file; empty if it does not exist."""
        try:
            file_status = self._path.stat()
        except OSError:
            return ()
        return file_status.st_dev, file_status.st_ino

    @override
    def version(self) -> Hashable:
        """Return a value that changes with every commit that is not overlooked."""
        return self._version_at(self._counted())

    def _version_at(self, counted: Hashable) -> Hashable:
        overlooked_count, version_before = self._same
        return version_before if counted == overlooked_count else counted

    def _counted(self) -> tuple[tuple[int, ...], int]:
        """Return the opened file, and SQLite's count of the commits of other connections."""
        file_id = self.file()
        with self._guard:
            if self._connection is None or file_id != self._opened:
                self.close()
                self._connection, self._same = self._connect(), (None, None)
                self._opened = file_id
            return file_id, _commits_of_others(self._connection)

    @override
    @contextmanager
    def overlooking(self, writer: sqlite3.Connection) -> Iterator[None]:
        """Keep the version over the block, in which `writer` commits its transaction.

        Nobody else can commit before the writer does. If somebody does afterwards, before the
        watch has counted, the writer counts that commit and not its own: the version changes then.
        """
        file_and_count, commits_of_others = self._counted(), _commits_of_others(writer)
        file_id, version_before = file_and_count[0], self._version_at(file_and_count)
        yield
        with suppress(sqlite3.Error):  # the commit has succeeded
            file_and_count = self._counted()
            if _commits_of_others(writer) == commits_of_others and file_and_count[0] == file_id:
                self._same = file_and_count, version_before

    @override
    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _commits_of_others(connection: sqlite3.Connection) -> int:
    """Return a number that changes when another connection has committed."""
    data_version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return data_version


def renew(engine: Engine, opened: Callable[[], Hashable]) -> None:
    """Replace pooled connections as soon as `opened`, the identity of the opened file, changes.

    Writes to a file that was deleted or replaced would be lost.
    """

    @listens_for(engine, "connect")
    def note(_: Any, record: Any) -> None:
        record.info["opened"] = opened()

    @listens_for(engine, "checkout")
    def compare(_: Any, record: Any, __: Any) -> None:
        if record.info["opened"] != opened():
            raise DisconnectionError


class SqlLedger(LedgerWithIntents):
    """A ledger in the tables of a database: of a SQLite file, unless a subclass changes that."""

    recover: Recover
    """Finishes or undoes an orphaned intent; set when a ledger is opened to write."""

    _marks: Columns = {}  # noqa: RUF012 - replaced, never changed
    """The columns of the table that holds the version of the ledger; empty without such a table."""

    def __init__(
        self,
        engine: Engine,
        locks: Locks,
        name: str,
        if_damaged: str,
        watch: Watch | None = None,
    ) -> None:
        """Use a database whose tables exist (`create`).

        Error messages hold `name` and `if_damaged`, which says what to do then. Without `watch`
        nothing is remembered.
        """
        self._engine = engine
        self._own_sums = engine.dialect.name == "sqlite"
        self._locks = locks
        self._intents = Intents(self, locks)
        self._name = name
        self._if_damaged = if_damaged
        self._local = threading.local()
        self._watch = watch
        self._seen: tuple[Hashable, dict[str, Branch | None]] = (None, {})
        self._masked: tuple[Hashable, Mask] = (None, CLEAR)
        self._voted: tuple[Hashable, KnownVotes] = (None, KnownVotes())

    def create(self, version: int) -> None:
        """Make missing tables and columns; nothing is ever dropped.

        Args:
            version: the version that the database states, 0 if none.

        Raises:
            ForeignStore: the database has tables of another program.
        """
        with self._writing() as connection:
            make_tables(connection, version, self._name, self._marks)

    @override
    def check(self) -> list[str]:
        """Read every row, and every page and checksum of a file; return the problems found."""
        with self._reading() as connection:
            return faults(connection, self._name, has_sums=self._own_sums)

    @override
    @contextmanager
    def transaction(self, *, own: bool = False) -> Iterator[None]:
        with self._writing(own=own, stamped=False):
            yield

    @contextmanager
    def _writing(self, *, own: bool = False, stamped: bool = True) -> Iterator[Connection]:
        """Open a transaction, or go on with this thread's; `stamped` writes change the stamp."""
        current_connection: Connection | None = getattr(self._local, "connection", None)
        if current_connection is not None:
            self._local.stamped |= stamped
            yield current_connection
            return
        with self._begun(own=own) as connection:
            self._local.connection, self._local.stamped = connection, stamped
            try:
                yield connection
            finally:
                self._local.connection = None

    @contextmanager
    def _begun(self, *, own: bool) -> Iterator[Connection]:  # noqa: ARG002 - a server asks
        """Open a transaction, which leaving the block commits; a file has one at a time."""
        try:
            with self._engine.connect() as connection, connection.begin() as transaction:
                driver_connection: Any = connection.connection.driver_connection
                driver_connection.execute("BEGIN IMMEDIATE")
                refuse_later(connection, self._name)
                yield connection
                watch = None if self._local.stamped else self._watch
                with nullcontext() if watch is None else watch.overlooking(driver_connection):
                    transaction.commit()
        except Exception as exc:
            raise_translated(exc, self._name, self._if_damaged)
            raise

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        current_connection: Connection | None = getattr(self._local, "connection", None)
        if current_connection is not None:
            yield current_connection
            return
        with self._opened() as connection:
            yield connection

    def _opened(self) -> AbstractContextManager[Connection]:
        """Open a connection for single statements."""
        return self._connected()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except Exception as exc:
            raise_translated(exc, self._name, self._if_damaged)
            raise

    def _put(self, table: Table, key: str, values: dict[str, Any]) -> None:
        with self._writing() as connection:
            connection.execute(delete(table).where(table.c[key] == values[key]))
            connection.execute(insert(table), values)

    @override
    def record(self, kind: type[T], record_id: str) -> T | None:
        return next(iter(self.records(kind, id=record_id)), None)

    @override
    def records(self, kind: type[T], **equal: str) -> list[T]:
        with self._reading() as connection:
            rows = prepared(selecting_by, kind, tuple(equal)).rows(connection, equal)  # type: ignore[arg-type]  # a class is hashable
        return [self._record(kind, row) for row in rows]

    @override
    def swap(self, there: T | None, record: T) -> bool:
        kind, new_row = type(record), as_row(record)
        with self._writing(stamped=kind.KIND.stamped) as connection:  # type: ignore[attr-defined]  # every record has one
            rows = prepared(selecting_by, kind, ("id",)).rows(connection, {"id": new_row["id"]})  # type: ignore[arg-type]  # as above
            is_same = bool(rows) and is_row_of(there, rows[0])
            if not is_same and there != (self._record(kind, rows[0]) if rows else None):
                return False
            write_statement = prepared(inserting if there is None else updating, TABLES[kind])
            write_statement.many(connection, [new_row])
        return True

    def _record(self, kind: type[T], row: Sequence[Any]) -> T:
        record = as_record(kind, row, checked=self._own_sums)
        if record is None:
            with self._reading() as connection:
                refuse_later(connection, self._name)
            raise StoreDamaged(f"{self._name} is damaged: {self._if_damaged}", file=self._name)
        return record

    @override
    def put(self, *records: object) -> None:
        with self._writing():
            for record in records:
                self._put(TABLES[type(record)], "id", as_row(record))

    @override
    def same_version(self) -> AbstractContextManager[None]:
        """Do nothing: reading the stamp of a file costs next to nothing."""
        return nullcontext()

    @override
    def stamp(self) -> Hashable:
        try:
            return None if self._watch is None else self._watch.version()
        except Exception as exc:
            raise_translated(exc, self._name, self._if_damaged)
            raise

    @override
    def mask(self) -> Mask:
        return self._mask_at(self.stamp())

    def _mask_at(self, version: Hashable) -> Mask:
        """Return the mask, which is read unless it was read at this version."""
        version_of_mask, mask = self._masked
        if version is None or version != version_of_mask:
            redactions = self.records(Redaction)
            new_mask = mask_of(redactions) if redactions else CLEAR
            mask = mask if new_mask == mask else new_mask
            self._masked = version, mask
        return mask

    @override
    def votes(self) -> Votes:
        version = self.stamp()
        version_of_votes, known_votes = self._voted
        if version is None or version != version_of_votes:
            is_newer = TABLES[Rating].c.created_at > known_votes.since
            newer_votes_query = selecting(Rating).where(is_newer)
            with self._reading() as connection:
                rows = connection.execute(newer_votes_query).all()
            known_votes = known_votes.plus([self._record(Rating, row) for row in rows])
            self._voted = version, known_votes
        return known_votes.votes

    @override
    def branches(self) -> list[Branch]:
        return self.records(Branch)

    @override
    def branch(self, name: str) -> Branch | None:
        """Find a branch by name; branches are remembered until the ledger changes."""
        branch_by_name = self._remembered()
        if name in branch_by_name:
            return branch_by_name[name]
        with self._reading() as connection:
            by_name = prepared(selecting_by, Branch, ("folded",))
            rows = by_name.rows(connection, {"folded": name.lower()})
        branch = branch_by_name[name] = self._record(Branch, rows[0]) if rows else None
        return branch

    def _remembered(self) -> dict[str, Branch | None]:
        """Return the remembered branches by name; empty after the ledger changed."""
        if self._watch is None or getattr(self._local, "connection", None) is not None:
            return {}
        version = self.stamp()
        version_and_branches = self._seen
        if version_and_branches[0] != version or len(version_and_branches[1]) > _REMEMBERED:
            version_and_branches = self._seen = (version, {})
        return version_and_branches[1]

    @override
    def put_branch(self, branch: Branch) -> None:
        try:
            self._put(TABLES[Branch], "id", {**as_row(branch), "folded": branch.name.lower()})
        except Conflict as exc:
            raise BranchExists(
                f"A branch {branch.name!r} exists already (case does not count).",
                branch=branch.name,
            ) from exc

    @override
    def remove_branch(self, branch_id: str) -> None:
        self.remove(Branch, branch_id)

    @override
    def remove(self, kind: type, *record_ids: str) -> None:
        if record_ids:
            statement = delete(TABLES[kind]).where(TABLES[kind].c.id == bindparam("gone"))
            with self._writing() as connection:
                connection.execute(statement, [{"gone": record_id} for record_id in record_ids])

    @override
    def open_intents(self) -> list[Intent]:
        return self.records(Intent)

    def add_intent(self, intent: Intent) -> None:
        """Write the row of a new intent."""
        with self._writing() as connection:
            connection.execute(insert(TABLES[Intent]), as_row(intent))

    def end_intent(self, intent_id: str) -> bool:
        """Delete the row of an intent; returns whether it was there."""
        statement = delete(TABLES[Intent]).where(TABLES[Intent].c.id == intent_id)
        with self._writing() as connection:
            return connection.execute(statement).rowcount == 1

    def finish_intent(self, intent: Intent) -> None:
        """Finish or withdraw the intent of a dead process, and delete its row."""
        self.recover(intent)
        self.remove(Intent, intent.id)

    @override
    def head(self, key: str) -> str | None:
        with self._reading() as connection:
            query = select(HEADS.c.branch_id).where(HEADS.c.key == key)
            branch_id = connection.execute(query).scalar()
        return None if branch_id is None else str(branch_id)

    @override
    def heads(self) -> dict[str, str]:
        with self._reading() as connection:
            return {str(key): str(head) for key, head in connection.execute(select(HEADS))}

    @override
    def set_head(self, key: str, branch_id: str) -> None:
        self._put(HEADS, "key", {"key": key, "branch_id": branch_id})

    def close(self) -> None:
        """Close the database; SQLite writes its log into the file."""
        if self._watch is not None:
            self._watch.close()
        self._engine.dispose()
