"""Translating errors of the system and of SQLite about the index's files."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from day1.ports.index import IndexBehind

UNUSABLE = (
    "The index cannot be used now, so searches may miss memories. Free some disk space, or give "
    "this user write access to the store's folder."
)

_NOT_OF_THE_FILE = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_FULL", "SQLITE_IOERR"),
    *("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_NOLFS"),
    *("SQLITE_NOMEM", "SQLITE_INTERRUPT", "SQLITE_MISUSE"),
)
"""SQLite's names of errors that are no damage: full disk, missing rights, held locks."""
_CERTAINLY = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def error_name(error: Exception) -> str:
    """Return SQLite's name of an error, or the type of another error."""
    return getattr(error, "sqlite_errorname", None) or type(error).__name__


def is_damage(error: Exception) -> bool:
    """Whether an error while reading a file can only come from damaged content."""
    is_system_error = isinstance(error, OSError | MemoryError | sqlite3.ProgrammingError)
    return not is_system_error and not error_name(error).startswith(_NOT_OF_THE_FILE)


def is_certain_damage(error: Exception) -> bool:
    """Whether SQLite itself says that the file is damaged."""
    return error_name(error).startswith(_CERTAINLY)


@contextmanager
def usable(file: str) -> Iterator[None]:
    """Translate system errors about a file of the index in the block.

    Raises:
        IndexBehind: the system does not let this process use the file.
    """
    try:
        yield
    except OSError as error:
        raise behind(error, file) from error


def behind(error: OSError, file: str) -> IndexBehind:
    """Build the error for a file of the index that the system does not let us use."""
    errno_name = errno.errorcode.get(error.errno or 0, "")
    return IndexBehind(UNUSABLE, file=file, engine_code=errno_name)
