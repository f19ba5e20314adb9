"""Backups: making a consistent copy of a store that is in use, checking it, and restoring it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from day1 import __version__
from day1.errors import StoreDamaged
from day1.model.files.backup import FORMAT, BranchContent, Content, Manifest, RowsHash
from day1.model.rows.change import CommitId, Query, Ref
from day1.model.rows.kind import KINDS
from day1.model.values.callbacks import KillPoint, no_kill_point
from day1.ports.archive import Archives, Copied, Copying
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made."""

    manifest: Manifest
    held_s: float
    """How long writers had to wait for it."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of the store in a folder, found to be whole."""

    folder: Path
    content: Content
    engine: str
    held_s: float


def back_up(repo: Repository, copying: Copying, archives: Archives, file: Path, now: int) -> Backup:
    """Write a backup to `file`, which appears when it is checked. Others go on writing meanwhile.

    Raises:
        Refused: the file is there already.
        StoreDamaged: the store is not whole: a backup of it would be worth nothing.
    """
    with archives.staging(file) as place:
        copying.ahead(place / "store")
        _tips(repo)  # opens what is asked again while writers wait
        copying.ahead(place / "store")  # what was written during the first copy
        repo.point("backup.ahead")
        try:
            copy = _copy(repo, copying, archives, place / "store")
        except StoreDamaged:
            # Pages of a killed writer were copied ahead, and another writer replaced them since.
            # So all is copied again while nobody writes; real damage is found again.
            copy = _copy(repo, copying, archives, place / "again")
        repo.point("backup.copied")
        parts = archives.parts(copy.folder)
        manifest = Manifest(FORMAT, __version__, copy.engine, now, copy.content, parts)
        archives.pack(copy.folder, manifest, place / "archive")
        repo.point("backup.packed")
        _unpack(archives, place / "archive", place / "check")
        repo.point("backup.checked")
        archives.publish(place / "archive", file)
    return Backup(manifest, copy.held_s)


def restore_backup(
    archives: Archives, file: Path, folder: Path, point: KillPoint = no_kill_point
) -> Manifest:
    """Restore a backup into `folder`: whole and checked, or not at all.

    Raises:
        Refused: something is in the folder.
        StoreDamaged: the file is no backup, or not what was written.
        StoreVersionUnknown: a later day1 wrote it.
    """
    with archives.staging(folder, folder=True) as place:
        manifest = _unpack(archives, file, place / "store")
        point("restore.checked")
        archives.publish(place / "store", folder)
        point("restore.published")
    return manifest


def check_backup(archives: Archives, file: Path, aside: Path) -> Manifest:
    """Check a backup as a restore would, in a temporary folder.

    Raises:
        StoreDamaged, StoreVersionUnknown: as `restore_backup`.
    """
    with archives.staging(aside) as place:
        return _unpack(archives, file, place / "store")


def _copy(repo: Repository, copying: Copying, archives: Archives, folder: Path) -> _Copy:
    """Copy the store while no intent and no unit of work is open."""
    with repo.ledger.exclusive():
        started = time.perf_counter()
        with copying.rest(folder):
            tips = _tips(repo)
        held_s = time.perf_counter() - started
    with archives.opened(folder) as copied:
        content, engine = _content(copied), copied.store.capabilities
    if {b.name: (b.commit, b.waiting) for b in content.branches} != tips:
        raise StoreDamaged("The copy is not what the store has: run `day1 doctor`.")
    return _Copy(folder, content, f"{engine.engine} {engine.version}", held_s)


def _tips(repo: Repository) -> dict[str, tuple[CommitId, int]]:
    """The tip of each branch, and how many rows are pending on it."""
    found = {}
    for name in repo.history.branches():
        with repo.store.reading(Ref(branch=name)) as reading:
            found[name] = reading.tip, reading.pending.count
    return found


def _unpack(archives: Archives, file: Path, folder: Path) -> Manifest:
    """Unpack an archive, and see that the memory in it is the one that was packed."""
    manifest = archives.unpack(file, folder)
    with archives.opened(folder) as copied:
        if _content(copied) != manifest.content:
            raise StoreDamaged(
                f"{file.name} holds another memory than it says: use another backup.",
                file=file.name,
            )
    return manifest


def _content(copied: Copied) -> Content:
    """What a copy holds, every page of it read.

    Raises:
        StoreDamaged: it is not whole.
    """
    problems = copied.store.check()
    if problems:
        raise StoreDamaged(
            f"The copy has {len(problems)} problems, the first: {problems[0]}. Run `day1 doctor`."
        )
    known: dict[str, tuple[int, str]] = {}
    branches = []
    for name, commit in sorted(copied.history.branches().items()):
        with copied.store.reading(Ref(branch=name)) as reading:
            waiting = reading.pending.count
            found = None if waiting else known.get(commit)
            rows, sha256 = found or _hashed(reading)
        if not waiting:
            known[commit] = rows, sha256
        branches.append(BranchContent(name, commit, waiting, rows, sha256))
    return Content(tuple(branches), copied.records())


def _hashed(reading: Reading) -> tuple[int, str]:
    """How many rows a state has, and the hash of all of them."""
    taken = RowsHash()
    for kind in KINDS:
        taken.take(kind, kind.columns, reading.scan(kind, kind.columns, Query()))
    return taken.rows, taken.hexdigest()
