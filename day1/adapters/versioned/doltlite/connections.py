"""Connections to one DoltLite file: a small pool for each branch and each past commit in use.

A connection never changes its branch. The engine can switch one, but a ROLLBACK then brings
back the rows of the branch it was on before, under the new branch's name.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import IsolationLevel
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool
from typing_extensions import override

from day1.adapters.failures import of_system
from day1.adapters.flock import WriteLock
from day1.adapters.sqlite_failures import HARMLESS, error_name, is_sqlite, raise_translated
from day1.adapters.versioned.connections import Connections
from day1.adapters.versioned.doltlite.dbapi import driver, library
from day1.adapters.versioned.doltlite.file_checks import (
    IF_DAMAGED,
    away,
    check_head,
    check_tables,
)
from day1.errors import (
    Advice,
    NotFound,
    StoreDamaged,
    StoreUnavailable,
    UnknownBranch,
)
from day1.model.branches.branch import MAIN

READ_A_TABLE = "SELECT version FROM schema LIMIT 1"
"""A cheap read of a table, after which a connection knows other processes' commits."""
_STATES = 128
"""Maximum number of branches and commits with open connections.

A connection has 0.1 MB until it reads many rows, then at most what `Caches` lets it keep. To open
one takes 3 to 10 ms, so what goes through all branches several times keeps them open.
"""
_CONNECTIONS = 160
"""Number of connections above which the longest unused branch or commit is closed: one that writes
takes three open files of the process, which may have 1,024 in many systems."""
_LEAST_STATES = 8
"""Number of branches and commits that stay open however much memory the engine uses."""
CACHE_MB = 128
"""MB of pages that all connections of a process keep together, unless a setting says otherwise.

Each connection also keeps a list of what was written since it was opened: `_MOST_AGE_S` bounds it,
and `_MOST_USED` all that the engine keeps.
"""
_MOST_AGE_S = 120
"""Maximum age of a connection in seconds: its next use then opens another one, which has an empty
list of what was written. The list grows by up to 2 KB with each write of any connection."""
_MOST_USED = 1.5
"""The longest unused branch or commit is closed if the engine uses this multiple of `CACHE_MB`."""
MOST_KIB = 16_384
"""Maximum KiB of pages that a connection keeps; the engine's own limit is 64 MB. A reader of a
large store reads each row once, and each connection of each process would keep them."""
_LEAST_KIB = 1_024
"""KiB of pages that a connection may keep in any case."""
_STATEMENTS = 2_048
"""Number of prepared statements that all connections of a process keep together, 10 KB each."""
_LEAST_STATEMENTS = 24
"""Number of prepared statements that a connection may keep in any case: a call takes about 10."""
LARGE_CACHE = "large cache"
"""The key in the `info` of a connection with a large cache, for merges.

The engine reads three states of a table and the merged one, and reads pages several times if they
do not fit. The branch of the last merge keeps the cache, since the next merge is most often into it
too; `CACHE_MB` does not include it.
"""
_GONE_TOO = "SQLITE_BUSY_SNAPSHOT"
"""The engine's code for a write to a busy branch, and also to a deleted branch."""


class SqlAlchemyDialect(SQLiteDialect_pysqlite):
    """SQLAlchemy's dialect for SQLite; equal instances share compiled statements."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def get_default_isolation_level(self, dbapi_conn: object) -> IsolationLevel:  # noqa: ARG002 - the same for all connections
        """Return the engine's only isolation level, without asking the engine."""
        return "SERIALIZABLE"


registry.register("doltlite", __name__, SqlAlchemyDialect.__name__)


class Caches:
    """Divides the memory for pages and prepared statements among the connections of a process."""

    def __init__(self, total_kib: int) -> None:
        """Let all connections keep so many KiB of pages, but each at least `_LEAST_KIB`."""
        self._total_kib = total_kib
        self._kib_by_connection = WeakKeyDictionary[driver.Connection, int]()
        self._guard = threading.Lock()

    @property
    def total_bytes(self) -> int:
        """The bytes of pages that all connections may keep."""
        return self._total_kib * 1024

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._kib_by_connection)

    def limit(self, connection: driver.Connection) -> None:
        """Let a connection keep equal parts, and of pages what is free if that is less."""
        with self._guard:
            present_kib = self._kib_by_connection.get(connection, 0)
            free_kib = self._total_kib - sum(self._kib_by_connection.values()) + present_kib
            connection_count = len(self._kib_by_connection) + (not present_kib)
            equal_kib = self._total_kib // connection_count
            kib = max(_LEAST_KIB, min(MOST_KIB, equal_kib, free_kib))
            self._kib_by_connection[connection] = kib
        statement_count = max(_LEAST_STATEMENTS, _STATEMENTS // connection_count)
        connection.kept_statements = min(driver.KEPT_STATEMENTS, statement_count)
        if kib != present_kib:
            connection.execute(f"PRAGMA cache_size = -{kib}")


class DoltLiteConnections(Connections):
    """Connections to the branches and commits of a DoltLite file."""

    slow_at_commit = True
    """True: opening a commit takes 6 ms, while branches are mostly open."""
    own_caches = True
    """True: another connection reads a table of 100,000 rows anew in 100 ms."""

    def __init__(
        self, path: Path, lock: WriteLock, *, read_only: bool, busy_timeout_s: float, cache_mb: int
    ) -> None:
        """Set the DoltLite file and the lock of its writers; open no connection yet."""
        self._caches = Caches(cache_mb * 1024)
        self.path = path
        self.lock = lock
        self._read_only = read_only
        self._busy_ms = int(busy_timeout_s * 1000)
        self._compiled: dict[Any, Any] = {}
        self._engines: OrderedDict[tuple[str, str], Engine] = OrderedDict()
        self._guard = threading.Lock()
        self._seen = (0, 0)
        self._merged_into: str | None = None

    @override
    @contextmanager
    def on_branch(self, branch: str) -> Iterator[Connection]:
        with self._open("branch", branch) as connection:
            yield connection

    @override
    @contextmanager
    def at_commit(self, commit: str) -> Iterator[Connection]:
        with self._open("commit", commit) as connection:
            yield connection

    @override
    @contextmanager
    def exclusive(self, branch: str) -> Iterator[Connection]:
        """Open a connection on a branch under the lock of the file: the engine has one writer."""
        with self.lock.held(), self.on_branch(branch) as connection:
            yield connection

    @override
    @contextmanager
    def fresh(self, branch: str = MAIN) -> Iterator[Connection]:
        """Open a connection on a branch, and read a table so that it sees others' commits."""
        with self.on_branch(branch) as connection:
            self.execute(connection, READ_A_TABLE)
            yield connection

    @override
    def begin(self, connection: Connection, *, writes: bool) -> None:
        """Begin a transaction; its first read of a table sees other processes' commits."""
        self.execute(connection, "BEGIN IMMEDIATE" if writes else "BEGIN")

    @override
    def end(self, connection: Connection) -> None:
        self.execute(connection, "COMMIT")

    def _engine(self, what: str, name: str) -> Engine:
        with self._guard:
            engine = self._engines.pop((what, name), None) or self._create(what, name)
            self._engines[what, name] = engine
            evicted_engine = self._engines.popitem(last=False)[1] if self._has_too_many() else None
        if evicted_engine is not None:
            evicted_engine.dispose()
        return engine

    def _has_too_many(self) -> bool:
        count = len(self._engines)
        if count > _STATES or (count > 1 and len(self._caches) > _CONNECTIONS):
            return True
        limit = _MOST_USED * self._caches.total_bytes
        return count > _LEAST_STATES and library.memory_used() > limit

    def _create(self, what: str, name: str) -> Engine:
        def connect() -> Any:
            if what == "branch" and not self._read_only:
                # The engine reads a damaged log up to the damage. Opened for writing at a branch
                # that is missing there, it makes that the newest state. So look first.
                with closing(self._reader(branch=name)) as reader:
                    check_tables(reader, self.path)
            driver_connection = driver.connect(
                str(self.path),
                branch=name if what == "branch" else None,
                commit=name if what == "commit" else None,
                mode="ro" if self._read_only else "rw",
                busy_timeout_ms=self._busy_ms,
            )
            self._caches.limit(driver_connection)
            return driver_connection

        return create_engine(
            "doltlite://",
            module=driver,
            creator=connect,
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=56,
            pool_use_lifo=True,
            pool_recycle=_MOST_AGE_S,
            pool_reset_on_return=None,  # `_leave` rolls back
            isolation_level="AUTOCOMMIT",
            # One cache of compiled statements for all states.
            execution_options={"compiled_cache": self._compiled},
        )

    def _connect(self, what: str, name: str) -> Connection:
        try:
            return self._engine(what, name).connect()
        except DBAPIError as exc:
            if not error_name(exc).startswith("SQLITE_CANTOPEN"):
                raise
            if name in self._look():  # made again meanwhile; or the engine cannot read the file
                return self._engine(what, name).connect()
            if what == "commit":
                raise NotFound(
                    f"There is no commit {name}.",
                    Advice("{memory_log} lists commits."),
                    commit=name,
                ) from exc
            raise _no_branch(name) from exc

    def _look(self) -> set[str]:
        """Check that the file is a readable store, and return its branches.

        Raises:
            StoreDamaged, StoreVersionUnknown: the file is no readable store.
        """
        check_head(self.path)
        with closing(self._reader()) as reader:
            check_tables(reader, self.path)
            branch_names = {
                str(name) for (name,) in reader.execute("SELECT name FROM dolt_branches")
            }
        if MAIN not in branch_names:
            raise StoreDamaged(f"{self.path.name} is damaged: {IF_DAMAGED}", file=self.path.name)
        return branch_names

    def _reader(self, branch: str | None = None) -> driver.Connection:
        return driver.connect(self.path, branch=branch, mode="ro", busy_timeout_ms=self._busy_ms)

    def file(self) -> os.stat_result:
        """Return the file's status; the file existed when the store was opened.

        Raises:
            StoreUnavailable: the file is missing now.
        """
        try:
            return self.path.stat()
        except FileNotFoundError as exc:
            raise StoreUnavailable(away(self.path), file=self.path.name) from exc
        except OSError as exc:
            raise of_system(exc, self.path, writing=False) from exc

    @contextmanager
    def _open(self, what: str, name: str) -> Iterator[Connection]:
        self._watch()
        try:
            with self._connect(what, name) as connection:
                try:
                    yield connection
                except Exception as exc:
                    if is_sqlite(exc) and not error_name(exc).startswith(HARMLESS):
                        connection.invalidate()
                        check_head(self.path)  # the file may be missing or replaced
                    if error_name(exc) == _GONE_TOO and name not in self._look():
                        connection.invalidate()  # another process deleted the branch
                        raise _no_branch(name) from exc
                    raise
                finally:
                    self._leave(connection)
                    if not connection.invalidated and LARGE_CACHE in connection.info:
                        self._merged(name)
        except Exception as exc:
            raise_translated(exc, self.path.name, IF_DAMAGED)
            raise

    def _merged(self, branch: str) -> None:
        """Record a merge into a branch; close the large caches of the branch of the last merge."""
        with self._guard:
            former_branch, self._merged_into = self._merged_into, branch
        if former_branch not in {None, branch}:
            self.forget_branch(str(former_branch))

    def _leave(self, connection: Connection) -> None:
        """Roll back a connection's open transaction, and look at the file."""
        if not connection.invalidated:
            driver_connection: Any = connection.connection.driver_connection
            try:
                driver_connection.rollback()
                if LARGE_CACHE not in connection.info:
                    self._caches.limit(driver_connection)
            except driver.Error:
                connection.invalidate()
            except BaseException:  # Ctrl-C: a transaction may still be open
                connection.invalidate()
                raise
        with suppress(StoreUnavailable):  # the work itself has succeeded
            self._watch()

    def _watch(self) -> None:
        """Close all connections if the file was replaced, since their caches are wrong then.

        Compaction, purging and restoring a backup replace the file. A file only grows, so a smaller
        file had a backup copied over it.

        Raises:
            StoreUnavailable: the file is missing. Open connections would still work, but writes to
                a deleted file would be lost.
        """
        with self._guard:
            file_status = self.file()
            seen_inode, seen_size = self._seen
            self._seen = file_status.st_ino, file_status.st_size
        if seen_inode and (seen_inode != file_status.st_ino or file_status.st_size < seen_size):
            self.close()

    @staticmethod
    def execute(connection: Connection, statement: str) -> None:
        """Run a statement without values or result on the driver itself.

        SQLAlchemy's set-up of a result takes four times as long as such a statement.
        """
        driver_connection: Any = connection.connection.driver_connection
        driver_connection.execute(statement)

    def forget_commits(self) -> None:
        """Close connections to past commits (compaction may have removed them)."""
        with self._guard:
            commit_keys = [key for key in self._engines if key[0] == "commit"]
            engines = [self._engines.pop(key) for key in commit_keys]
        for engine in engines:
            engine.dispose()

    def forget_branch(self, branch: str) -> None:
        """Close connections to a deleted branch."""
        with self._guard:
            engine = self._engines.pop(("branch", branch), None)
        if engine is not None:
            engine.dispose()

    @override
    def close(self) -> None:
        with self._guard:
            engines = list(self._engines.values())
            self._engines.clear()
        for engine in engines:
            engine.dispose()


def _no_branch(name: str) -> UnknownBranch:
    return UnknownBranch(
        f"There is no branch {name!r}.",
        Advice("{memory_branch_list} shows those there are."),
        branch=name,
    )
