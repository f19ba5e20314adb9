"""The embedded store: one DoltLite file, units of work under one lock."""

import os
from collections.abc import Hashable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, insert
from typing_extensions import override

from day1.adapters.failures import of_system
from day1.adapters.flock import PAUSE_FILE, WriteLock, read_note, write_note
from day1.adapters.rows.steps import check_schema
from day1.adapters.rows.tables import SCHEMA, SCHEMA_ROW, versioned
from day1.adapters.sqlite_failures import translated
from day1.adapters.versioned.doltlite.connections import CACHE_MB, DoltLiteConnections
from day1.adapters.versioned.doltlite.dbapi import driver
from day1.adapters.versioned.doltlite.dbapi.library import engine_version
from day1.adapters.versioned.doltlite.dialect import DoltLiteDialect
from day1.adapters.versioned.doltlite.file_checks import away, check_tables
from day1.adapters.versioned.doltlite.history import DoltLiteHistory
from day1.adapters.versioned.history import author_of, encode
from day1.adapters.versioned.store import SqlStore
from day1.errors import Day1Error, InvalidRequest, Json, NotAStore, StoreUnavailable
from day1.model.rows.change import Message
from day1.model.values.callbacks import Clock
from day1.ports.store import Capabilities

FILE = "memory.db"
"""The name of the store's file."""
LOCK_FILE = "lock"
"""The name of the file that writers lock."""
LEDGER = "ledger.db"
"""The name of the ledger's file."""
_PAUSE_WAIT_S = 5.0
"""Seconds to wait for the lock of `PAUSE_FILE`; callers that check it hold it for microseconds."""
_LONGEST = 480
"""Maximum number of bytes of a store's path: the engine allows 512 with the names of its files."""


class DoltLiteStore(SqlStore):
    """A store in a folder that holds `memory.db`."""

    _connections: DoltLiteConnections

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        read_only: bool = False,
        wait_s: float = 10.0,
        cache_mb: int = CACHE_MB,
    ) -> None:
        """Open an existing store.

        Raises:
            NotAStore: the folder holds no memory.db.
            StoreDamaged: memory.db cannot be read.
            StoreVersionUnknown: its schema or file format is of another version.
        """
        file_path = folder / FILE
        if not _is_file(file_path):
            _refuse_part(folder)
            raise NotAStore(
                f"{folder} holds no day1 store; `day1 init` makes one.", folder=str(folder)
            )
        write_lock = WriteLock(folder / LOCK_FILE, wait_s)
        self._connections = DoltLiteConnections(
            file_path, write_lock, read_only=read_only, busy_timeout_s=wait_s, cache_mb=cache_mb
        )
        dialect = DoltLiteDialect()
        history = DoltLiteHistory(self._connections, dialect)
        super().__init__(self._connections, dialect, history, clock)
        try:
            self._check_version()
        except Day1Error:
            self.close()
            raise

    @staticmethod
    def create(folder: Path, clock: Clock) -> bool:
        """Make a store's file with its tables and first commit; return False if it exists.

        The file is written under another name first, so that a crash leaves no half store. The
        connection that made the file is not used again.
        """
        file_path = folder / FILE
        if _is_file(file_path):
            return False
        _refuse_part(folder)
        _make_folder(folder)
        with WriteLock(folder / LOCK_FILE, 60.0).held(), translated(FILE):
            if file_path.exists():
                return False
            new_file = folder / f"{FILE}.new"
            new_file.unlink(missing_ok=True)
            try:
                _write_tables(new_file, clock())
                new_file.rename(file_path)
            finally:
                new_file.unlink(missing_ok=True)
                (folder / f".{new_file.name}-lock").unlink(missing_ok=True)
        return True

    @property
    @override
    def capabilities(self) -> Capabilities:
        return Capabilities(
            engine="doltlite",
            version=engine_version(),
            row_history=True,
            compaction=True,
        )

    @override
    def stamp(self) -> Hashable:
        """Return the file's inode, size and time; the file grows with every unit."""
        file_status = self._connections.file()
        return file_status.st_ino, file_status.st_size, file_status.st_mtime_ns

    @override
    def size(self) -> int:
        return self._connections.file().st_size

    @override
    def compact(self, above: int = 0) -> dict[str, Json]:
        """Compact the file by `dolt_gc`; other writers wait meanwhile, longer than for each other.

        The new size is written to the file whose lock tells them of the compaction.
        """
        pause_lock = WriteLock(self._pause_file, _PAUSE_WAIT_S)
        with self._connections.lock.held(), pause_lock.held():
            bytes_before = self.size()
            if bytes_before <= above:
                return {"bytes_before": bytes_before, "bytes_after": bytes_before}
            self._connections.forget_commits()
            self.point("compact.before")
            with self._connections.on_branch("main") as connection:
                connection.exec_driver_sql("SELECT dolt_gc()")
            bytes_after = self.size()
            self.point("compact.done")
            with suppress(OSError):  # then the next process estimates the size
                write_note(self._pause_file, str(bytes_after))
        return {"bytes_before": bytes_before, "bytes_after": bytes_after}

    @override
    def compact_size(self) -> int | None:
        try:
            return max(int(read_note(self._pause_file)), 0) or None
        except (OSError, ValueError):  # there was no compaction, or its process died
            return None

    @property
    def _pause_file(self) -> Path:
        return self._connections.path.with_name(PAUSE_FILE)

    @override
    def check(self) -> list[str]:
        """Check every page of the file and return the problems: 72 s for 12 GB."""
        with self._connections.on_branch("main") as connection:
            check_lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            return [str(check_line) for check_line in check_lines if check_line != "ok"]

    def _check_version(self) -> None:
        with self._connections.on_branch("main") as connection:
            driver_connection: Any = connection.connection.driver_connection
            check_tables(driver_connection, self._connections.path)
            self.history.oldest = check_schema(connection)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as exc:
        raise of_system(exc, path, writing=False) from exc


def _refuse_part(folder: Path) -> None:
    """Refuse to make a store beside the ledger of a store whose memory.db is missing.

    Raises:
        StoreUnavailable: the folder has a ledger.
    """
    if _is_file(folder / LEDGER):
        raise StoreUnavailable(away(folder / FILE), file=FILE)


def _make_folder(folder: Path) -> None:
    """Make a store's folder if it is missing.

    Raises:
        InvalidRequest: the path is too long for the engine.
        NotAStore, StoreReadOnly, StoreFull: the operating system refused.
    """
    path_bytes = len(os.fsencode(folder.absolute()))
    if path_bytes > _LONGEST:
        raise InvalidRequest(
            f"The path of the store has {path_bytes} bytes, and the engine allows {_LONGEST}: "
            "choose a shorter path.",
            path=str(folder),
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise of_system(exc, folder, writing=True) from exc
    close_to_others(folder)


def close_to_others(folder: Path) -> None:
    """Make this process create private files if the folder is private.

    Otherwise everybody could read the engine's files once they are copied. In a folder that its
    owner opened to a group, new files stay open to the group.
    """
    with suppress(OSError):  # opening the folder will report the problem
        if not folder.stat().st_mode & 0o077:
            os.umask(os.umask(0o077) | 0o077)


def _write_tables(path: Path, now: int) -> None:
    with closing(driver.connect(path, mode="rwc")) as driver_connection:
        engine = create_engine(
            "sqlite://",
            module=driver,
            creator=lambda: driver_connection,
            isolation_level="AUTOCOMMIT",
        )
        with engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            versioned.create_all(connection, checkfirst=False)
            connection.execute(insert(SCHEMA), SCHEMA_ROW)
            message = encode(Message("init", "init"), now, (), {})
            connection.exec_driver_sql(
                "SELECT dolt_commit('-A', '-m', ?, '--author', ?)", (message, author_of(()))
            )
            connection.exec_driver_sql("COMMIT")
