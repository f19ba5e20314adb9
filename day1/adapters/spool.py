"""The spool of a store as files, which hooks write (`day1/formats/spool.py`)."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from typing_extensions import override

from day1.adapters.failures import of_system
from day1.adapters.flock import WriteLock
from day1.formats import spool
from day1.ports.spool import Spool

log = logging.getLogger(__name__)

_LOCK: Final = "taking.lock"
_ASIDE: Final = "aside"
MOST_ASIDE: Final = 8 * 1024 * 1024
"""The most bytes of lines put aside; the oldest are removed first."""
_BLOCK: Final = 4096
"""Bytes that the smallest file takes on a disk."""
_GONE: Final = "aside.gone"
_MOST_DIGITS: Final = 18
_NAME: Final = re.compile(r"[0-9a-f]{16}")
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderSpool(Spool):
    """The spool as files below a store's folder."""

    def __init__(self, store: Path) -> None:
        """Set the spool's folder below a store's folder; hooks make it when first needed."""
        self._folder = store / spool.FOLDER
        self._aside = self._folder / _ASIDE

    @override
    def alone(self) -> AbstractContextManager[bool]:
        if self._folder.is_symlink() or not self._folder.is_dir():
            return nullcontext(enter_result=False)
        return WriteLock(self._folder / _LOCK, 0).held_if_free()

    @override
    def waiting(self) -> Sequence[str]:
        if self._folder.is_symlink():
            return []
        try:
            with os.scandir(self._folder) as entries:
                times_and_names = [
                    (entry.stat().st_mtime_ns, entry.name)
                    for entry in entries
                    if _is_session(entry)
                ]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            raise of_system(exc, self._folder, writing=False) from exc
        return [name for _, name in sorted(times_and_names)]

    @override
    def read(self, name: str) -> Sequence[bytes]:
        file_path = self._folder / name
        try:
            with os.fdopen(os.open(file_path, _OPEN_FLAGS), "rb") as file:
                data = file.read(2 * spool.MOST_FILE)
        except FileNotFoundError:  # another process ingested it
            return []
        except OSError as exc:  # another user's file; the others are ingested
            log.warning("a file of the spool cannot be read: %s", type(exc).__name__)
            return []
        return data.split(b"\n")[:-1]

    @override
    def put_aside(self, line: bytes) -> None:
        path = self._aside / hashlib.sha256(line).hexdigest()[:16]
        with self._translated(path):
            if self._aside.is_symlink():  # it came with a foreign store, and leads to other files
                raise OSError(errno.ELOOP, "it is a link")
            self._aside.mkdir(exist_ok=True)
            self._write(path, line)
            self._bound()

    @override
    def drop(self, name: str, size: int) -> None:
        path = self._folder / name
        with self._translated(path):
            try:
                file_handle = spool.take(path, waits=False)
            except BlockingIOError:
                return  # a hook writes it, or hangs: events that are ingested twice are stored once
            try:
                file_status = os.fstat(file_handle)
                if not file_status.st_nlink:
                    return
                remaining_bytes = os.pread(file_handle, file_status.st_size - size, size)
                if remaining_bytes:
                    self._write(path, remaining_bytes)
                else:
                    path.unlink()
            finally:
                os.close(file_handle)

    @override
    def aside(self) -> int:
        return len(self._lines_aside())

    @override
    def gone(self) -> int:
        try:
            with os.fdopen(os.open(self._folder / _GONE, _OPEN_FLAGS), "rb") as file:
                return int(file.read(_MOST_DIGITS))
        except (OSError, ValueError):
            return 0

    def _lines_aside(self) -> list[tuple[int, str, int]]:
        """List the lines put aside, oldest first: time, name, and bytes on the disk."""
        aside_lines: list[tuple[int, str, int]] = []
        with suppress(OSError), os.scandir(self._aside) as files:
            for file in files:
                if _NAME.fullmatch(file.name):
                    file_status = file.stat(follow_symlinks=False)
                    aside_lines.append(
                        (file_status.st_mtime_ns, file.name, max(file_status.st_size, _BLOCK))
                    )
        return sorted(aside_lines)

    def _bound(self) -> None:
        """Remove the oldest lines put aside above the limit, and count the removed ones."""
        lines = self._lines_aside()
        total_bytes, removed_count = sum(line[2] for line in lines), 0
        for _, name, bytes_of_line in lines[:-1]:
            if total_bytes <= MOST_ASIDE:
                break
            (self._aside / name).unlink(missing_ok=True)
            total_bytes, removed_count = total_bytes - bytes_of_line, removed_count + 1
        if removed_count:
            self._write(self._folder / _GONE, b"%d" % (self.gone() + removed_count))

    def damaged(self) -> list[str]:
        """List the entries that are no session files, or whose last line is cut."""
        if self._folder.is_symlink() or (self._folder.exists() and not self._folder.is_dir()):
            return [spool.FOLDER]
        with suppress(OSError), os.scandir(self._folder) as files:
            file_names = sorted(
                file.name
                for file in files
                if file.name.endswith(spool.ENDING)
                and not (_is_session(file) and _ends_whole(file))
            )
            return [f"{spool.FOLDER}/{file_name}" for file_name in file_names]
        return []

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file whole and durably; readers see the old file or the new one."""
        new_file = path.with_name(f"{path.name}.new")
        with new_file.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new_file.replace(path)
        spool.sync_folder(path.parent)

    @contextmanager
    def _translated(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise of_system(exc, path, writing=True) from exc


def _ends_whole(file: os.DirEntry[str]) -> bool:
    """Whether the last line of a file ends in a newline."""
    with os.fdopen(os.open(file.path, _OPEN_FLAGS), "rb") as opened_file:
        file_size = os.fstat(opened_file.fileno()).st_size
        return not file_size or os.pread(opened_file.fileno(), 1, file_size - 1) == b"\n"


def _is_session(file: os.DirEntry[str]) -> bool:
    """Whether an entry is a session file of a hook, and no link, pipe or folder."""
    return file.name.endswith(spool.ENDING) and file.is_file(follow_symlinks=False)
