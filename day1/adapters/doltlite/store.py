"""The embedded store: one DoltLite file, units of work under one lock."""

import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, insert

from day1.adapters.doltlite import driver
from day1.adapters.doltlite.connections import IF_DAMAGED, Connections
from day1.adapters.doltlite.history import AWAKEN, DoltLiteHistory
from day1.adapters.doltlite.lock import WriteLock
from day1.adapters.doltlite.work import DoltLiteWork, cut_waiting
from day1.adapters.sql.empty import EmptyReading
from day1.adapters.sql.failures import of_system, translated
from day1.adapters.sql.messages import author_of, encode
from day1.adapters.sql.rows import SqlReading, waiting
from day1.adapters.sql.tables import SCHEMA, SCHEMA_VERSION, versioned
from day1.errors import (
    Day1Error,
    InvalidRequest,
    Json,
    NotAStore,
    StoreDamaged,
    StoreVersionUnknown,
)
from day1.model.change import Commit, CommitId, Message, Pending, Ref
from day1.model.instant import SECOND
from day1.model.redaction import CLEAR, Mask
from day1.ports.store import Capabilities, Reading, Work

CUT_AT_ROWS = 256
CUT_AT_AGE = 600 * SECOND
FILE = "memory.db"
LOCK_FILE = "lock"
_LONGEST = 480
"""Bytes of a store's path: the engine's own limit is 512, with the names of its files."""

Clock = Callable[[], int]
Masks = Callable[[], Mask]
"""What is redacted by now, by whichever process."""
Point = Callable[[str], None]
"""Called at named points of a unit, where a test may kill the process."""


class DoltLiteStore:
    """`ports.store.Store` on a folder that holds `memory.db`."""

    def __init__(
        self, folder: Path, clock: Clock, *, read_only: bool = False, wait_s: float = 10.0
    ) -> None:
        """Open a store that exists.

        Raises:
            NotAStore: the folder holds no memory.db.
            StoreDamaged: it cannot be read.
            StoreVersionUnknown: its schema or file format is another version's.
        """
        path = folder / FILE
        if not _is_file(path):
            raise NotAStore(
                f"{folder} holds no day1 store; `day1 init` makes one.", folder=str(folder)
            )
        self._clock = clock
        self._lock = WriteLock(folder / LOCK_FILE, wait_s)
        self._connections = Connections(path, read_only=read_only, busy_timeout_s=wait_s)
        self.history = DoltLiteHistory(self._connections, self._lock)
        self.point: Point = _pass
        self._mask: Masks = _clear
        try:
            self._check_version()
        except Day1Error:
            self.close()
            raise

    def obey(self, mask: Masks) -> None:
        """Read and write through the mask that is given for each reading and unit."""
        self._mask = self.history.mask = mask

    @staticmethod
    def create(folder: Path, clock: Clock) -> bool:
        """Make a new store's file with its tables and first commit; says whether it was missing.

        The file is written under another name first: a crash leaves no half store. The
        connection that created a file is never used again (design note on disk-full errors).
        """
        path = folder / FILE
        if _is_file(path):
            return False
        _make_folder(folder)
        with WriteLock(folder / LOCK_FILE, 60.0).held(), translated(FILE):
            if path.exists():
                return False
            fresh = folder / f"{FILE}.new"
            fresh.unlink(missing_ok=True)
            try:
                _write_tables(fresh, clock())
                fresh.rename(path)
            finally:
                fresh.unlink(missing_ok=True)
                (folder / f".{fresh.name}-lock").unlink(missing_ok=True)
        return True

    @property
    def capabilities(self) -> Capabilities:
        """What DoltLite can do."""
        return Capabilities(
            engine="doltlite",
            version=driver.engine_version(),
            merge_base_moves=True,
            row_history=True,
            compaction=True,
        )

    @contextmanager
    def reading(self, ref: Ref) -> Iterator[Reading]:
        """Open a state for reading, as one snapshot."""
        if ref.empty:
            yield EmptyReading(ref.branch)
            return
        if ref.branch is None:
            with self._connections.at(str(ref.commit)) as connection:
                yield self._reading(connection, str(ref.commit), None, ref.until)
            return
        with self._connections.on(ref.branch) as connection:
            tip, pending = self._stand(connection, "BEGIN")
            if ref.until is None or ref.until >= tip.ts:
                yield self._reading(connection, tip.id, ref.branch, ref.until, pending)
                return
        past = self.history.before(tip, ref.until)
        if past.empty:
            yield EmptyReading(ref.branch)
            return
        with self._connections.at(str(past.commit)) as connection:
            yield self._reading(connection, str(past.commit), ref.branch, past.until)

    def _reading(
        self,
        connection: Connection,
        tip: CommitId,
        branch: str | None,
        until: int | None,
        pending: Pending = Pending(),  # noqa: B008 - frozen
    ) -> SqlReading:
        mask = self._mask()
        return SqlReading(connection, tip, pending, branch=branch, until=until, mask=mask)

    def _stand(self, connection: Connection, begin: str) -> tuple[Commit, Pending]:
        """Begin a transaction; says the tip and what waits."""
        self._connections.say(connection, begin)
        # A connection that slept learns of a peer's commits from its first table read.
        self._connections.say(connection, AWAKEN)
        tip = self.history.tip(connection)
        return tip, waiting(connection, tip.ts)

    @contextmanager
    def adding(self, branch: str) -> Iterator[Work]:
        """Open work that only adds rows; leaving it makes them durable, without a commit."""
        with self._lock.held(), self._connections.on(branch) as connection:
            work = self._begin(connection, branch)
            if self._is_due(work.pending):
                cut_waiting(connection, work.pending)
                work = self._begin(connection, branch)
            yield work
            self.point("add.before_commit")
            self._connections.say(connection, "COMMIT")
            self.point("add.after_commit")

    @contextmanager
    def changing(self, branch: str) -> Iterator[Work]:
        """Open work that ends in its own commit; waiting rows are cut before it."""
        with self._lock.held(), self._connections.on(branch) as connection:
            work = self._begin(connection, branch)
            if work.pending.count:
                cut_waiting(connection, work.pending)
                self.point("change.after_cut")
                work = self._begin(connection, branch)
            work.point = self.point
            yield work

    def _begin(self, connection: Connection, branch: str) -> DoltLiteWork:
        tip, pending = self._stand(connection, "BEGIN IMMEDIATE")
        newest = max(tip.ts, pending.newest or 0)
        now = max(self._clock(), newest + 1)
        return DoltLiteWork(connection, branch, tip.id, pending, now, self._mask())

    def cut(self, branch: str) -> CommitId:
        """Commit the waiting rows of a branch as one `add`; returns the tip."""
        with self._lock.held(), self._connections.on(branch) as connection:
            work = self._begin(connection, branch)
            if not work.pending.count:
                connection.exec_driver_sql("ROLLBACK")
                return work.tip
            self.point("cut.before_commit")
            commit = cut_waiting(connection, work.pending)
            self.point("cut.after_commit")
            return commit

    def cut_if_due(self, branch: str) -> None:
        """Cut when 256 rows wait or the oldest has waited ten minutes."""
        with self._connections.on(branch) as connection:
            _, pending = self._stand(connection, "BEGIN")
        if self._is_due(pending):
            self.cut(branch)

    def _is_due(self, pending: Pending) -> bool:
        old = pending.oldest is not None and self._clock() - pending.oldest >= CUT_AT_AGE
        return pending.count >= CUT_AT_ROWS or old

    def stamp(self) -> Hashable:
        """What the file system says of the file: it grows with every unit."""
        found = self._connections.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def size(self) -> int:
        """Bytes of memory.db."""
        return self._connections.path.stat().st_size

    def compact(self) -> dict[str, Json]:
        """Give unused space back (`dolt_gc`); everybody else waits meanwhile."""
        before = self.size()
        with self._lock.held():
            self._connections.forget_commits()
            self.point("compact.before")
            with self._connections.on("main") as connection:
                connection.exec_driver_sql("SELECT dolt_gc()")
        self.point("compact.done")
        return {"bytes_before": before, "bytes_after": self.size()}

    def check(self) -> list[str]:
        """Read every page and index (72 s for 12 GB); says what is wrong."""
        with self._connections.on("main") as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            return [str(line) for line in found if line != "ok"]

    def _check_version(self) -> None:
        with self._connections.on("main") as connection:
            tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'schema'"
            if not self._connections.say(connection, tables):
                raise StoreDamaged(
                    f"{FILE} holds no tables of day1: it is another program's, or damaged: "
                    f"{IF_DAMAGED}",
                    file=FILE,
                )
            version = self._connections.say(connection, "SELECT max(version) FROM schema")
        if version is None or version > SCHEMA_VERSION:
            raise StoreVersionUnknown(
                f"The store has schema version {version}, this day1 reads up to "
                f"{SCHEMA_VERSION}: install a newer day1.",
                version=version,
            )

    def close(self) -> None:
        """Let go of files and connections."""
        self._connections.close()


def _clear() -> Mask:
    """Nothing is redacted in a store without a ledger."""
    return CLEAR


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as exc:
        raise of_system(exc, path, writing=False) from exc


def _make_folder(folder: Path) -> None:
    """Make a store's folder, unless it is there.

    Raises:
        InvalidRequest: the engine cannot open a file of so long a path.
        NotAStore, StoreReadOnly, StoreFull: as the operating system says.
    """
    length = len(os.fsencode(folder.absolute()))
    if length > _LONGEST:
        raise InvalidRequest(
            f"The path of the store has {length} bytes, and the engine takes {_LONGEST}: choose a "
            "shorter one.",
            path=str(folder),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise of_system(exc, folder, writing=True) from exc


def _write_tables(path: Path, now: int) -> None:
    with closing(driver.connect(path, create=True)) as connection:
        engine = create_engine(
            "sqlite://", module=driver, creator=lambda: connection, isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as opened:
            opened.exec_driver_sql("BEGIN IMMEDIATE")
            versioned.create_all(opened)
            opened.execute(insert(SCHEMA), {"version": SCHEMA_VERSION, "created_at": now})
            text = encode(Message("init", "init"), now, (), {})
            opened.exec_driver_sql(
                "SELECT dolt_commit('-A', '-m', ?, '--author', ?)", (text, author_of(()))
            )
            opened.exec_driver_sql("COMMIT")


def _pass(_: str) -> None:
    """No point is armed outside tests."""
