"""The engine's shared library: where it lies, how it is loaded, and its C functions.

`import doltlite` would swap the SQLite of the whole process, so the package is only located and
never executed. The library is opened with its symbols private to it: a stock `sqlite3` keeps its
own in the same process, whichever comes first. `driver.py` sits above; nothing here knows SQL
beyond the two questions that identify the engine.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from day1.errors import StoreUnavailable, StoreVersionUnknown

ENGINE = "prolly"
ENGINE_VERSION = "0.51.3"

OK, CANTOPEN, ROW, DONE = 0, 14, 100, 101
OPEN_FLAGS = 0x02 | 0x04 | 0x40 | 0x02000000  # read and write, create, URI, extended codes
PERSISTENT = 0x01
STATUS_REPREPARED = 5
UTF8, DETERMINISTIC = 0x001, 0x800
TRANSIENT = ctypes.c_void_p(-1)
INTEGER, FLOAT, TEXT, BLOB, NULL = 1, 2, 3, 4, 5
LONGEST = 1_000_000_000
"""Bytes of one text or blob: the engine's own limit."""

_CODES = (
    "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL "
    "CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB"
).split()
_EXTENSIONS = {
    "ERROR": "MISSING_COLLSEQ RETRY SNAPSHOT",
    "BUSY": "RECOVERY SNAPSHOT TIMEOUT",
    "LOCKED": "SHAREDCACHE VTAB",
    "READONLY": "RECOVERY CANTLOCK ROLLBACK DBMOVED CANTINIT DIRECTORY",
    "IOERR": "READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED "
    "NOMEM ACCESS CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK "
    "DELETE_NOENT MMAP GETTEMPPATH CONVPATH VNODE AUTH BEGIN_ATOMIC COMMIT_ATOMIC ROLLBACK_ATOMIC "
    "DATA CORRUPTFS",
    "CORRUPT": "VTAB SEQUENCE INDEX",
    "CANTOPEN": "NOTEMPDIR ISDIR FULLPATH CONVPATH DIRTYWAL SYMLINK",
    "CONSTRAINT": "CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB "
    "ROWID PINNED DATATYPE",
}


class Library:
    """The C functions that the driver calls, each bound once.

    What may wait for a lock or a disk lets other threads run meanwhile (`CDLL`); what only moves
    a value keeps the interpreter, which is cheaper (`PyDLL`). Arguments are left undeclared
    where ctypes' own conversion is right, because declared ones cost twice as much: a handle is
    a `c_void_p`, an index or length an int of 32 bits, text a bytes object.
    """

    def __init__(self, path: Path) -> None:
        mode = os.RTLD_NOW | os.RTLD_LOCAL | getattr(os, "RTLD_DEEPBIND", 0)
        waiting = ctypes.CDLL(str(path), mode=mode)
        quick = ctypes.PyDLL(str(path), mode=mode, handle=waiting._handle)
        text, int64, double = ctypes.c_char_p, ctypes.c_int64, ctypes.c_double
        pointer = ctypes.c_void_p

        self.open_v2 = _bound(waiting, "open_v2")
        self.close_v2 = _bound(waiting, "close_v2")
        self.prepare_v3 = _bound(waiting, "prepare_v3")
        self.step = _bound(waiting, "step")
        self.reset = _bound(waiting, "reset")
        self.finalize = _bound(waiting, "finalize")
        self.create_function_v2 = _bound(waiting, "create_function_v2")

        self.interrupt = _bound(quick, "interrupt", None)
        self.busy_timeout = _bound(quick, "busy_timeout")
        self.get_autocommit = _bound(quick, "get_autocommit")
        self.extended_errcode = _bound(quick, "extended_errcode")
        self.errmsg = _bound(quick, "errmsg", text)
        self.errstr = _bound(quick, "errstr", text)
        self.changes64 = _bound(quick, "changes64", int64)
        self.last_insert_rowid = _bound(quick, "last_insert_rowid", int64)
        self.libversion = _bound(quick, "libversion", text)

        self.bind_null = _bound(quick, "bind_null")
        self.bind_int = _bound(quick, "bind_int")
        self.bind_int64 = _bound(quick, "bind_int64")
        self.bind_double = _bound(quick, "bind_double")
        self.bind_text = _bound(quick, "bind_text")
        self.bind_blob = _bound(quick, "bind_blob")
        self.bind_parameter_count = _bound(quick, "bind_parameter_count")
        self.clear_bindings = _bound(quick, "clear_bindings")
        self.stmt_readonly = _bound(quick, "stmt_readonly")
        self.stmt_status = _bound(quick, "stmt_status")

        self.column_count = _bound(quick, "column_count")
        self.column_name = _bound(quick, "column_name", text)
        self.column_type = _bound(quick, "column_type")
        self.column_int64 = _bound(quick, "column_int64", int64)
        self.column_double = _bound(quick, "column_double", double)
        self.column_text = _bound(quick, "column_text", text)
        self.column_blob = _bound(quick, "column_blob", pointer)
        self.column_bytes = _bound(quick, "column_bytes")

        self.value_type = _bound(quick, "value_type")
        self.value_int64 = _bound(quick, "value_int64", int64)
        self.value_double = _bound(quick, "value_double", double)
        self.value_text = _bound(quick, "value_text", pointer)
        self.value_blob = _bound(quick, "value_blob", pointer)
        self.value_bytes = _bound(quick, "value_bytes")
        self.result_null = _bound(quick, "result_null", None)
        self.result_int64 = _bound(quick, "result_int64", None)
        self.result_double = _bound(quick, "result_double", None)
        self.result_text = _bound(quick, "result_text", None)
        self.result_blob = _bound(quick, "result_blob", None)
        self.result_error = _bound(quick, "result_error", None)


def _bound(dll: ctypes.CDLL, name: str, result: Any = ctypes.c_int) -> Any:
    """A C function of its own, so that its result type is not shared with another binding."""
    function = dll._FuncPtr((f"sqlite3_{name}", dll))
    function.restype = result
    return function


def library_path() -> Path:
    """Where the engine's library lies, found without executing the package it ships in.

    Raises:
        StoreUnavailable: the package or the library in it is missing.
    """
    name = "libdoltlite.dylib" if sys.platform == "darwin" else "libdoltlite.so"
    spec = find_spec("doltlite")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, "_lib", name)
        if path.is_file():
            return path
    raise StoreUnavailable(
        f"The DoltLite engine ({name}) is not installed; run: pip install doltlite=={ENGINE_VERSION}"
    )


@cache
def library() -> Library:
    """The engine, loaded once per process (about 25 ms)."""
    return load(library_path())


def load(path: Path) -> Library:
    """Load the library at `path` and make sure that it is the engine day1 was tried with.

    Raises:
        StoreUnavailable: it cannot be loaded, or is not DoltLite.
        StoreVersionUnknown: it is DoltLite of another version.
    """
    try:
        found = Library(path)
    except (OSError, AttributeError) as error:
        raise StoreUnavailable(f"The DoltLite engine cannot be loaded: {error}") from error
    engine = _answer(found, b"SELECT doltlite_engine()")
    if engine != ENGINE:
        raise StoreUnavailable(f"The library at {path} is not DoltLite; install it again.")
    version = _answer(found, b"SELECT dolt_version()").removeprefix("v")
    if version != ENGINE_VERSION:
        raise StoreVersionUnknown(
            f"This day1 works with DoltLite {ENGINE_VERSION}, but {version} is installed; "
            f"run: pip install doltlite=={ENGINE_VERSION}",
            installed=version,
            expected=ENGINE_VERSION,
        )
    return found


def _answer(found: Library, sql: bytes) -> str:
    """The one text that a query gives on an empty database in memory; empty if it fails."""
    handle, statement = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        if found.open_v2(b":memory:", ctypes.byref(handle), OPEN_FLAGS, None) != OK:
            return ""
        if found.prepare_v3(handle, sql, -1, 0, ctypes.byref(statement), None) != OK:
            return ""
        if found.step(statement) != ROW:
            return ""
        return (found.column_text(statement, 0) or b"").decode()
    finally:
        found.finalize(statement)
        found.close_v2(handle)


def primary_name(code: int) -> str:
    """The name of a result code without its extension, such as `BUSY` for 517."""
    number = code & 0xFF
    return _CODES[number] if number < len(_CODES) else "UNKNOWN"


def full_name(code: int) -> str:
    """The name of an extended result code, such as `SQLITE_BUSY_SNAPSHOT` for 517."""
    primary, extension = primary_name(code), code >> 8
    extensions = _EXTENSIONS.get(primary, "").split()
    suffix = f"_{extensions[extension - 1]}" if 0 < extension <= len(extensions) else ""
    return f"SQLITE_{primary}{suffix}"


def bind(
    to: Library, statement: ctypes.c_void_p, values: Sequence[Any], first: int = 1
) -> list[bytes]:
    """Give the parameters of a statement, from `first` on, their values.

    Returns the buffers that the engine now points into: they must live until the statement has
    run. No result is looked at, since what the engine could refuse is refused here before.

    Raises:
        TypeError: a value of a type that the engine does not have.
        OverflowError: an integer beyond 64 bits, or a text or blob too long.
        UnicodeEncodeError: text with a lone surrogate, which UTF-8 cannot say.
    """
    kept = []
    for index, value in enumerate(values, first):
        kind = type(value)
        if kind is str:
            data = value.encode()
            kept.append(data)
            to.bind_text(statement, index, data, _length(data), None)
        elif value is None:
            to.bind_null(statement, index)
        elif kind is int:
            if -0x80000000 <= value <= 0x7FFFFFFF:
                to.bind_int(statement, index, value)
            elif -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
                to.bind_int64(statement, index, ctypes.c_int64(value))
            else:
                raise OverflowError(f"parameter {index}: an integer of more than 64 bits")
        elif kind is float:
            to.bind_double(statement, index, ctypes.c_double(value))
        elif kind is bytes:
            kept.append(value)
            to.bind_blob(statement, index, value, _length(value), None)
        else:
            kept += bind(to, statement, (_plain(value, index),), index)
    return kept


def _length(data: bytes) -> int:
    if len(data) > LONGEST:
        raise OverflowError(f"a text or blob of {len(data)} bytes; {LONGEST} are the limit")
    return len(data)


def _plain(value: Any, index: int) -> Any:
    """The value of a subclass as its base type (an enum, a flag, a numpy float), a buffer as bytes."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"parameter {index}: type {type(value).__name__} is not supported")


def fetch(of: Library, statement: ctypes.c_void_p, width: int) -> tuple[int, list[tuple[Any, ...]]]:
    """Read the row that a statement stands on and all after it.

    Returns the result code that ended it, and the rows, each of `width` values.
    """
    kind_of, text_of, int_of, size_of = (
        of.column_type,
        of.column_text,
        of.column_int64,
        of.column_bytes,
    )
    columns = range(width)
    rows = []
    code = ROW
    while code == ROW:
        row: list[Any] = []
        for i in columns:
            kind = kind_of(statement, i)
            if kind == TEXT:
                data = text_of(statement, i)  # ends at the first NUL
                if size_of(statement, i) != len(data):
                    data = _bytes(of, statement, i)
                row.append(data.decode())
            elif kind == INTEGER:
                row.append(int_of(statement, i))
            elif kind == NULL:
                row.append(None)
            elif kind == FLOAT:
                row.append(of.column_double(statement, i))
            else:
                row.append(_bytes(of, statement, i))
        rows.append(tuple(row))
        code = of.step(statement)
    return code, rows


def _bytes(of: Library, statement: ctypes.c_void_p, column: int) -> bytes:
    start = of.column_blob(statement, column)
    return ctypes.string_at(start, of.column_bytes(statement, column)) if start else b""


def adapt(to: Library, function: Callable[..., Any]) -> Any:
    """A Python function as one that SQL can call; what it raises becomes an SQL error.

    The result must live as long as the connection that knows it.
    """

    def call(context: int, count: int, values: Any) -> None:
        at = ctypes.c_void_p(context)
        try:
            arguments = [_argument(to, ctypes.c_void_p(values[i])) for i in range(count)]
            _answer_with(to, at, function(*arguments))
        except Exception as error:  # noqa: BLE001 - C code cannot pass it on
            text = f"user-defined function raised {type(error).__name__}".encode()
            to.result_error(at, text, len(text))

    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))(
        call
    )


def _argument(of: Library, value: ctypes.c_void_p) -> Any:
    match of.value_type(value):
        case 1:
            return of.value_int64(value)
        case 2:
            return of.value_double(value)
        case 5:
            return None
        case kind:
            start = of.value_text(value) if kind == TEXT else of.value_blob(value)
            data = ctypes.string_at(start, of.value_bytes(value)) if start else b""
            return data.decode() if kind == TEXT else data


def _answer_with(to: Library, context: ctypes.c_void_p, value: Any) -> None:
    if value is None:
        to.result_null(context)
    elif isinstance(value, int):
        to.result_int64(context, ctypes.c_int64(value))
    elif isinstance(value, float):
        to.result_double(context, ctypes.c_double(value))
    elif isinstance(value, str):
        data = value.encode()
        to.result_text(context, data, _length(data), TRANSIENT)
    else:
        to.result_blob(context, bytes(value), len(value), TRANSIENT)
