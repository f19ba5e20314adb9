"""Driver errors become day1's errors here, and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError

from day1.errors import (
    Conflict,
    Day1Error,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    StoreVersionUnknown,
)

_BY_NAME: tuple[tuple[tuple[str, ...], type[Day1Error], str], ...] = (
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        StoreBusy,
        "Another process is writing to this store; try again.",
    ),
    (
        ("SQLITE_FULL", "SQLITE_IOERR"),
        StoreFull,
        "The file could not be written: free some space on the disk, then try again. "
        "Nothing of this call was stored.",
    ),
    (
        ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"),
        StoreReadOnly,
        "The store may not be written: give this user write access to its folder.",
    ),
    (
        ("SQLITE_CORRUPT",),
        StoreDamaged,
        "The store's file is damaged: restore a copy of it, or run `day1 doctor`.",
    ),
    (
        ("SQLITE_NOTADB", "SQLITE_FORMAT"),
        StoreVersionUnknown,
        "The file is not a store of the engine's format that this day1 reads; "
        "run `day1 doctor` to see which version it needs.",
    ),
)
DISCARD = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CORRUPT")
"""After these the connection itself is not to be trusted any more."""


def is_drivers(exc: Exception) -> bool:
    """Whether an error came from a driver, by way of SQLAlchemy or directly."""
    return isinstance(exc, DBAPIError) or hasattr(exc, "sqlite_errorname")


def error_name(exc: Exception) -> str:
    """SQLite's name of an error, such as SQLITE_BUSY_SNAPSHOT; empty for other drivers'."""
    found = exc.orig if isinstance(exc, DBAPIError) else exc
    return str(getattr(found, "sqlite_errorname", ""))


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn a driver's error into day1's; `what` names the file in the message.

    The driver's text may quote SQL or values, so it stays in the exception chain only.
    """
    try:
        yield
    except IntegrityError as exc:
        raise Conflict("A row with this id exists already.") from exc
    except Exception as exc:
        if not is_drivers(exc):
            raise
        name = error_name(exc)
        for names, error, message in _BY_NAME:
            if name.startswith(names):
                raise error(message, file=what, engine_code=name) from exc
        raise StoreUnavailable(
            "The engine refused the statement; if trying again does not help, run `day1 doctor`.",
            file=what,
            engine_code=name,
        ) from exc
