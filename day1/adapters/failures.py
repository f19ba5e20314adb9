"""Translate failures of the operating system and of drivers into errors of day1.

The errors of single drivers are translated in `sqlite_failures.py` and `mysql/failures.py`.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy.exc import IntegrityError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from day1.errors import (
    Conflict,
    Day1Error,
    InvalidRequest,
    NotAStore,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

READ_ONLY: Final = "The store may not be written: give this user write access to its folder."
FULL: Final = (
    "The file could not be written: free some space on the disk, then try again. "
    "Nothing of this call was stored."
)


Translate = Callable[[Exception], Day1Error | None]
"""A function that translates a driver's error into one of day1; None for other errors."""


def raise_meaning(exc: Exception, meaning: Translate) -> None:
    """Raise the error of day1 for a driver's error; return for any other error.

    The driver's text may quote SQL or values, so it stays in the exception chain only.

    Raises:
        KeyboardInterrupt: Ctrl-C came while SQLAlchemy ended a transaction. It asserts then that
            the transaction has ended, so that only the context of its error is the interrupt.
    """
    if isinstance(exc, AssertionError) and isinstance(exc.__context__, KeyboardInterrupt):
        raise exc.__context__
    if isinstance(exc, IntegrityError):
        raise Conflict("A row with this id exists already.") from exc
    if isinstance(exc, NoFreeConnection):
        raise StoreBusy("All connections to the store are in use; try again.") from exc
    day1_error = meaning(exc)
    if day1_error is not None:
        raise day1_error from exc


@contextmanager
def translated_by(meaning: Translate) -> Iterator[None]:
    """Turn the driver errors of the block into errors of day1."""
    try:
        yield
    except Exception as exc:
        raise_meaning(exc, meaning)
        raise


def refused(what: str, code: str) -> StoreUnavailable:
    """Build the error for an engine's error that day1 does not know, with the engine's code."""
    return StoreUnavailable(
        "The engine refused the statement; if trying again does not help, run `day1 doctor`.",
        file=what,
        engine_code=code,
    )


def of_system(exc: OSError, path: Path, *, writing: bool) -> Day1Error:
    """Translate the operating system's error on a folder or file of the store."""
    match exc.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.EEXIST:
            message = (
                f"There is no store at {path}: set DAY1_HOME to the folder of a store, or run "
                "`day1 init` in another folder."
            )
            return NotAStore(message, path=str(path))
        case errno.EACCES | errno.EPERM | errno.EROFS if writing:
            if os.access(path, os.F_OK) and not path.is_dir():
                message = f"{path} may not be written: give this user write access to it."
            else:
                message = READ_ONLY
            return StoreReadOnly(message, file=path.name)
        case errno.EISDIR | errno.ELOOP if writing:
            message = f"{path} is a folder or a link, not a file: move it away, or name another."
            return StoreUnavailable(message, file=path.name)
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return StoreFull(FULL, file=path.name)
        case errno.ENAMETOOLONG:
            return InvalidRequest("The path of the store is too long: choose a shorter one.")
        case errno.EACCES | errno.EPERM:
            message = f"{path} may not be read: give this user access to it."
            return StoreUnavailable(message, file=path.name)
    message = f"{path} cannot be used now, says the system: {exc.strerror}."
    return StoreUnavailable(message, file=path.name)
