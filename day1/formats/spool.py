"""The spool: events from hooks, a file for each session of a client, a line for each event.

A hook adds a line at the end and has it on the disk before it leaves. A server or command takes the
lines in later and gives the file back (`adapters/spool.py`). Who changes a file holds its lock; who
finds that the file was removed while he waited for the lock begins again.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

FOLDER: Final = "spool"
ENDING: Final = ".jsonl"
MOST_LINE: Final = 7 * 1024 * 1024
"""The most bytes of a line: the longest message with every character escaped in JSON."""
MOST_FILE: Final = 8 * 1024 * 1024
"""The most bytes of a file: some thousand turns."""
MOST_FILES: Final = 1_000
_MOST_NAME: Final = 150
_TAIL: Final = 16 * 1024
_TRIES: Final = 100


class Full(Exception):
    """The spool has no room for the line."""


def path_of(store: Path, session: str) -> Path:
    """Return the path of a session's file."""
    name = quote(session, safe="")
    if len(name) > _MOST_NAME:
        import hashlib  # noqa: PLC0415 - names are seldom so long

        name = hashlib.sha256(session.encode()).hexdigest()
    return store / FOLDER / f"{name}{ENDING}"


def append(path: Path, line: bytes, is_present: Callable[[bytes], bool]) -> bool:
    """Add a line at the end of a file, durably; answers whether it was added.

    Args:
        path: the file, which is made if it is missing.
        line: one event, which ends in a newline.
        is_present: called with the last lines of the file; tells whether they have the event.

    Raises:
        Full: the line, the file or the folder has reached its bound.
        OSError: it cannot be written; then nothing of it was.
    """
    if len(line) > MOST_LINE:
        raise Full("line")
    _make_folder(path.parent)
    for _ in range(_TRIES):
        handle = take(path, os.O_CREAT)
        try:
            status = os.fstat(handle)
            if not status.st_nlink:
                continue  # it was taken in while this waited
            size = status.st_size
            if size + len(line) > MOST_FILE or (not size and _is_full(path.parent)):
                raise Full("file" if size else "folder")
            tail = os.pread(handle, _TAIL, max(0, size - _TAIL))
            if is_present(tail):
                return False
            torn = b"" if not tail or tail.endswith(b"\n") else b"\n"
            _write(handle, torn + line, size)
            if not size:
                sync_folder(path.parent)
            return True
        finally:
            os.close(handle)
    raise Full("tries")


def take(path: Path, flags: int = 0, *, waits: bool = True) -> int:
    """Open a file and hold its lock; `os.close` of the answer frees it.

    Raises:
        BlockingIOError: somebody else holds it, and this does not wait.
        OSError: it cannot be opened.
    """
    flags |= os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(path, flags, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle


def sync_folder(folder: Path) -> None:
    """Make the names of a folder's files durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make_folder(folder: Path) -> None:
    if folder.is_symlink():  # it came with somebody's store, and leads to others' files
        raise NotADirectoryError(errno.ENOTDIR, "the spool is a link")
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def _is_full(folder: Path) -> bool:
    with os.scandir(folder) as files:
        return sum(1 for _ in files) > MOST_FILES


def _write(handle: int, data: bytes, size: int) -> None:
    """Write all bytes or none: a full disk may take a part."""
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    except BaseException:
        os.ftruncate(handle, size)
        raise
