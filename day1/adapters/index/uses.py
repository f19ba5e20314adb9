"""The file `uses.db`: which memories this machine has shown, and when (stock SQLite).

A damaged file is moved aside, and counting begins again.
"""

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from typing_extensions import override

from day1.adapters.index.failures import error_name, is_damage
from day1.adapters.index.words import as_text
from day1.ports.uses import USED, Branches, Use, Uses

log = logging.getLogger(__name__)

FILE = "uses.db"
_WAIT_S = 1.0
_TABLE = """
CREATE TABLE IF NOT EXISTS shown (
    row_id TEXT, branch_id TEXT, times INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (row_id, branch_id)) WITHOUT ROWID"""
_EARLIER = "SELECT row_id, NULL AS branch_id, times, last FROM uses"
"""The query for the counts of an earlier day1, which have no branches."""
_ON_BRANCHES = "branch_id IN (SELECT value FROM json_each(?))"
_OF_ROWS = "row_id IN (SELECT value FROM json_each(?))"
_ALL = "SELECT row_id, sum(times) AS times, max(last) AS last FROM ({}) WHERE {} GROUP BY row_id"
_MOST_USED = " HAVING sum(times) > 0 ORDER BY sum(times) DESC, max(last) DESC, row_id LIMIT ?"
_LAST_USED = " HAVING sum(times) > 0 ORDER BY max(last) DESC, row_id LIMIT ?"
_ADD_SHOWN = """
INSERT INTO shown (row_id, branch_id, times, last) VALUES (?, ?, ?, ?)
ON CONFLICT (row_id, branch_id) DO UPDATE
SET times = times + excluded.times, last = max(last, excluded.last)"""
_CACHED_SETS = 50
"""Maximum number of sets of branches in the cache of the most shown memories, then emptied."""


class FileUses(Uses):
    """`ports.uses.Uses` in the store's folder; threads and processes may share it."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        """Prepare without opening the file; `close` ends the use of it."""
        self._path = folder / FILE
        self._read_only = read_only
        self._guard = threading.Lock()
        """Held by the thread that uses the connection."""
        self._connection: sqlite3.Connection | None = None
        self._most: dict[Branches, tuple[tuple[int, ...], dict[str, Use]]] = {}
        """Cached most shown memories, by branches; reading takes 10 ms for 50,000 memories."""
        self._file: tuple[int, int] | None = None
        """The device and inode of the file that was opened last, and is still open."""

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._guard:
            self._disconnect()

    @override
    def shown(self, row_ids: Sequence[str], at: int, branch_id: str) -> None:
        if self._read_only or not row_ids:
            return
        with self._usable(), self._opened() as connection, connection:
            connection.execute(_TABLE)
            ranked_ids = enumerate(row_ids)
            connection.executemany(
                _ADD_SHOWN,
                [(row_id, branch_id, int(rank < USED), at) for rank, row_id in ranked_ids],
            )

    @override
    def known(self, branches: Branches = None) -> Mapping[str, Use]:
        return self._read(branches)

    @override
    def of(self, row_ids: Collection[str], branches: Branches = None) -> Mapping[str, Use]:
        return self._read(branches, row_ids) if row_ids else {}

    @override
    def most(self, count: int, branches: Branches = None) -> Mapping[str, Use]:
        try:
            file_status = self._path.stat()
        except OSError:
            return {}
        file_state = (count, file_status.st_ino, file_status.st_size, file_status.st_mtime_ns)
        cached_state, most_shown = self._most.get(branches, ((), {}))
        if file_state != cached_state:
            most_used = self._read(branches, None, _MOST_USED, count)
            most_shown = {**most_used, **self._read(branches, None, _LAST_USED, count)}
            if len(self._most) >= _CACHED_SETS:
                self._most.clear()
            self._most[branches] = file_state, most_shown
        return most_shown

    def _read(
        self,
        branches: Branches,
        rows: Collection[str] | None = None,
        order: str = "",
        *limit: int,
    ) -> dict[str, Use]:
        with self._usable():
            if self._path.exists():
                with self._opened() as connection:
                    return _counted(connection, branches, rows, order, *limit)
        return {}

    def is_whole(self) -> bool:
        """Whether the whole file can be read; a missing file counts as readable."""
        try:
            if self._path.exists():
                with self._opened() as connection:
                    _counted(connection, None)
                    return bool(connection.execute("PRAGMA quick_check").fetchone() == ("ok",))
        except Exception:  # noqa: BLE001 - what a damaged file makes a reader raise is any
            return False
        return True

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection to one thread at a time; it is opened again after any error."""
        with self._guard:
            if self._connection is None or self._identity() != self._file:
                self._disconnect()
                self._connection = self._connect()
            try:
                yield self._connection
            except BaseException:
                self._disconnect()
                raise

    def _connect(self) -> sqlite3.Connection:
        if not self._read_only:
            with suppress(FileExistsError):  # only this user may read the file
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._file = self._identity()
        connection = sqlite3.connect(self._path, timeout=_WAIT_S, check_same_thread=False)
        connection.execute("PRAGMA synchronous = OFF")  # a crash loses only counts
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except Exception as exc:  # noqa: BLE001 - what a damaged file makes a reader raise is any
            log.warning("%s cannot be used: %s", FILE, error_name(exc))
            if is_damage(exc) and not self._read_only:
                with suppress(OSError):
                    self._move_aside()

    def _identity(self) -> tuple[int, int] | None:
        with suppress(FileNotFoundError):
            file_status = self._path.stat()
            return file_status.st_dev, file_status.st_ino
        return None

    def _move_aside(self) -> None:
        """Move the damaged file aside, unless another process has done so already."""
        if self._file is not None and self._identity() == self._file:
            self._path.with_name(f"{FILE}-journal").unlink(missing_ok=True)
            self._path.replace(self._path.with_name(f"{FILE}.damaged"))


def _counted(
    connection: sqlite3.Connection,
    branches: Branches,
    row_ids: Collection[str] | None = None,
    order: str = "",
    *limit: int,
) -> dict[str, Use]:
    """Read how often and when memories were shown on these branches; None: on all branches."""
    present_tables_query = "SELECT name FROM sqlite_schema WHERE name IN ('shown', 'uses')"
    table_names = {name for (name,) in connection.execute(present_tables_query)}
    table_queries = ["SELECT * FROM shown"] if "shown" in table_names else []
    table_queries += [_EARLIER] if "uses" in table_names and branches is None else []
    if not table_queries:
        return {}
    ids_by_condition = {_ON_BRANCHES: branches, _OF_ROWS: row_ids}
    ids_json_by_condition = {
        id_condition: json.dumps(sorted(ids))
        for id_condition, ids in ids_by_condition.items()
        if ids is not None
    }
    where_clause = " AND ".join(ids_json_by_condition) or "TRUE"
    statement = _ALL.format(" UNION ALL ".join(table_queries), where_clause) + order
    rows = connection.execute(statement, (*ids_json_by_condition.values(), *limit))
    return {as_text(row_id): _use(times, last_shown) for row_id, times, last_shown in rows}


def _use(times: object, last: object) -> Use:
    """Build a `Use` from two cells of the file.

    Raises:
        TypeError: the cells are not numbers, because the file is damaged.
    """
    if not (isinstance(times, int) and isinstance(last, int)):
        raise TypeError
    return Use(times, last)
