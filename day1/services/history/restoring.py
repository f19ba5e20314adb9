"""Restoring a row or a branch to a past state by a new commit."""

from dataclasses import dataclass

from day1.errors import Json, NotFound
from day1.model.branches.branch import Branch
from day1.model.records.snapshot import Snapshot
from day1.model.rows.change import Changes, CommitId, Message, Query, Ref, Writes
from day1.model.rows.kind import EDIT, HELD, MEMORIES, Kind, Row, kind_of
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.branches.snapshots import take, taken_before
from day1.services.repository.idempotency import reused
from day1.services.repository.repository import Repository

_LABEL = "before restore"


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """The arguments of a restore: of one row, or of the whole branch without `row_id`."""

    branch: Branch
    state: Ref
    state_name: str
    """How the caller names the state; for the message of the commit."""
    row_id: str | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore; `commit` is None if nothing differed."""

    rows: int
    commit: CommitId | None
    at: int


@dataclass(frozen=True, slots=True)
class RestoredOnce:
    """The result of a restore that can be undone, and whether an earlier call did it."""

    restored: Restored
    snapshot_before: Snapshot
    repeated: bool = False


def restore(repo: Repository, request: RestoreRequest, now: int) -> RestoredOnce:
    """Take a snapshot of a branch and restore a row or all; a repeated request does it once.

    A call whose process died after its snapshot restored nothing, so its repeat takes another one.

    Raises:
        NotFound: the row is neither on the branch nor in the past state.
        RequestReused: the same request id made another snapshot or restored something else.
    """
    branch = request.branch
    snapshot_id = repo.new_id("snap", now)
    while (earlier_snapshot := taken_before(repo, snapshot_id, branch, _LABEL)) is not None:
        earlier = _restored_after(repo, request, earlier_snapshot)
        if earlier is not None:
            return RestoredOnce(earlier, earlier_snapshot, repeated=True)
        snapshot_id = repo.new_id("snap", now)
    if request.row_id is not None:
        present = Ref(branch=branch.name)
        with repo.store.reading(present) as reading:
            _writes_of(repo, request, reading, present)  # an unknown row: no snapshot
    snapshot_before = take(repo, snapshot_id, branch, _LABEL, now)
    restored = restore_to(repo, request, snapshot_before.id)
    return RestoredOnce(
        restored if restored.commit else _unchanged(snapshot_before), snapshot_before
    )


def _unchanged(snapshot_before: Snapshot) -> Restored:
    return Restored(0, None, snapshot_before.created_at)


def _name_of(request: RestoreRequest) -> str:
    """Return what a request restores, as the message of its commit has it."""
    return f"{request.row_id or request.branch.name} to {request.state_name}"


def _restored_after(
    repo: Repository, request: RestoreRequest, snapshot: Snapshot
) -> Restored | None:
    """Return what a request restored after its snapshot; None if its process died before."""
    for commit in repo.history.log(request.branch.name):
        if commit.meta.get("snapshot") == snapshot.id:
            if commit.meta.get("restored") != _name_of(request):
                raise reused(snapshot.id)
            return Restored(int(str(commit.meta["rows"])), commit.id, commit.ts)
        if commit.id == snapshot.commit:
            break
    tip = Ref(commit=snapshot.commit)
    with repo.store.reading(tip) as reading:
        writes = _writes_of(repo, request, reading, tip)
    return None if any(writes.values()) else _unchanged(snapshot)


def restore_to(
    repo: Repository, request: RestoreRequest, snapshot_id: str | None = None
) -> Restored:
    """Restore a row or a branch to a past state; the commit names the snapshot before it.

    A row that the past state lacks is removed. Edits are history and stay; held items are part of
    the state and go back with the branch.

    Raises:
        NotFound: the row is neither on the branch nor in the past state.
    """
    branch_name = request.branch.name
    with repo.store.changing(branch_name) as work:
        writes = _writes_of(repo, request, work, Ref(branch=branch_name))
        return _commit_restore(work, writes, _name_of(request), snapshot_id)


def _writes_of(repo: Repository, request: RestoreRequest, present: Reading, at: Ref) -> Writes:
    """Return the writes that restore what a request names, from the present state, which is `at`.

    Raises:
        NotFound: the row is in neither state.
    """
    if request.row_id is None:
        return _writes_of_branch(repo, present, at, request.state)
    return _writes_of_row(repo, request.branch, present, request.row_id, request.state)


def _writes_of_row(
    repo: Repository, branch: Branch, present: Reading, row_id: str, state: Ref
) -> Writes:
    """Return the write that brings a row of the present state to a past one; none if it is equal.

    Raises:
        NotFound: the row is in neither state.
    """
    kind = kind_of(row_id)
    if kind in MEMORIES:
        with repo.store.reading(state) as past_reading:
            past_row = past_reading.get(kind, [row_id]).get(row_id)
        present_row = present.get(kind, [row_id]).get(row_id)
        if past_row != present_row:
            return {kind.table: {row_id: past_row}}
        if present_row is not None:
            return {}
    raise NotFound(
        f"{row_id} is not on branch {branch.name!r}, and was not in that past state.",
        id=row_id,
        branch=branch.name,
    )


def _writes_of_branch(repo: Repository, reading: Reading, present: Ref, state: Ref) -> Writes:
    """Return the writes that bring the present state of a branch, which is read, to a past one."""
    if state.empty or state.commit is None:
        return _from_rows(repo, reading, state)
    writes = _undo(repo.history.changes(state.commit, present), state.until)
    if state.until is not None:
        _without_later(writes, reading, state.until)
    return writes


def _undo(changes: Changes, until: int | None) -> Writes:
    """Return the writes that undo changes; rows created after `until` are removed."""
    writes: Writes = {}
    for table, row_changes in changes.items():
        if table == EDIT.table:
            continue
        for change in row_changes:
            row_before = change.before
            if row_before is not None and until is not None and _created(row_before) > until:
                row_before = None
            if row_before != change.after:
                writes.setdefault(table, {})[change.id] = row_before
    return writes


def _without_later(writes: Writes, present: Reading, until: int) -> None:
    """Add to the writes the removal of rows that were created after `until`."""
    for kind in (*MEMORIES, HELD):
        for row in present.find(kind, Query(created_after=until)):
            writes.setdefault(kind.table, {})[str(row["id"])] = None


def _from_rows(repo: Repository, present: Reading, state: Ref) -> Writes:
    """Compare all rows with a past state that is no commit; return the writes that restore it."""
    kinds: tuple[Kind, ...] = (*MEMORIES, HELD)
    writes: Writes = {}
    with repo.store.reading(state) as past_reading:
        for kind in kinds:
            past_row_by_id = {str(row["id"]): row for row in past_reading.find(kind, Query())}
            present_row_by_id = {str(row["id"]): row for row in present.find(kind, Query())}
            past_row_of_changed = {
                row_id: past_row_by_id.get(row_id)
                for row_id in past_row_by_id.keys() | present_row_by_id.keys()
                if past_row_by_id.get(row_id) != present_row_by_id.get(row_id)
            }
            if past_row_of_changed:
                writes[kind.table] = past_row_of_changed
    return writes


def _commit_restore(work: Work, writes: Writes, what: str, snapshot_id: str | None) -> Restored:
    count = sum(map(len, writes.values()))
    if not count:
        return Restored(0, None, work.now)
    for row_by_id in writes.values():
        newest_time = max(
            (_created(row) for row in row_by_id.values() if row is not None), default=0
        )
        work.not_before(newest_time)
    work.apply(writes)
    meta: dict[str, Json] = {"snapshot": snapshot_id, "restored": what, "rows": count}
    commit = work.commit(Message("restore", f"restore {what}: {count} rows", meta=meta))
    return Restored(count, commit, work.now)


def _created(row: Row) -> int:
    return int(row["created_at"] or 0)
