"""The file `uses.db`: which memories this node has shown, and when (stock SQLite).

A damaged file is moved aside, and counting begins anew.
"""

import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from typing_extensions import override

from day1.adapters.index.failures import error_name, is_damage
from day1.adapters.index.words import as_text
from day1.ports.uses import Use, Uses

log = logging.getLogger(__name__)

FILE = "uses.db"
_WAIT_S = 1.0
_TABLE = """
CREATE TABLE IF NOT EXISTS uses (
    row_id TEXT PRIMARY KEY, times INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID"""
_ALL = "SELECT row_id, times, last FROM uses"
_OFTEN = f"{_ALL} ORDER BY times DESC, last DESC LIMIT ?"
_LAST = f"{_ALL} ORDER BY last DESC LIMIT ?"
_SHOWN = """
INSERT INTO uses (row_id, times, last) VALUES (?, 1, ?)
ON CONFLICT (row_id) DO UPDATE SET times = times + 1, last = max(last, excluded.last)"""


class FileUses(Uses):
    """`ports.uses.Uses` in the store's folder; threads and processes may share it."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        """Open nothing yet."""
        self._path = folder / FILE
        self._read_only = read_only
        self._most: tuple[tuple[int, ...], dict[str, Use]] = (), {}
        """What was read last: to look through the file takes 10 ms for 50,000 memories."""
        self._file: tuple[int, int] | None = None
        """The device and the inode of the file that was opened last."""

    @override
    def shown(self, row_ids: Sequence[str], at: int) -> None:
        if self._read_only or not row_ids:
            return
        with self._usable(), self._opened() as connection, connection:
            connection.execute(_TABLE)
            connection.executemany(_SHOWN, [(row_id, at) for row_id in row_ids])

    @override
    def known(self) -> Mapping[str, Use]:
        return self._read(_ALL)

    @override
    def most(self, count: int) -> Mapping[str, Use]:
        try:
            found = self._path.stat()
        except OSError:
            return {}
        state = (count, found.st_ino, found.st_size, found.st_mtime_ns)
        known, most = self._most
        if state != known:
            most = {**self._read(_OFTEN, count), **self._read(_LAST, count)}
            self._most = state, most
        return most

    def _read(self, statement: str, *limit: int) -> dict[str, Use]:
        with self._usable():
            if self._path.exists():
                with self._opened() as connection:
                    rows = connection.execute(statement, limit)
                    return {as_text(row_id): _use(times, last) for row_id, times, last in rows}
        return {}

    def is_whole(self) -> bool:
        """Read all of the file; whether that works, or there is none."""
        try:
            if self._path.exists():
                with self._opened() as connection:
                    for row_id, times, last in connection.execute(_ALL):
                        as_text(row_id), _use(times, last)
                    return bool(connection.execute("PRAGMA quick_check").fetchone() == ("ok",))
        except Exception:  # noqa: BLE001 - what a damaged file makes a reader raise is any
            return False
        return True

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if not self._read_only:
            with suppress(FileExistsError):  # nobody else may read what is in the folder
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        self._file = self._identity()
        with closing(sqlite3.connect(self._path, timeout=_WAIT_S)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # what a crash loses is no memory
            yield connection

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
            found = self._path.stat()
            return found.st_dev, found.st_ino
        return None

    def _move_aside(self) -> None:
        """Let the next use begin anew, unless another process has done so already."""
        if self._file is not None and self._identity() == self._file:
            self._path.with_name(f"{FILE}-journal").unlink(missing_ok=True)
            self._path.replace(self._path.with_name(f"{FILE}.damaged"))


def _use(times: object, last: object) -> Use:
    """What two cells say.

    Raises:
        TypeError: they are no numbers, because the file is damaged.
    """
    if not (isinstance(times, int) and isinstance(last, int)):
        raise TypeError
    return Use(times, last)
