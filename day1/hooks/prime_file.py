"""The prime of a branch as a file: what a session is told when it begins.

A process that runs for long writes it after commits. A hook only reads it: it cannot ask the
engine. Both take the file's name, and what says that the store has changed since, from here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

FORMAT: Final = 1
FOLDER: Final = "prime"
_LONGEST: Final = 64 * 1024
"""A prime's file is shorter, in bytes."""
_WRITTEN: Final = ("memory.db", "ledger.db", "ledger.db-wal")
"""Every write to a store in a folder changes one of these."""


class Prime(NamedTuple):
    """What a session is told, and of what state."""

    branch: str
    at: str
    """The commit."""
    text: str
    stamp: Any
    """`stamp_of` the store when this was made."""


def file_name(branch: str) -> str:
    """A branch's name as one safe name of a file."""
    return f"{quote(branch, safe='')}.json"


def path_of(store: Path, branch: str) -> Path:
    """Where the prime of a branch is."""
    return store / FOLDER / file_name(branch)


def stamp_of(store: Path) -> list[list[int]]:
    """What changes with each write to a store in a folder: size and time of its files.

    Of a store on a server it is the same for ever: this machine does not see its writes.
    """
    stamp = []
    for name in _WRITTEN:
        try:
            found = (store / name).stat()
        except OSError:
            stamp.append([0, 0])
        else:
            stamp.append([found.st_size, found.st_mtime_ns])
    return stamp


def read(store: Path, branch: str) -> Prime | None:
    """The prime of a branch; None if there is none that can be read."""
    try:
        with path_of(store, branch).open("rb") as file:
            said = json.loads(file.read(_LONGEST))
        prime = Prime(said["branch"], said["at"], said["text"], said.get("stamp"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    sound = said.get("format") == FORMAT and all(isinstance(part, str) for part in prime[:3])
    return prime if sound and prime.branch == branch else None
