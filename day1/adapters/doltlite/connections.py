"""Connections to one DoltLite file: a pool for branches, and read-only ones at commits."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from day1.adapters.doltlite import driver
from day1.adapters.sql.failures import DISCARD, error_name, translated
from day1.errors import NotFound, UnknownBranch

_DETACHED = 16
"""Past commits kept open; each costs about 1 MB."""


class Connections:
    """Hands out connections that stand on the branch or commit asked for."""

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float) -> None:
        """Open nothing yet; `path` is the DoltLite file."""
        self.path = path
        self._read_only = read_only
        self._busy_ms = int(busy_timeout_s * 1000)
        self._compiled: dict[Any, Any] = {}
        self._live = self._engine(None)
        self._detached: OrderedDict[str, Engine] = OrderedDict()
        self._guard = threading.Lock()

    def _engine(self, commit: str | None) -> Engine:
        def connect() -> Any:
            return driver.connect(
                str(self.path),
                commit=commit,
                read_only=self._read_only,
                busy_timeout_ms=self._busy_ms,
            )

        return create_engine(
            "sqlite://",
            module=driver,
            creator=connect,
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=56,
            pool_use_lifo=True,
            isolation_level="AUTOCOMMIT",
            # One cache of compiled statements, so that a past commit costs no compiling.
            execution_options={"compiled_cache": self._compiled},
        )

    @contextmanager
    def on(self, branch: str) -> Iterator[Connection]:
        """A connection whose plain table names mean `branch`.

        Raises:
            UnknownBranch: the engine has no such branch.
        """
        with self._open(self._live) as connection:
            if connection.info.get("branch") != branch:
                connection.info["branch"] = None
                try:
                    connection.exec_driver_sql("SELECT dolt_connect_branch(?)", (branch,))
                except DBAPIError as exc:
                    if error_name(exc).startswith(("SQLITE_BUSY", "SQLITE_IOERR", "SQLITE_CORR")):
                        raise
                    raise UnknownBranch(
                        f"There is no branch {branch!r}; memory_branch_list shows those there are.",
                        branch=branch,
                    ) from exc
                connection.info["branch"] = branch
            yield connection

    @contextmanager
    def at(self, commit: str) -> Iterator[Connection]:
        """A read-only connection at a commit.

        Raises:
            NotFound: there is no such commit.
        """
        with self._guard:
            engine = self._detached.pop(commit, None) or self._engine(commit)
            self._detached[commit] = engine
            old = self._detached.popitem(last=False)[1] if len(self._detached) > _DETACHED else None
        if old is not None:
            old.dispose()
        try:
            connection = engine.connect()
        except DBAPIError as exc:
            if error_name(exc).startswith("SQLITE_CANTOPEN"):
                raise NotFound(f"There is no commit {commit}.", commit=commit) from exc
            with translated(self.path.name):
                raise
        connection.close()
        with self._open(engine) as opened:
            yield opened

    @contextmanager
    def _open(self, engine: Engine) -> Iterator[Connection]:
        with translated(self.path.name), engine.connect() as connection:
            try:
                yield connection
            except DBAPIError as exc:
                if error_name(exc).startswith(DISCARD):
                    connection.invalidate()
                raise
            finally:
                if not connection.invalidated:
                    raw: Any = connection.connection.driver_connection
                    if raw.in_transaction:
                        raw.rollback()

    def forget_commits(self) -> None:
        """Close what stands at past commits (compaction may have removed them)."""
        with self._guard:
            engines, self._detached = list(self._detached.values()), OrderedDict()
        for engine in engines:
            engine.dispose()

    def close(self) -> None:
        """Close every connection that is not in use."""
        self.forget_commits()
        self._live.dispose()
