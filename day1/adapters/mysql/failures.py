"""Translates errors of a server: by the MySQL number, or by the text where Dolt uses one number."""

import re
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

from sqlalchemy.exc import DBAPIError

from day1.adapters.failures import refused, translated_by
from day1.errors import (
    Advice,
    Conflict,
    Day1Error,
    InvalidRequest,
    NotAStore,
    Refused,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    UnknownBranch,
)

Meaning = tuple[type[Day1Error], str | Advice]

_AGAIN: Final[Meaning] = (
    StoreBusy,
    "Another writer was quicker; nothing of this call was stored. Try again.",
)
_GONE: Final[Meaning] = (
    StoreUnavailable,
    "The store's server, {where}, does not answer. Try again; what this call wrote may be stored "
    "already.",
)
_NOT_REACHED: Final[Meaning] = (
    StoreUnavailable,
    "The store's server, {where}, cannot be connected to, so it was not asked: see that it runs "
    "and takes more connections, and that DAY1_STORE__URL has its host and port. Then try again.",
)
_NOT_LET_IN: Final[Meaning] = (
    Refused,
    "The server of {where} does not let this user in: check user name and password in "
    "DAY1_STORE__URL.",
)
_NO_RIGHTS: Final[Meaning] = (
    Refused,
    "The server of {where} lets this user in, and gives the user no rights on it: the server's "
    "administrator must make the databases NAME and NAME_ledger, and give this user the GRANTs of "
    "docs/servers.md. Or check the name in DAY1_STORE__URL.",
)
_NOT_TRUSTED: Final[Meaning] = (
    Refused,
    "The certificate of the server of {where} is not vouched for by ssl_ca in DAY1_STORE__URL, or "
    "is for another name than the URL's.",
)
_NO_DATABASE: Final[Meaning] = (
    NotAStore,
    "The server has no database of {where}: check the name in DAY1_STORE__URL. `day1 init` makes "
    "one, or names the statements that the server's administrator must run.",
)
_MAY_NOT: Final[Meaning] = (
    StoreReadOnly,
    "The server of {where} does not let this user do that: give it more rights (docs/servers.md: "
    "the GRANTs), or name another user in DAY1_STORE__URL.",
)
_FULL: Final[Meaning] = (
    StoreFull,
    "The server's disk is full: free some space there, then try again. Nothing of this call was "
    "stored.",
)
_TOO_LONG: Final[Meaning] = (
    InvalidRequest,
    "A value is longer than the column that keeps it: shorten it.",
)
_BESIDE: Final[Meaning] = (
    Conflict,
    "Tables that another program keeps in the store's database stop this merge: their changes on "
    "the two branches conflict, or are not committed. Merge or commit these tables on the server "
    "first, or move them to another database.",
)
_NO_BRANCH: Final[Meaning] = (
    UnknownBranch,
    Advice("The server has no such branch; {memory_branch_list} shows those there are."),
)
_BY_NUMBER: Final[dict[int, Meaning]] = {
    # Deadlock, a lock waited for too long; MatrixOne's deadlock, conflict and two "try again".
    **dict.fromkeys((1213, 1205, 20701, 20619, 20628, 20631), _AGAIN),
    # No server there, or too many clients.
    **dict.fromkeys((1040, 2002, 2003), _NOT_REACHED),
    # Shutting down; the connection ended, or is out of step (0).
    **dict.fromkeys((0, 1053, 2006, 2013, 2014, 2027), _GONE),
    **dict.fromkeys((1045, 1698), _NOT_LET_IN),
    1044: _NO_RIGHTS,
    **dict.fromkeys((1142, 1143, 1227, 1290, 1370, 1836), _MAY_NOT),
    **dict.fromkeys((1021, 1114), _FULL),
    1049: _NO_DATABASE,
    1062: (Conflict, "A row with this id exists already."),
    1146: (
        NotAStore,
        "The database lacks a table of day1: `day1 init` completes an empty store; for any other, "
        "restore a backup.",
    ),
    1406: _TOO_LONG,
}
# Only the beginning of a text is compared: the rest may be what a user wrote.
_BY_WORDS: Final[tuple[tuple[str, Meaning], ...]] = (
    (r"string '", _TOO_LONG),
    (r"branch not found|database not found: [^/]+/", _NO_BRANCH),
    # Two transactions wrote the same UNIQUE value: repeated, one of them finds the other's row.
    (r"serialization failure|Committing this transaction resulted in", _AGAIN),
    # Two connections changed a ref or the rows that are not committed of a branch.
    (r"optimistic lock failed", _AGAIN),
    (r"error: local changes would be stomped|error: the table\(s\) .* in conflict", _BESIDE),
    (r"Can't connect .*CERTIFICATE_VERIFY_FAILED", _NOT_TRUSTED),
    (r"Access denied for user \S+ to database", _NO_RIGHTS),
    (r"Access denied for user", _NOT_LET_IN),
    (r"internal error: do not have privilege", _MAY_NOT),
    (r"command denied|Database \S+ is read-only|database server is set to", _MAY_NOT),
    (r"context canceled", _GONE),
    (r"no space left on device|write \S+: no space left", _FULL),
)
_AMBIGUOUS: Final = frozenset({1049, 1105, 2003, 20101})


def server_number(exc: BaseException | None) -> int | None:
    """Return the server's number of an error: 0 if it has none, None if no driver raised it.

    The driver may not be installed, so it is recognised by its name.
    """
    driver_error = exc.orig if isinstance(exc, DBAPIError) else exc
    if driver_error is None or type(driver_error).__module__ != "pymysql.err":
        return None
    error_number = driver_error.args[0] if driver_error.args else 0
    return error_number if isinstance(error_number, int) else 0


def translated(where: str) -> AbstractContextManager[None]:
    """Turn a server's errors in the block into errors of day1; `where` names the server's store."""
    return translated_by(partial(_meaning, where=where))


def _meaning(exc: Exception, where: str) -> Day1Error | None:
    error_number = server_number(exc)
    if error_number is None:
        return refused(where, "") if isinstance(exc, DBAPIError) else None
    meaning = _by_words(exc) if error_number in _AMBIGUOUS else None
    meaning = meaning or _BY_NUMBER.get(error_number)
    if meaning is None:
        return refused(where, str(error_number or ""))
    error_class, message = meaning
    if isinstance(message, str):
        message = message.replace("{where}", where)
    return error_class(message, engine_code=str(error_number))


def _by_words(exc: BaseException) -> Meaning | None:
    driver_error = exc.orig if isinstance(exc, DBAPIError) else exc
    error_text = (
        str(driver_error.args[-1]) if driver_error is not None and driver_error.args else ""
    )
    for pattern, meaning in _BY_WORDS:
        if re.match(pattern, error_text):
            return meaning
    return None
