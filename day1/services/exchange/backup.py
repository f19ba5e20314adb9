"""Backups: making a consistent copy of a store that is in use, checking it, and restoring it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from day1.errors import StoreDamaged
from day1.model.files.backup import FORMAT, BranchContent, Content, Manifest, RowsHash
from day1.model.rows.change import CommitId, Query, Ref
from day1.model.rows.kind import KINDS
from day1.model.values.callbacks import KillPoint, no_kill_point
from day1.ports.archive import Archives, Copied, Copying
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository
from day1.version import __version__


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup."""

    manifest: Manifest
    held_s: float
    """Seconds for which writers had to wait while the backup copied the store."""


@dataclass(frozen=True, slots=True)
class _Copy:
    """A checked copy of the store in a folder."""

    folder: Path
    content: Content
    engine: str
    held_s: float


def back_up(repo: Repository, copying: Copying, archives: Archives, file: Path, now: int) -> Backup:
    """Write a backup to `file`, which appears once it is checked; others can write meanwhile.

    Raises:
        Refused: `file` exists already.
        StoreDamaged: the store is damaged; a backup of it would be worth nothing.
    """
    with archives.staging(file) as staging_folder:
        copying.ahead(staging_folder / "store")
        _states(repo)  # opens each branch now, so that writers wait for less later
        copying.ahead(staging_folder / "store")  # copies what was written during the first copy
        repo.point("backup.ahead")
        try:
            store_copy = _copy(repo, copying, archives, staging_folder / "store")
        except StoreDamaged:
            # The first copy holds pages of a killed writer that another writer replaced since.
            # Copy everything again while nobody writes; real damage shows again.
            store_copy = _copy(repo, copying, archives, staging_folder / "again")
        repo.point("backup.copied")
        file_parts = archives.parts(store_copy.folder)
        manifest = Manifest(
            FORMAT, __version__, store_copy.engine, now, store_copy.content, file_parts
        )
        archives.pack(store_copy.folder, manifest, staging_folder / "archive")
        repo.point("backup.packed")
        _unpack(archives, staging_folder / "archive", staging_folder / "check")
        repo.point("backup.checked")
        archives.publish(staging_folder / "archive", file)
    return Backup(manifest, store_copy.held_s)


def restore_backup(
    archives: Archives, file: Path, folder: Path, point: KillPoint = no_kill_point
) -> Manifest:
    """Restore a backup into `folder`, completely and checked, or not at all.

    Raises:
        Refused: `folder` is not empty.
        StoreDamaged: the file is not a backup, or was changed since it was written.
        StoreVersionUnknown: a later day1 wrote it.
    """
    with archives.staging(folder, folder=True) as staging_folder:
        manifest = _unpack(archives, file, staging_folder / "store")
        point("restore.checked")
        archives.publish(staging_folder / "store", folder)
        point("restore.published")
    return manifest


def check_backup(archives: Archives, file: Path, aside: Path) -> Manifest:
    """Check a backup as a restore would, in a temporary folder.

    Raises:
        StoreDamaged, StoreVersionUnknown: as `restore_backup`.
    """
    with archives.staging(aside) as staging_folder:
        return _unpack(archives, file, staging_folder / "store")


def _copy(repo: Repository, copying: Copying, archives: Archives, folder: Path) -> _Copy:
    """Copy the store while no intent and no unit of work is open."""
    with repo.ledger.exclusive():
        start_time = time.perf_counter()
        with copying.rest(folder):
            state_by_branch = _states(repo)
        held_s = time.perf_counter() - start_time
    with archives.opened(folder) as copied_repo:
        content = _content(copied_repo, "check the store with `day1 doctor`")
        capabilities = copied_repo.store.capabilities
    if {
        branch_content.name: (branch_content.commit, branch_content.waiting)
        for branch_content in content.branches
    } != state_by_branch:
        raise StoreDamaged(
            "The backup's copy differs from the store: check the store with `day1 doctor`."
        )
    return _Copy(folder, content, f"{capabilities.engine} {capabilities.version}", held_s)


def _states(repo: Repository) -> dict[str, tuple[CommitId, int]]:
    """Return the tip of each branch and the number of its pending rows, by branch name."""
    state_by_branch = {}
    for branch_name in repo.history.branches():
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            state_by_branch[branch_name] = reading.tip, reading.pending.count
    return state_by_branch


def _unpack(archives: Archives, file: Path, folder: Path) -> Manifest:
    """Unpack an archive and check that its content is what its manifest says."""
    manifest = archives.unpack(file, folder)
    with archives.opened(folder) as copied_repo:
        if _content(copied_repo, "use another backup") != manifest.content:
            raise StoreDamaged(
                f"{file.name} does not match its own manifest: use another backup.",
                file=file.name,
            )
    return manifest


def _content(copied: Copied, advice: str) -> Content:
    """Read every page of a copy; return its branches with counts and hashes, and its records.

    If the copy is damaged, the error gives `advice`.

    Raises:
        StoreDamaged: the copy is damaged.
    """
    problems = copied.store.check()
    if problems:
        raise StoreDamaged(
            f"The copy has {len(problems)} problems, the first: {problems[0]}: {advice}."
        )
    count_and_hash_by_commit: dict[str, tuple[int, str]] = {}
    branch_contents = []
    for branch_name, commit in sorted(copied.history.branches().items()):
        with copied.store.reading(Ref(branch=branch_name)) as reading:
            pending_count = reading.pending.count
            count_and_hash = None if pending_count else count_and_hash_by_commit.get(commit)
            row_count, rows_sha256 = count_and_hash or _hashed(reading)
        if not pending_count:
            count_and_hash_by_commit[commit] = row_count, rows_sha256
        branch_contents.append(
            BranchContent(branch_name, commit, pending_count, row_count, rows_sha256)
        )
    return Content(tuple(branch_contents), copied.records())


def _hashed(reading: Reading) -> tuple[int, str]:
    """Count and hash all rows of a state."""
    rows_hash = RowsHash()
    for kind in KINDS:
        rows_hash.take(kind, kind.columns, reading.scan(kind, kind.columns, Query()))
    return rows_hash.rows, rows_hash.hexdigest()
