"""Errors of drivers and of the operating system become day1's errors here, and nowhere else."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as NoneFree

from day1.adapters.failures.mysql import of_server, server_number
from day1.errors import (
    Conflict,
    Day1Error,
    InvalidRequest,
    NotAStore,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_READ_ONLY = "The store may not be written: give this user write access to its folder."
_FULL = (
    "The file could not be written: free some space on the disk, then try again. "
    "Nothing of this call was stored."
)
_BY_NAME: tuple[tuple[tuple[str, ...], type[Day1Error], str], ...] = (
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        StoreBusy,
        "Another process is writing to this store; try again.",
    ),
    (
        (
            "SQLITE_FULL",
            *("SQLITE_IOERR_WRITE", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE"),
            *("SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC"),
        ),
        StoreFull,
        _FULL,
    ),
    (
        ("SQLITE_IOERR",),
        StoreUnavailable,
        "The disk or its network failed; the system's log says how. Then try again.",
    ),
    (("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"), StoreReadOnly, _READ_ONLY),
    (
        ("SQLITE_CANTOPEN",),
        StoreUnavailable,
        "The file cannot be opened: it is gone, this user may not read it, or the process has "
        "too many files open.",
    ),
)
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")
HARMLESS = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CONSTRAINT", "SQLITE_INTERRUPT")
"""After any other error the connection itself is not to be trusted any more."""


def is_drivers(exc: Exception) -> bool:
    """Whether an error came from a driver, by way of SQLAlchemy or directly."""
    if isinstance(exc, DBAPIError) or hasattr(exc, "sqlite_errorname"):
        return True
    return server_number(exc) is not None


def error_name(exc: Exception) -> str:
    """SQLite's name of an error, such as SQLITE_BUSY_SNAPSHOT; empty for other drivers'."""
    found = exc.orig if isinstance(exc, DBAPIError) else exc
    return str(getattr(found, "sqlite_errorname", None) or "")


@contextmanager
def translated(what: str, if_damaged: str = "put a backup in its place.") -> Iterator[None]:
    """Turn a driver's error into day1's.

    The driver's text may quote SQL or values, so it stays in the exception chain only.

    Args:
        what: names the file in the message.
        if_damaged: what to do then; follows "… is damaged: ".
    """
    try:
        yield
    except IntegrityError as exc:
        raise Conflict("A row with this id exists already.") from exc
    except NoneFree as exc:
        raise StoreBusy("All connections to the store are in use; try again.") from exc
    except Exception as exc:
        if not is_drivers(exc):
            raise
        known = of_server(exc, what)
        if known is not None:
            raise known from exc
        name = error_name(exc) or str(server_number(exc) or "")
        if name.startswith(_DAMAGED):
            text = f"{what} is damaged: {if_damaged}"
            raise StoreDamaged(text, file=what, engine_code=name) from exc
        for names, error, message in _BY_NAME:
            if name.startswith(names):
                raise error(message, file=what, engine_code=name) from exc
        raise StoreUnavailable(
            "The engine refused the statement; if trying again does not help, run `day1 doctor`.",
            file=what,
            engine_code=name,
        ) from exc


def of_system(exc: OSError, path: Path, *, writing: bool) -> Day1Error:
    """What the operating system said of a folder or file of the store, as day1's error."""
    match exc.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.EEXIST:
            text = f"There is no store at {path}: DAY1_HOME names a folder, `day1 init` makes one."
            return NotAStore(text, path=str(path))
        case errno.EACCES | errno.EPERM | errno.EROFS if writing:
            return StoreReadOnly(_READ_ONLY, file=path.name)
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return StoreFull(_FULL, file=path.name)
        case errno.ENAMETOOLONG:
            return InvalidRequest("The path of the store is too long: choose a shorter one.")
        case errno.EACCES | errno.EPERM:
            text = f"{path} may not be read: give this user access to it."
            return StoreUnavailable(text, file=path.name)
    text = f"{path} cannot be used now, says the system: {exc.strerror}."
    return StoreUnavailable(text, file=path.name)
