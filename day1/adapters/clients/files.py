"""Read and replace a client's file: whole or not at all, after one copy of what it was."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from day1.model.values.callbacks import KillPoint

_MOST: Final = 64 * 1024 * 1024
"""Bytes that a file of settings may have."""


class NotTouched(Exception):
    """The file is none that day1 may read or write."""


def read(path: Path) -> bytes | None:
    """A file's bytes, through links; None if there is none.

    Raises:
        NotTouched: it is no file, too large, or may not be read or written.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError) as exc:  # a loop of links
        raise NotTouched(f"it cannot be reached ({exc.__class__.__name__})") from exc
    if not stat.S_ISREG(found.st_mode):
        raise NotTouched("it is no file")
    if found.st_size > _MOST:
        raise NotTouched(f"it has more than {_MOST:,} bytes")
    if not found.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NotTouched("it is read-only")
    try:
        return path.read_bytes()
    except OSError as exc:
        raise NotTouched(f"it cannot be read: {exc.strerror}") from exc


def replace(path: Path, before: bytes | None, after: bytes, point: KillPoint) -> None:
    """Put `after` in the place of `before`, by a rename. One process of day1's does so at a time.

    Raises:
        NotTouched: it cannot be written, or somebody else changed it meanwhile.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name}.day1-new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(beside, after, 0o666 if before is None else 0o600)
        if before is not None:
            shutil.copymode(target, beside)
            owner = target.stat()
            with suppress(PermissionError):
                os.chown(beside, owner.st_uid, owner.st_gid)
        point("setup-before-rename")
        if read(target) != before:
            raise NotTouched("another program changed it just now: try again")
        beside.replace(target)
    except OSError as exc:
        raise NotTouched(f"it cannot be written: {exc.strerror}") from exc
    finally:
        beside.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file that day1 made; a link to it stays.

    Raises:
        NotTouched: it cannot be removed.
    """
    try:
        path.resolve().unlink()
    except OSError as exc:
        raise NotTouched(f"it cannot be removed: {exc.strerror}") from exc


class Backups:
    """What files were before day1's first change, kept for this user alone."""

    def __init__(self, folder: Path) -> None:
        """Keep them in a folder, which is made when one is kept."""
        self._folder = folder

    def of(self, path: Path) -> Path:
        """Where the copy of a file is, or would be."""
        target = path.resolve()
        place = hashlib.sha256(os.fsencode(target)).hexdigest()[:16]
        return self._folder / f"{place}-{target.name.lstrip('.')}"

    def read(self, path: Path) -> bytes | None:
        """What a file was before; None if nothing was kept."""
        copy = self.of(path)
        return copy.read_bytes() if copy.is_file() else None

    def keep(self, path: Path, data: bytes) -> Path:
        """Keep what a file is before day1's first change."""
        copy = self.of(path)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = copy.with_name(f"{copy.name}.new")
            _write(beside, data, 0o600)
            beside.replace(copy)
        except OSError as exc:
            raise NotTouched(f"no copy of it can be kept: {exc.strerror}") from exc
        return copy

    def forget(self, path: Path) -> None:
        """Remove the copy: the file is again what it was."""
        self.of(path).unlink(missing_ok=True)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write a new file; one that a killed process left is removed."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
