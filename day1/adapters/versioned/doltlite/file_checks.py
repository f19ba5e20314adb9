"""Checks that a file is a DoltLite store that day1 made and this engine reads."""

from pathlib import Path

from day1.adapters.failures import of_system
from day1.adapters.rows.tables import versioned
from day1.adapters.versioned.doltlite.dbapi import driver
from day1.errors import StoreDamaged, StoreVersionUnknown

_MAGIC = b"CTLD"
"""The first bytes of a DoltLite file."""
_FORMAT = 12
"""The number of the file format, after the first bytes."""
_OWN_TABLES = (
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ("  # noqa: S608 - our own names
    + ", ".join(f"'{name}'" for name in versioned.tables)
    + ")"
)
IF_DAMAGED = (
    "nothing was changed. Stop what uses the store, copy its folder away, and restore a backup of "
    "the file. Without a backup, `day1 export --all` writes out what can still be read."
)
"""What to do if the file is damaged."""


def away(path: Path) -> str:
    """Word the message for a store whose file is missing."""
    return (
        f"{path.name} is not in {path.parent} any more: mount its disk again, or put the file "
        "or a backup of it back. Servers of the store need no restart."
    )


def check_tables(connection: driver.Connection, path: Path) -> None:
    """Make sure that a file has day1's tables: the engine opens some damaged files as empty.

    Raises:
        StoreDamaged: a table is missing.
    """
    row = connection.execute(_OWN_TABLES).fetchone()
    if row is None or row[0] < len(versioned.tables):
        raise StoreDamaged(
            f"{path.name} has no tables of day1: it is another program's, or damaged: {IF_DAMAGED}",
            file=path.name,
        )


def check_head(path: Path) -> None:
    """Make sure that a file is a DoltLite file in the format that the engine reads.

    Closing the file frees this process's locks of the engine (POSIX); day1's own lock stays.

    Raises:
        StoreDamaged: the file is another program's, or its head is damaged.
        StoreVersionUnknown: the file is in another format.
        NotAStore, StoreUnavailable: the file is missing, or this user may not read it.
    """
    try:
        with path.open("rb") as file:
            first_bytes, format_number = file.read(4), int.from_bytes(file.read(4), "little")
    except OSError as exc:
        raise of_system(exc, path, writing=False) from exc
    if first_bytes != _MAGIC:
        raise StoreDamaged(
            f"{path.name} is not a DoltLite file: it is another program's, or damaged: "
            f"{IF_DAMAGED}",
            file=path.name,
        )
    if format_number != _FORMAT:
        raise StoreVersionUnknown(
            f"{path.name} is in DoltLite's format {format_number}, and this day1 reads {_FORMAT}: "
            "with the day1 that wrote it run `day1 export --all`, then here `day1 import jsonl`.",
            file=path.name,
            format=format_number,
        )
