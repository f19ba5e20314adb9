"""The embedded store's ledger: a stock SQLite file in WAL mode."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import create_engine
from sqlalchemy.pool import QueuePool, StaticPool

from day1.adapters.failures import of_system
from day1.adapters.ledger.ledger import FileWatch, SqlLedger, renew
from day1.adapters.ledger.lock_and_watch import WHOLE, Locks
from day1.adapters.ledger.schema import own_tables
from day1.adapters.ledger.tables import VERSION, check_version
from day1.adapters.sqlite_failures import translated
from day1.errors import Day1Error, StoreBusy, StoreDamaged, StoreReadOnly

FILE = "ledger.db"
"""The name of the ledger's file."""
_LOOK_S = 10.0
"""Seconds to wait for a writer of the file when checking that it is day1's."""
_TABLES_THERE = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
IF_DAMAGED = (
    "nothing was changed. Stop what uses the store, and move the file away with its -wal and -shm. "
    "Restore a backup, if there is one. Without one day1 rebuilds the branches; their notes, the "
    "snapshots and the records of merges are lost. No memory is."
)
"""What to do if the file is damaged."""


def open_ledger(folder: Path, locks: Locks, *, read_only: bool, wait_s: float) -> SqlLedger:
    """Open `ledger.db`; make it if it is missing and the store may be written."""
    path = folder.absolute() / FILE
    if not read_only and not path.exists():
        with locks.held(WHOLE, wait_s):
            _make(path)

    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path, read_only=read_only, wait_s=wait_s),
        poolclass=QueuePool,
        pool_size=4,
        max_overflow=60,
    )

    connect_watch = partial(_connect, path, read_only=False, wait_s=wait_s)
    watch = FileWatch(path, connect_watch)
    if read_only:  # the mode depends on whether others write to the file
        renew(engine, lambda: (watch.file(), _mode(path, read_only=True)))
    else:
        renew(engine, watch.file)
    ledger = SqlLedger(engine, locks, FILE, IF_DAMAGED, None if read_only else watch)
    try:
        _bring_up(ledger, path, wait_s, read_only=read_only)
    except Day1Error:
        ledger.close()
        raise
    return ledger


def _bring_up(ledger: SqlLedger, path: Path, wait_s: float, *, read_only: bool) -> None:
    """Upgrade the file to this day1's version, or make its tables."""
    with _untouched(path, wait_s, read_only=read_only) as connection:
        version = _version(connection)
        if version == VERSION:
            return
        _check_own(connection, version)
        check_version(version, FILE)
        if read_only:
            raise StoreReadOnly(
                f"{FILE} was made by an older day1, and may not be written: open the store once "
                "where it can be written, or copy the folder and use the copy.",
                file=FILE,
            )
        ledger.create(version)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def check_file(folder: Path) -> None:
    """Make sure that a folder's `ledger.db`, if there is one, is a ledger.

    Raises:
        ForeignStore: the file belongs to another program.
    """
    path = folder.absolute() / FILE
    if os.path.isfile(path):  # noqa: PTH113 - False for a path that the system rejects
        with _untouched(path, _LOOK_S, read_only=False) as connection:
            _check_own(connection, _version(connection))


@contextmanager
def _untouched(path: Path, wait_s: float, *, read_only: bool) -> Iterator[sqlite3.Connection]:
    """Open a file that may be another program's, without switching it to WAL mode."""
    with (
        translated(FILE, IF_DAMAGED),
        closing(_open(path, read_only=read_only, wait_s=wait_s)) as connection,
    ):
        yield connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_own(raw: sqlite3.Connection, version: int) -> None:
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    with engine.connect() as connection:
        own_tables(connection, version, FILE)


def copy_ledger(folder: Path, to: Path, wait_s: float) -> None:
    """Copy the state of `ledger.db` into another folder while others may write."""
    with (
        translated(FILE, IF_DAMAGED),
        closing(_connect(folder / FILE, read_only=False, wait_s=wait_s)) as live_connection,
        closing(sqlite3.connect(to / FILE)) as copy_connection,
    ):
        # A copy that a crash damages is made again.
        copy_connection.execute("PRAGMA synchronous=OFF")
        live_connection.backup(copy_connection)


def scrub_ledger(folder: Path, wait_s: float) -> None:
    """Rewrite `ledger.db` without its free pages, and empty its log.

    Raises:
        StoreBusy: other processes kept reading the file.
    """
    with (
        translated(FILE, IF_DAMAGED),
        closing(_connect(folder / FILE, read_only=False, wait_s=wait_s)) as connection,
    ):
        connection.execute("VACUUM")
        is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if is_busy:
        raise StoreBusy(f"Other processes keep reading {FILE}: try again.", file=FILE)


def count_records(folder: Path) -> dict[str, int]:
    """Count the rows of each table in a copy of a ledger, after checking the copy.

    Raises:
        StoreDamaged: the copy is damaged.
    """
    with (
        translated(FILE, IF_DAMAGED),
        closing(_connect(folder / FILE, read_only=True)) as connection,
    ):
        integrity_report = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if integrity_report != "ok":
            raise StoreDamaged(f"{FILE} is damaged: {IF_DAMAGED}", file=FILE)
        table_names = [table_name for (table_name,) in connection.execute(_TABLES_THERE)]
        count_query = 'SELECT count(*) FROM "{}"'
        return {
            table_name: connection.execute(count_query.format(table_name)).fetchone()[0]
            for table_name in table_names
        }


def _open(path: Path, *, read_only: bool, wait_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={_mode(path, read_only=read_only)}",
        uri=True,
        timeout=wait_s,
        isolation_level=None,
        check_same_thread=False,
    )


def _connect(path: Path, *, read_only: bool, wait_s: float = 0.0) -> sqlite3.Connection:
    connection = _open(path, read_only=read_only, wait_s=wait_s)
    try:
        if not read_only:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _make(path: Path) -> None:
    """Make the file under another name and rename it, so that others see it in WAL mode only.

    The log of a deleted file is removed first: SQLite would play it into the new file.
    """
    if path.exists():
        return
    new_file = path.with_name(f"{FILE}.new")
    try:
        for old_file in (new_file, path.with_name(f"{FILE}-wal"), path.with_name(f"{FILE}-shm")):
            old_file.unlink(missing_ok=True)
        with translated(FILE), closing(sqlite3.connect(new_file)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        new_file.rename(path)
    except OSError as exc:
        raise of_system(exc, path, writing=True) from exc
    finally:
        new_file.unlink(missing_ok=True)


def _mode(path: Path, *, read_only: bool) -> str:
    """Return the `mode` of SQLite's URI for opening the file: `rw`, `ro`, or `ro` and immutable.

    In a read-only folder a file in WAL mode opens only as immutable. That is wrong while a log lies
    beside it: somebody writes, or was killed.
    """
    if not read_only:
        return "rw"
    log_path = path.with_name(f"{FILE}-wal")
    if not log_path.exists() or not log_path.stat().st_size:
        return "ro&immutable=1"
    if not path.with_name(f"{FILE}-shm").exists():
        raise StoreReadOnly(
            f"{FILE} was not closed, and its folder may not be written: open the store once where "
            "it can be written, or copy the folder and use the copy.",
            file=FILE,
        )
    return "ro"
