"""Copying an embedded store's two files while other processes use them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from typing_extensions import override

from day1.adapters.failures import of_system
from day1.adapters.flock import WriteLock
from day1.adapters.ledger.sqlite import copy_ledger
from day1.adapters.versioned.doltlite.store import FILE, LOCK_FILE
from day1.ports.archive import Copying

_BLOCK = 1024 * 1024


class StoreCopying(Copying):
    """`ports.archive.Copying` on a store's folder.

    Between units of work `memory.db` only grows, and what is in it does not change; compaction
    puts another file in its place. So most of it is copied while others write. The write lock is
    held only while the rest is copied: milliseconds, whatever the size.
    """

    def __init__(self, folder: Path, wait_s: float) -> None:
        """Set the store's folder; the write lock is waited for at most `wait_s` seconds."""
        self._folder, self._wait_s = folder, wait_s
        self._lock = WriteLock(folder / LOCK_FILE, wait_s)
        self._inode = -1

    @override
    def ahead(self, to: Path) -> None:
        """Copy `memory.db` as it is now; other processes may write meanwhile."""
        with self._lock.held():
            file_status = self._stat()
        self._copy(to, file_status)

    @override
    @contextmanager
    def rest(self, to: Path) -> Iterator[None]:
        """Copy the writes since `ahead`, and the ledger; hold the write lock for the block."""
        with self._lock.held():
            self._copy(to, self._stat())
            copy_ledger(self._folder, to, self._wait_s)
            yield

    def _stat(self) -> os.stat_result:
        path = self._folder / FILE
        try:
            return path.stat()
        except OSError as exc:
            raise of_system(exc, path, writing=False) from exc

    def _copy(self, to: Path, status: os.stat_result) -> None:
        """Append the bytes that the copy lacks, up to the size in `status`."""
        source_path, copy_path = self._folder / FILE, to / FILE
        try:
            to.mkdir(mode=0o700, exist_ok=True)
            if status.st_ino != self._inode:  # compacted meanwhile
                copy_path.unlink(missing_ok=True)
                self._inode = status.st_ino
            with source_path.open("rb") as source_file, copy_path.open("ab") as copy_file:
                source_file.seek(copy_file.tell())
                bytes_left = status.st_size - copy_file.tell()
                while bytes_left > 0 and (block := source_file.read(min(_BLOCK, bytes_left))):
                    bytes_left -= copy_file.write(block)
        except OSError as exc:
            raise of_system(exc, to, writing=True) from exc
