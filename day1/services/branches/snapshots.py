"""Snapshots: commits with a label. They are records of the ledger, so refs stay few."""

from day1.errors import Advice, NotFound
from day1.model.branches.branch import Branch
from day1.model.records.snapshot import Snapshot
from day1.services.repository.idempotency import made_by
from day1.services.repository.repository import Repository


def snapshot(repo: Repository, branch: Branch, label: str | None, now: int) -> Snapshot:
    """Commit a branch's pending rows and record the tip under a label.

    Raises:
        RequestReused: the same request id made another snapshot.
    """
    snapshot_id = repo.new_id("snap", now)
    earlier_snapshot = taken_before(repo, snapshot_id, branch, label)
    return earlier_snapshot or take(repo, snapshot_id, branch, label, now)


def taken_before(
    repo: Repository, snapshot_id: str, branch: Branch, label: str | None
) -> Snapshot | None:
    """Return the snapshot of an earlier call with the same request id, or None.

    Raises:
        RequestReused: the same request id made another snapshot.
    """
    return made_by(repo.ledger, Snapshot, snapshot_id, branch_id=branch.id, label=label)


def take(
    repo: Repository, snapshot_id: str, branch: Branch, label: str | None, now: int
) -> Snapshot:
    """Commit a branch's pending rows and record the tip under a new id."""
    tip = repo.store.commit_pending(branch.name)
    new_snapshot = Snapshot(snapshot_id, label, branch.id, tip, now)
    repo.ledger.put(new_snapshot)
    return new_snapshot


def snapshots(repo: Repository, branch: Branch | None) -> list[Snapshot]:
    """List the snapshots of a branch, or of all branches, oldest first."""
    if branch is None:
        return repo.ledger.records(Snapshot)
    return repo.ledger.records(Snapshot, branch_id=branch.id)


def find_snapshot(repo: Repository, name: str) -> Snapshot:
    """Find a snapshot by its id, or the newest one with a label.

    Raises:
        NotFound: no snapshot has this id or label.
    """
    snapshot_of_id = repo.ledger.record(Snapshot, name)
    if snapshot_of_id is not None:
        return snapshot_of_id
    labelled_snapshots = repo.ledger.records(Snapshot, label=name)
    if labelled_snapshots:
        return labelled_snapshots[-1]
    raise NotFound(
        f"There is no snapshot {name!r}.",
        Advice("{memory_snapshot_list} lists the snapshots."),
        name=name,
    )
