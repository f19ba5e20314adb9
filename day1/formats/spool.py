"""The spool: events from hooks, a file for each session of a client, a line for each event.

A hook appends a line and syncs it to the disk before it ends. A server or command ingests the lines
later and removes the file (`adapters/spool.py`). A process that changes a file holds its lock. If
the file was removed while a process waited for the lock, the process tries again.
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
"""Maximum number of bytes of a line: the longest message, each character escaped in JSON."""
MOST_FILE: Final = 8 * 1024 * 1024
"""Maximum number of bytes of a file: some thousand turns."""
MOST_FILES: Final = 1_000
"""Maximum number of files in the spool."""
_MOST_NAME: Final = 150
"""Maximum number of characters of a file's name; a longer one becomes its hash."""
_TAIL: Final = 16 * 1024
"""The number of bytes at the end of a file that are searched for an event."""
_TRIES: Final = 100
"""Maximum number of tries to lock a file that is removed meanwhile."""


class Full(Exception):
    """The spool has no room for the line."""


def path_of(store: Path, session: str) -> Path:
    """Return the path of a session's file."""
    stem = quote(session, safe="")
    if len(stem) > _MOST_NAME:
        import hashlib  # noqa: PLC0415 - names are seldom so long

        stem = hashlib.sha256(session.encode()).hexdigest()
    return store / FOLDER / f"{stem}{ENDING}"


def append(path: Path, line: bytes, is_present: Callable[[bytes], bool]) -> bool:
    """Append a line to a file, durably; return whether the line was added.

    Args:
        path: the file, which is made if it is missing.
        line: one event, which ends in a newline.
        is_present: called with the last lines of the file; tells whether they have the event.

    Raises:
        Full: the line, the file or the folder has reached its limit.
        OSError: the line cannot be written; then the file is unchanged.
    """
    if len(line) > MOST_LINE:
        raise Full("line")
    _make_folder(path.parent)
    for _ in range(_TRIES):
        descriptor = take(path, os.O_CREAT)
        try:
            file_status = os.fstat(descriptor)
            if not file_status.st_nlink:
                continue  # the file was ingested and removed while this process waited
            size = file_status.st_size
            if size + len(line) > MOST_FILE or (not size and _is_full(path.parent)):
                raise Full("file" if size else "folder")
            tail_bytes = os.pread(descriptor, _TAIL, max(0, size - _TAIL))
            if is_present(tail_bytes):
                return False
            missing_newline = b"" if not tail_bytes or tail_bytes.endswith(b"\n") else b"\n"
            _write(descriptor, missing_newline + line, size)
            if not size:
                sync_folder(path.parent)
            return True
        finally:
            os.close(descriptor)
    raise Full("tries")


def take(path: Path, flags: int = 0, *, waits: bool = True) -> int:
    """Open a file, lock it and return its descriptor; `os.close` of it releases the lock.

    Raises:
        BlockingIOError: another process holds the lock, and `waits` is False.
        OSError: the file cannot be opened.
    """
    flags |= os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def sync_folder(folder: Path) -> None:
    """Sync a folder to the disk, so that new and removed files in it stay so after a crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    if folder.is_symlink():  # it came with somebody's store, and leads to others' files
        raise NotADirectoryError(errno.ENOTDIR, "the spool is a link")
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def _is_full(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return sum(1 for _ in entries) > MOST_FILES


def _write(handle: int, data: bytes, size: int) -> None:
    """Append all bytes or none: a partial write is truncated back to `size` bytes."""
    try:
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[os.write(handle, unwritten) :]
        os.fsync(handle)
    except BaseException:
        os.ftruncate(handle, size)
        raise
