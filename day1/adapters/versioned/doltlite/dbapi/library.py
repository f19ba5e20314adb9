"""The engine's shared library: its path, its loading, and its C functions.

`import doltlite` would swap the SQLite of the whole process, so the package is only located and
never executed. The library is opened with private symbols: a stock `sqlite3` in the same process
keeps its own, whichever is loaded first. `driver.py` uses this module; the only SQL here are the
two queries that identify the engine.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from day1.errors import StoreUnavailable, StoreVersionUnknown

ENGINE = "prolly"
ENGINE_VERSION = "0.51.3"

OK, CANTOPEN, ROW, DONE = 0, 14, 100, 101
OPEN_FLAGS = 0x02 | 0x04 | 0x40 | 0x02000000  # read and write, create, URI, extended codes
UTF8, DETERMINISTIC = 0x001, 0x800
ENABLE_QPSG = 1007
"""The option by which the plan of a statement hangs on its text only: otherwise the engine prepares
a statement again for each value that it would look at, such as that of a LIMIT."""
UNINDEXED_BYTES = 1_000_000
"""Bytes at the end of a file without an index in the file, beyond which the next commit writes one.
Whoever opens a file reads and hashes these bytes, as does a connection that finds the file changed
when it begins to write. A fork does both. By default the engine lets them grow to 8 MB."""
os.environ.setdefault("DOLTLITE_WAL_CHECKPOINT_THRESHOLD", str(UNINDEXED_BYTES))
TRANSIENT = ctypes.c_void_p(-1)
INTEGER, FLOAT, TEXT, BLOB, NULL = 1, 2, 3, 4, 5

_CODES = """
    OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL
    CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB
"""
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
    """The C functions that the driver calls, each bound once, named without `sqlite3_`.

    Functions that may wait for a lock or work for long let other threads run (`blocking`).
    Functions that only move a value hold the interpreter lock (`quick`): that is cheaper, and
    beside a busy thread each release costs up to 5 ms. Arguments are not declared, since ctypes'
    own conversion is right for them and twice as fast: a pointer is a `c_void_p` or its
    `from_param`, text is bytes, an index or length is an int of 32 bits.
    """

    def __init__(self, path: Path) -> None:
        load_flags = os.RTLD_NOW | os.RTLD_LOCAL | getattr(os, "RTLD_DEEPBIND", 0)
        blocking_library = ctypes.CDLL(str(path), mode=load_flags)
        quick_library = ctypes.PyDLL(str(path), mode=load_flags, handle=blocking_library._handle)
        self.open_v2 = _bound(blocking_library, "open_v2")
        self.close_v2 = _bound(blocking_library, "close_v2")
        self.prepare_v3 = _bound(blocking_library, "prepare_v3")
        self.step = _bound(blocking_library, "step")
        self.finalize = _bound(blocking_library, "finalize")
        self._bind_connection(quick_library)
        self._bind_statement(quick_library)
        self._bind_functions(quick_library)

    def close(self, connection: Any) -> None:
        """Close a connection with all its statements, which else keep its files and locks."""
        try:
            self._finalize_all(connection)
        finally:
            self._finalize_all(connection)  # those that Ctrl-C has left
            self.close_v2(connection)

    def _finalize_all(self, connection: Any) -> None:
        while statement := self.next_stmt(connection, None):
            self.finalize(ctypes.c_void_p(statement))

    def _bind_connection(self, quick: ctypes.PyDLL) -> None:
        self.libversion = _bound(quick, "libversion", ctypes.c_char_p)
        self.memory_used = _bound(quick, "memory_used", ctypes.c_int64)
        self.busy_timeout = _bound(quick, "busy_timeout")
        self.db_config = _bound(quick, "db_config")
        self.db_config.argtypes = [ctypes.c_void_p, ctypes.c_int]  # the others are variadic
        self.interrupt = _bound(quick, "interrupt", None)
        self.next_stmt = _bound(quick, "next_stmt", ctypes.c_void_p)
        self.get_autocommit = _bound(quick, "get_autocommit")
        self.errmsg = _bound(quick, "errmsg", ctypes.c_char_p)
        self.errstr = _bound(quick, "errstr", ctypes.c_char_p)
        self.changes64 = _bound(quick, "changes64", ctypes.c_int64)
        self.total_changes64 = _bound(quick, "total_changes64", ctypes.c_int64)
        self.last_insert_rowid = _bound(quick, "last_insert_rowid", ctypes.c_int64)

    def _bind_statement(self, quick: ctypes.PyDLL) -> None:
        self.next_step = _bound(quick, "step")
        self.reset = _bound(quick, "reset")
        self.clear_bindings = _bound(quick, "clear_bindings")
        self.bind_parameter_count = _bound(quick, "bind_parameter_count")
        self.bind_int = _bound(quick, "bind_int")
        self.bind_int64 = _bound(quick, "bind_int64")
        self.bind_double = _bound(quick, "bind_double")
        self.bind_text = _bound(quick, "bind_text")
        self.bind_blob = _bound(quick, "bind_blob")
        self.stmt_readonly = _bound(quick, "stmt_readonly")
        self.stmt_status = _bound(quick, "stmt_status")
        self.column_count = _bound(quick, "column_count")
        self.column_name = _bound(quick, "column_name", ctypes.c_char_p)
        self.column_type = _bound(quick, "column_type")
        self.column_int64 = _bound(quick, "column_int64", ctypes.c_int64)
        self.column_double = _bound(quick, "column_double", ctypes.c_double)
        self.column_text = _bound(quick, "column_text", ctypes.c_char_p)
        self.column_blob = _bound(quick, "column_blob", ctypes.c_void_p)
        self.column_bytes = _bound(quick, "column_bytes")

    def _bind_functions(self, quick: ctypes.PyDLL) -> None:
        self.create_function_v2 = _bound(quick, "create_function_v2")
        self.value_type = _bound(quick, "value_type")
        self.value_int64 = _bound(quick, "value_int64", ctypes.c_int64)
        self.value_double = _bound(quick, "value_double", ctypes.c_double)
        self.value_blob = _bound(quick, "value_blob", ctypes.c_void_p)
        self.value_bytes = _bound(quick, "value_bytes")
        self.result_null = _bound(quick, "result_null", None)
        self.result_int64 = _bound(quick, "result_int64", None)
        self.result_double = _bound(quick, "result_double", None)
        self.result_text = _bound(quick, "result_text", None)
        self.result_blob = _bound(quick, "result_blob", None)
        self.result_error = _bound(quick, "result_error", None)


def _bound(dll: ctypes.CDLL, name: str, result: Any = ctypes.c_int) -> Any:
    """Bind a C function anew, so that its result type is not shared with another binding."""
    function = dll._FuncPtr((f"sqlite3_{name}", dll))
    function.restype = result
    return function


def library_path() -> Path:
    """Find the engine's library without executing the package that ships it.

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
        f"DoltLite's {name} is not installed; run: pip install doltlite=={ENGINE_VERSION}"
    )


@cache
def library() -> Library:
    """Return the engine, loaded once per process (about 25 ms)."""
    return load(library_path())


def memory_used() -> int:
    """Return the bytes of memory that the engine uses for all connections of this process."""
    return int(library().memory_used())


def engine_version() -> str:
    """Load the engine and return its version."""
    library()
    return ENGINE_VERSION


def load(path: Path) -> Library:
    """Load the library at `path` and check that it is the DoltLite that day1 is tested with.

    Raises:
        StoreUnavailable: the library cannot be loaded, or is not DoltLite.
        StoreVersionUnknown: the library is DoltLite of another version.
    """
    try:
        loaded_library = Library(path)
    except (OSError, AttributeError) as error:
        raise StoreUnavailable(
            f"The DoltLite engine cannot be loaded ({error}): install day1 again."
        ) from error
    engine_name = _answer(loaded_library, b"SELECT doltlite_engine()")
    if engine_name != ENGINE:
        raise StoreUnavailable(f"The library at {path} is not DoltLite; install it again.")
    version = _answer(loaded_library, b"SELECT dolt_version()").removeprefix("v")
    if version != ENGINE_VERSION:
        raise StoreVersionUnknown(
            f"This day1 works with DoltLite {ENGINE_VERSION}, but {version} is installed; "
            f"run: pip install doltlite=={ENGINE_VERSION}",
            installed=version,
            expected=ENGINE_VERSION,
        )
    return loaded_library


def _answer(loaded: Library, sql: bytes) -> str:
    """Run a query on an empty database in memory and return its text; empty if it fails."""
    handle, statement = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        if loaded.open_v2(b":memory:", ctypes.byref(handle), OPEN_FLAGS, None) != OK:
            return ""
        if loaded.prepare_v3(handle, sql, -1, 0, ctypes.byref(statement), None) != OK:
            return ""
        if loaded.step(statement) != ROW:
            return ""
        return (loaded.column_text(statement, 0) or b"").decode()
    finally:
        loaded.finalize(statement)
        loaded.close_v2(handle)


def primary_name(code: int) -> str:
    """Return the name of a result code without its extension, such as `BUSY` for 517."""
    code_names = _CODES.split()
    primary_code = code & 0xFF
    return code_names[primary_code] if primary_code < len(code_names) else "UNKNOWN"


def full_name(code: int) -> str:
    """Return the name of an extended result code, such as `SQLITE_BUSY_SNAPSHOT` for 517."""
    primary_code_name, extension_number = primary_name(code), code >> 8
    extension_names = _EXTENSIONS.get(primary_code_name, "").split()
    suffix = (
        f"_{extension_names[extension_number - 1]}"
        if 0 < extension_number <= len(extension_names)
        else ""
    )
    return f"SQLITE_{primary_code_name}{suffix}"


def adapt(to: Library, function: Callable[..., Any]) -> Any:
    """Wrap a Python function so that SQL can call it; its exceptions become SQL errors.

    The result must live as long as the connection that it is registered with.
    """

    def call(context: int, count: int, values: Any) -> None:
        context_pointer = ctypes.c_void_p(context)
        try:
            arguments = [_argument(to, ctypes.c_void_p(values[index])) for index in range(count)]
            _answer_with(to, context_pointer, function(*arguments))
        except Exception as error:  # noqa: BLE001 - C code cannot pass it on
            message = f"user-defined function raised {type(error).__name__}".encode()
            to.result_error(context_pointer, message, len(message))

    pointer_array = ctypes.POINTER(ctypes.c_void_p)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, pointer_array)(call)


def _argument(of: Library, value: ctypes.c_void_p) -> Any:
    value_type = of.value_type(value)
    if value_type == NULL:
        return None
    if value_type == INTEGER:
        return of.value_int64(value)
    if value_type == FLOAT:
        return of.value_double(value)
    data_address = of.value_blob(value)
    data = ctypes.string_at(data_address, of.value_bytes(value)) if data_address else b""
    return data.decode() if value_type == TEXT else data


def _answer_with(to: Library, context: ctypes.c_void_p, value: Any) -> None:
    if value is None:
        to.result_null(context)
    elif isinstance(value, int):
        to.result_int64(context, ctypes.c_int64(value))
    elif isinstance(value, float):
        to.result_double(context, ctypes.c_double(value))
    elif isinstance(value, str):
        encoded_text = value.encode()
        to.result_text(context, encoded_text, len(encoded_text), TRANSIENT)
    else:
        to.result_blob(context, bytes(value), len(value), TRANSIENT)
