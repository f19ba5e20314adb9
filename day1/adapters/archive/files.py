"""`ports.archive.Archives` on a file system."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from typing_extensions import override

from day1.adapters.archive import tar
from day1.adapters.failures import of_system
from day1.adapters.flock import WriteLock
from day1.adapters.ledger.sqlite import count_records
from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.errors import Refused, StoreReadOnly
from day1.model.files.backup import FILES
from day1.ports.archive import Archives

_LOCK: Final = "day1-backup.lock"


class CopiedFolder:
    """`ports.archive.Copied` on the folder of a copy."""

    def __init__(self, folder: Path, store: DoltLiteStore) -> None:
        """Take the open store of a copy."""
        self._folder = folder
        self.store, self.history = store, store.history

    def records(self) -> dict[str, int]:
        """Count the ledger's records by kind."""
        return count_records(self._folder)


class FileArchives(Archives):
    """Archives as gzipped tar files, made in a folder beside and renamed."""

    parts = staticmethod(tar.parts)
    pack = staticmethod(tar.pack)
    unpack = staticmethod(tar.unpack)

    @override
    @contextmanager
    def staging(self, target: Path, *, folder: bool = False) -> Iterator[Path]:
        """Lend an empty folder with the suffix `.tmp`; a lock keeps it for this process."""
        _nothing_at(target, folder=folder)
        staging_folder = target.with_name(f"{target.name}.tmp")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            staging_folder.mkdir(mode=0o700, exist_ok=True)
            names_in_folder = {path.name for path in staging_folder.iterdir()}
        except OSError as exc:
            failure = of_system(exc, staging_folder, writing=True)
            if isinstance(failure, StoreReadOnly):
                raise StoreReadOnly(
                    f"{target.parent} cannot be written ({exc.strerror}), and day1 works in a "
                    f"folder {staging_folder.name} there: give this user write access to it, or "
                    "name another folder.",
                    path=str(target.parent),
                ) from exc
            raise failure from exc
        if names_in_folder and _LOCK not in names_in_folder:
            raise Refused(
                f"{staging_folder} holds other files, and day1 needs that folder: move it away.",
                path=str(staging_folder),
            )
        with WriteLock(staging_folder / _LOCK, 0).held_if_free() as got_lock:
            if not got_lock:
                raise Refused(
                    f"Another process is making {target}: wait for it, or name another file.",
                    path=str(target),
                )
            for name in names_in_folder:
                if name != _LOCK:
                    _remove(staging_folder / name)
            try:
                yield staging_folder
            finally:
                shutil.rmtree(staging_folder, ignore_errors=True)

    @override
    @contextmanager
    def opened(self, folder: Path) -> Iterator[CopiedFolder]:
        store = DoltLiteStore(folder, lambda: 0, read_only=True)
        try:
            yield CopiedFolder(folder, store)
        finally:
            store.close()
            for path in folder.iterdir():
                if path.name not in FILES:
                    path.unlink()

    @override
    def publish(self, made: Path, target: Path) -> None:
        """Rename; a folder can replace an empty one only."""
        is_folder = made.is_dir()
        _nothing_at(target, folder=is_folder)
        try:
            if is_folder:
                sync(made)
            made.rename(target)
            sync(target.parent)
        except OSError as exc:
            raise of_system(exc, target, writing=True) from exc


def _nothing_at(target: Path, *, folder: bool) -> None:
    """Check that nothing is at a path yet; a new folder may replace an empty one.

    Raises:
        Refused: something is there, or another disk is mounted there.
    """
    if folder and target.is_mount():
        raise Refused(
            f"{target} is where another disk is mounted: name a folder in it.", path=str(target)
        )
    if folder and target.is_dir() and not target.is_symlink() and not any(target.iterdir()):
        return
    if os.path.lexists(target):
        raise Refused(f"{target} exists already: name another path, or move it.", path=str(target))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def sync(folder: Path) -> None:
    """Make the names in a folder durable."""
    folder_handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder_handle)
    finally:
        os.close(folder_handle)
