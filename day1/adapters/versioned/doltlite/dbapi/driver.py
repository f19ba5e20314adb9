"""A DB-API 2.0 module over the engine's private library, for SQLAlchemy's SQLite dialect.

    create_engine("sqlite://", module=driver, creator=lambda: driver.connect(path), poolclass=...)

It differs from `sqlite3` where day1 needs it: the module never begins a transaction, reads a result
whole in `execute` (the engine aborts open cursors on a checkout), takes parameters by place only,
and creates a missing file only on request. Branches and commits are SQL, which it passes on.
"""

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Literal, Self
from urllib.parse import quote

from day1.adapters.versioned.doltlite.dbapi import library as engine
from day1.adapters.versioned.doltlite.dbapi.library import library
from day1.adapters.versioned.doltlite.dbapi.statement import Result, RowTuple, Statement, prepare

apilevel = "2.0"
paramstyle = "qmark"
threadsafety = 3
Binary = bytes
KEPT_STATEMENTS = 128
"""Number of prepared statements that a connection keeps unless it is told otherwise."""


class Warning(Exception):  # noqa: A001 - the name is PEP 249's
    """Never raised; PEP 249 asks for the name."""


class Error(Exception):
    """The base of all errors; an error of the engine has its extended result code and its name."""

    sqlite_errorcode: int | None = None
    sqlite_errorname: str | None = None


class InterfaceError(Error):
    """Never raised; PEP 249 asks for the name."""


class DatabaseError(Error):
    """The engine refused or failed; not a subclass: the file is damaged or no database."""


class DataError(DatabaseError):
    """The engine cannot store the value."""


class OperationalError(DatabaseError):
    """A lock, the disk or the file prevented the call, or the SQL does not compile."""


class IntegrityError(DatabaseError):
    """A constraint was broken."""


class InternalError(DatabaseError):
    """The engine met a state that should not occur."""


class ProgrammingError(DatabaseError):
    """The call is wrong, such as on a closed connection or with too few parameters."""


class NotSupportedError(DatabaseError):
    """This module leaves the feature out on purpose."""


_CLASSES: dict[str, type[DatabaseError]] = {
    "INTERNAL": InternalError,
    "NOTFOUND": InternalError,
    "CORRUPT": DatabaseError,
    "NOTADB": DatabaseError,
    "TOOBIG": DataError,
    "CONSTRAINT": IntegrityError,
    "MISMATCH": IntegrityError,
    "MISUSE": ProgrammingError,
    "RANGE": ProgrammingError,
}


def __getattr__(name: str) -> Any:
    """Provide `sqlite_version_info` for SQLAlchemy, which only the loaded engine knows."""
    if name == "sqlite_version_info":
        return tuple(int(number) for number in library().libversion().split(b"."))
    raise AttributeError(name)


def connect(
    path: str | os.PathLike[str],
    *,
    branch: str | None = None,
    commit: str | None = None,
    mode: Literal["ro", "rw", "rwc"] = "rw",
    busy_timeout_ms: int = 5000,
) -> "Connection":
    """Open a database file on its default branch, on `branch`, or at `commit` (then read-only).

    Args:
        path: The file; any character is legal in it.
        branch: A branch name; a tag or an expression such as `main~3` is refused.
        commit: 40 hex digits.
        mode: As in SQLite's URIs. `ro` refuses writes, and the folder need not be writable; `rwc`
            makes the file if it is missing.
        busy_timeout_ms: How long a statement waits for another writer.

    Raises:
        OperationalError: SQLITE_CANTOPEN: no such file, branch or commit.
        DatabaseError: the file is damaged or is no database.
    """
    absolute_path = Path(path).absolute()
    exists = absolute_path.is_file()
    if not exists and (branch or commit or mode != "rwc"):
        # The engine would create a file that is literally named `missing.db@branch`.
        raise _failure(engine.CANTOPEN, f"no such database file: {absolute_path}")
    revision = f"@{branch}" if branch else f"/{commit}" if commit else ""
    if commit or exists:
        mode = "ro" if commit or mode == "ro" else "rw"
    uri = f"file:{quote(os.fsencode(absolute_path))}{quote(revision, safe='/@')}?mode={mode}"
    connection = Connection(uri, busy_timeout_ms)
    if branch and connection.execute("SELECT active_branch()").fetchone() != (branch,):
        connection.close()
        raise _failure(engine.CANTOPEN, f'"{branch}" is not a branch')
    return connection


def _failure(code: int, message: str) -> DatabaseError:
    """Build the error for an extended result code."""
    error = _CLASSES.get(engine.primary_name(code), OperationalError)(message)
    error.sqlite_errorcode = code
    error.sqlite_errorname = engine.full_name(code)
    return error


class Connection:
    """One connection to one database file; threads may share it, one call at a time."""

    _handle: Any = None

    def __init__(self, uri: str, busy_timeout_ms: int) -> None:
        """Open `uri`, a `file:` name as SQLite defines it."""
        self._lib = library()
        self._lock = RLock()
        self._closing = Lock()
        self._statements: dict[str, Statement] = {}
        self.kept_statements = KEPT_STATEMENTS  # of 10 KB each
        self._functions: dict[tuple[str, int], Any] = {}
        handle = ctypes.c_void_p()
        code = self._lib.open_v2(uri.encode(), ctypes.byref(handle), engine.OPEN_FLAGS, None)
        self._handle = ctypes.c_void_p.from_param(handle.value)
        if code != engine.OK:
            error = self._error(code)
            self.close()
            raise error
        self._lib.busy_timeout(self._handle, busy_timeout_ms)
        self._lib.db_config(handle, engine.ENABLE_QPSG, 1, None)

    def __del__(self) -> None:
        if self._handle is not None:
            self.close()

    @property
    def isolation_level(self) -> None:
        """None, which means autocommit in `sqlite3`: the module begins no transaction."""
        return None

    @isolation_level.setter
    def isolation_level(self, level: None) -> None:
        if level is not None:
            raise NotSupportedError("this module never begins a transaction; send BEGIN")

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        with self._lock:
            return not self._lib.get_autocommit(self._open_handle())

    @property
    def total_changes(self) -> int:
        """The number of rows that statements on this connection wrote so far."""
        with self._lock:
            return int(self._lib.total_changes64(self._open_handle()))

    def cursor(self) -> "Cursor":
        """Make a cursor."""
        return Cursor(self)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> "Cursor":
        """Run one statement on a new cursor."""
        return Cursor(self).execute(sql, parameters)

    def commit(self) -> None:
        """Commit the open transaction, if any."""
        with self._lock:
            if self.in_transaction:
                self.execute("COMMIT")

    def rollback(self) -> None:
        """Roll back the open transaction, if any."""
        with self._lock:
            if self.in_transaction:
                self.execute("ROLLBACK")

    def interrupt(self) -> None:
        """Make the statement that runs in another thread fail with SQLITE_INTERRUPT."""
        with self._closing:
            if self._handle is not None:
                self._lib.interrupt(self._handle)

    def create_function(
        self, name: str, narg: int, func: Callable[..., Any] | None, *, deterministic: bool = False
    ) -> None:
        """Let SQL call `func` as `name` with `narg` arguments (-1: any number); None removes it."""
        callback = func and engine.adapt(self._lib, func)
        flags = engine.UTF8 | engine.DETERMINISTIC * deterministic
        with self._lock:
            code = self._lib.create_function_v2(
                self._open_handle(), name.encode(), narg, flags, None, callback, None, None, None
            )
            if code != engine.OK:
                raise self._error(code)
            self._functions[name.lower(), narg] = callback

    def close(self) -> None:
        """Close the connection and roll back an open transaction; closing twice is harmless."""
        with self._lock, self._closing:
            handle, self._handle = self._handle, None
            if handle is None:
                return
            try:
                self._statements.clear()
            finally:
                self._lib.close(handle)

    def run(self, sql: str, parameters: Sequence[Any]) -> Result:
        """Run one statement to its end and read all its rows.

        Raises:
            Error: the engine failed; `ProgrammingError` and `DataError`: the parameters are wrong.
        """
        lib = self._lib
        with self._lock:
            statement = self._take(sql)
            if statement is None:
                return Result()
            try:
                buffers = self._bind(statement, parameters)
                code = lib.step(statement.handle)
                description = statement.description() if statement.columns else None
                rows: list[RowTuple] = []
                if code == engine.ROW:
                    code, rows = statement.fetch(len(description or ()))
                del buffers
                if code != engine.DONE:
                    raise self._error(code)
                if not statement.changes_rows:
                    return Result(rows, description)
                rowcount, row_id = lib.changes64(self._handle), lib.last_insert_rowid(self._handle)
                return Result(rows, description, rowcount, row_id)
            except UnicodeDecodeError as error:
                raise DataError("a text in the database is not UTF-8") from error
            finally:
                self._give_back(sql, statement)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> Result:
        """Run one statement without results once for each row of parameters.

        The first failing row ends the call; the rows before it stay in the transaction.
        """
        lib = self._lib
        with self._lock:
            statement = self._take(sql)
            if statement is None:
                return Result()
            # Only the first row may wait for the lock, and in a transaction not even that.
            step = lib.step
            later_step = step if lib.get_autocommit(self._handle) else lib.next_step
            changed_rows = 0
            try:
                for parameters in rows:
                    buffers = self._bind(statement, parameters)
                    code = step(statement.handle)
                    del buffers
                    if code == engine.ROW:
                        raise ProgrammingError("executemany takes no statement with results")
                    if code != engine.DONE:
                        raise self._error(code)
                    lib.reset(statement.handle)
                    lib.clear_bindings(statement.handle)
                    changed_rows += lib.changes64(self._handle)
                    step = later_step
                return Result(rowcount=changed_rows if statement.changes_rows else -1)
            finally:
                self._give_back(sql, statement)

    def _open_handle(self) -> Any:
        if self._handle is None:
            raise ProgrammingError("Cannot operate on a closed database.")
        return self._handle

    def _error(self, code: int) -> DatabaseError:
        """Build the error for the call that just failed with `code`."""
        message = self._lib.errmsg(self._handle) or self._lib.errstr(code)
        return _failure(code, message.decode(errors="replace"))

    def _take(self, sql: str) -> Statement | None:
        """Take the prepared statement of `sql` from the cache, or prepare it; None if empty."""
        handle = self._open_handle()
        if cached_statement := self._statements.pop(sql, None):
            return cached_statement
        try:
            code, statement = prepare(self._lib, handle, sql)
        except ValueError as error:
            raise ProgrammingError(str(error)) from error
        if code != engine.OK:
            raise self._error(code)
        return statement

    def _bind(self, statement: Statement, parameters: Sequence[Any]) -> list[bytes]:
        """Bind the parameters; the buffers returned must live until the statement has run."""
        if len(parameters) != statement.parameters:
            raise ProgrammingError(
                f"the statement has {statement.parameters} parameters, {len(parameters)} were given"
            )
        if not parameters:
            return []
        try:
            return statement.bind(parameters)
        except TypeError as error:
            raise ProgrammingError(str(error)) from error
        except OverflowError as error:
            raise DataError(str(error)) from error
        except UnicodeEncodeError as error:
            raise DataError("text with a lone surrogate cannot be kept as UTF-8") from error

    def _give_back(self, sql: str, statement: Statement) -> None:
        """Put a statement into the cache; a full cache drops those unused for longest."""
        self._lib.reset(statement.handle)
        if statement.parameters:
            self._lib.clear_bindings(statement.handle)
        if (twin := self._statements.pop(sql, None)) is not None:  # a function of SQL ran it too
            self._lib.finalize(twin.handle)
        self._statements[sql] = statement
        while len(self._statements) > self.kept_statements:
            self._lib.finalize(self._statements.pop(next(iter(self._statements))).handle)


class Cursor:
    """A cursor: the rows of a statement, all read already, and the reader's position."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._show(Result())

    def _show(self, result: Result) -> Self:
        self._rows = iter(result.rows)
        self.description = result.description
        self.rowcount = result.rowcount
        self.lastrowid = result.lastrowid
        return self

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Self:
        """Run one statement. Raises as `Connection.run`."""
        return self._show(self.connection.run(sql, parameters))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> Self:
        """Run one statement without results for each row. Raises as `Connection.run_many`."""
        return self._show(self.connection.run_many(sql, rows))

    def fetchone(self) -> RowTuple | None:
        """Return the next row; None after the last."""
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[RowTuple]:
        """Return the next `size` rows, or fewer at the end."""
        return list(islice(self._rows, size or self.arraysize))

    def fetchall(self) -> list[RowTuple]:
        """Return all remaining rows."""
        return list(self._rows)

    def __iter__(self) -> Iterator[RowTuple]:
        return self._rows

    def close(self) -> None:
        """Drop the rows."""
        self._show(Result())

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing: PEP 249 asks for the name."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing: PEP 249 asks for the name."""
