"""Translates what the operating system says about the index's files into errors of day1."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from day1.ports.index import IndexBehind

UNUSABLE = (
    "The index cannot be used now: its answers lag or lack. Free some disk space, or give this "
    "user write access to the store's folder."
)

_NOT_OF_THE_FILE = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_FULL", "SQLITE_IOERR"),
    *("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_NOLFS"),
    *("SQLITE_NOMEM", "SQLITE_INTERRUPT", "SQLITE_MISUSE"),
)
"""What says nothing about the file: a full disk, missing rights, a lock that another holds."""
_CERTAINLY = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def error_name(error: Exception) -> str:
    """SQLite's name of an error; of another error its type."""
    return getattr(error, "sqlite_errorname", None) or type(error).__name__


def is_damage(error: Exception) -> bool:
    """Whether what was raised while a file was read can come from the file's content alone."""
    of_system = isinstance(error, OSError | MemoryError | sqlite3.ProgrammingError)
    return not of_system and not error_name(error).startswith(_NOT_OF_THE_FILE)


def is_certain_damage(error: Exception) -> bool:
    """Whether SQLite itself says that the file is damaged."""
    return error_name(error).startswith(_CERTAINLY)


@contextmanager
def usable(file: str) -> Iterator[None]:
    """Use a file of the index for the block.

    Raises:
        IndexBehind: the system does not let this process use it.
    """
    try:
        yield
    except OSError as error:
        raise behind(error, file) from error


def behind(error: OSError, file: str) -> IndexBehind:
    """What it means that the system does not let this process use a file of the index."""
    code = errno.errorcode.get(error.errno or 0, "")
    return IndexBehind(UNUSABLE, file=file, engine_code=code)
