"""Translate errors of SQLite and DoltLite, by SQLite's names for them."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from sqlalchemy.exc import DBAPIError

from day1.adapters.failures import FULL, READ_ONLY, raise_meaning, refused, translated_by
from day1.errors import (
    Day1Error,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_BY_NAME: Final[tuple[tuple[tuple[str, ...], type[Day1Error], str], ...]] = (
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
        FULL,
    ),
    (
        ("SQLITE_IOERR",),
        StoreUnavailable,
        "The disk or its network failed; the system's log says how. Then try again.",
    ),
    (("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"), StoreReadOnly, READ_ONLY),
    (
        ("SQLITE_CANTOPEN",),
        StoreUnavailable,
        "The file cannot be opened: it is gone, this user may not read it, or the process has "
        "too many files open.",
    ),
)
_DAMAGED: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")
HARMLESS: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CONSTRAINT", "SQLITE_INTERRUPT")
"""Errors after which a connection stays usable; after any other it is closed."""


def is_sqlite(exc: Exception) -> bool:
    """Whether SQLite's driver or DoltLite's raised an error, through SQLAlchemy or not."""
    return isinstance(exc, DBAPIError) or hasattr(exc, "sqlite_errorname")


def error_name(exc: Exception) -> str:
    """Return SQLite's name of an error, such as SQLITE_BUSY_SNAPSHOT; "" for other errors."""
    driver_error = exc.orig if isinstance(exc, DBAPIError) else exc
    return str(getattr(driver_error, "sqlite_errorname", None) or "")


def translated(file: str, if_damaged: str = "restore a backup.") -> AbstractContextManager[None]:
    """Turn SQLite's errors in the block into errors of day1.

    Args:
        file: names the file in messages.
        if_damaged: what to do if the file is damaged; follows "... is damaged: ".
    """
    return translated_by(partial(_meaning, file=file, if_damaged=if_damaged))


def raise_translated(exc: Exception, file: str, if_damaged: str) -> None:
    """Raise the error of day1 for an error of SQLite or DoltLite, as `translated` would.

    For code that every call runs: without an error it costs nothing.
    """
    raise_meaning(exc, partial(_meaning, file=file, if_damaged=if_damaged))


def _meaning(exc: Exception, file: str, if_damaged: str) -> Day1Error | None:
    if not is_sqlite(exc):
        return None
    sqlite_name = error_name(exc)
    if sqlite_name.startswith(_DAMAGED):
        return StoreDamaged(f"{file} is damaged: {if_damaged}", file=file, engine_code=sqlite_name)
    for name_prefixes, error_class, message in _BY_NAME:
        if sqlite_name.startswith(name_prefixes):
            return error_class(message, file=file, engine_code=sqlite_name)
    return refused(file, sqlite_name)
