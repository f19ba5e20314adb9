"""Restoring a row or a branch to a past state by a new commit."""

from dataclasses import dataclass

from day1.errors import NotFound
from day1.model.branches.branch import Branch
from day1.model.rows.change import Changes, CommitId, Message, Query, Ref, Writes
from day1.model.rows.kind import EDIT, HELD, MEMORIES, Kind, Row, kind_of
from day1.ports.store import Work
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore; `commit` is None if nothing differed."""

    rows: int
    commit: CommitId | None
    at: int


def check_row(repo: Repository, branch: Branch, row_id: str, state: Ref) -> None:
    """Check that a row is on a branch or was in a state of its past.

    Raises:
        NotFound: the row is in neither state.
    """
    kind = kind_of(row_id)
    for state_ref in (state, Ref(branch=branch.name)):
        with repo.store.reading(state_ref) as reading:
            if kind in MEMORIES and reading.get(kind, [row_id]):
                return
    raise _unknown(row_id, branch)


def _unknown(row_id: str, branch: Branch) -> NotFound:
    return NotFound(
        f"{row_id} is not on branch {branch.name!r}, and was not in that past state.",
        id=row_id,
        branch=branch.name,
    )


def restore_row(repo: Repository, branch: Branch, row_id: str, state: Ref) -> Restored:
    """Restore one row to its version in a past state, or remove it if that state lacks it.

    Raises:
        NotFound: the row is neither on the branch nor in the past state.
    """
    kind = kind_of(row_id)
    with repo.store.reading(state) as past_reading:
        past_row = None if kind not in MEMORIES else past_reading.get(kind, [row_id]).get(row_id)
    with repo.store.changing(branch.name) as work:
        present_row = None if kind not in MEMORIES else work.get(kind, [row_id]).get(row_id)
        if kind is None or (past_row is None and present_row is None):
            raise _unknown(row_id, branch)
        return _commit_restore(
            work, {kind.table: {row_id: past_row}}, 0 if past_row == present_row else 1, row_id
        )


def restore_branch(repo: Repository, branch: Branch, state: Ref, what: str) -> Restored:
    """Restore every row of a branch to a past state; `what` names the state in the message.

    Edits are history and stay; held items are part of the state and go back with it.
    """
    with repo.store.changing(branch.name) as work:
        if state.empty or state.commit is None:
            writes = _from_rows(repo, work, state)
        else:
            changes = repo.history.changes(state.commit, Ref(branch=branch.name))
            writes = _undo(changes, state.until)
            if state.until is not None:
                _without_later(writes, work, state.until)
        return _commit_restore(work, writes, sum(map(len, writes.values())), what)


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


def _without_later(writes: Writes, work: Work, until: int) -> None:
    """Add to the writes the removal of rows that were created after `until`."""
    for kind in (*MEMORIES, HELD):
        for row in work.find(kind, Query(created_after=until)):
            writes.setdefault(kind.table, {})[str(row["id"])] = None


def _from_rows(repo: Repository, work: Work, state: Ref) -> Writes:
    """Compare all rows with a past state that is no commit; return the writes that restore it."""
    kinds: tuple[Kind, ...] = (*MEMORIES, HELD)
    writes: Writes = {}
    with repo.store.reading(state) as past_reading:
        for kind in kinds:
            past_row_by_id = {str(row["id"]): row for row in past_reading.find(kind, Query())}
            present_row_by_id = {str(row["id"]): row for row in work.find(kind, Query())}
            past_row_of_changed = {
                row_id: past_row_by_id.get(row_id)
                for row_id in past_row_by_id.keys() | present_row_by_id.keys()
                if past_row_by_id.get(row_id) != present_row_by_id.get(row_id)
            }
            if past_row_of_changed:
                writes[kind.table] = past_row_of_changed
    return writes


def _commit_restore(work: Work, writes: Writes, count: int, what: str) -> Restored:
    if not count:
        return Restored(0, None, work.now)
    for row_by_id in writes.values():
        newest_time = max(
            (_created(row) for row in row_by_id.values() if row is not None), default=0
        )
        work.not_before(newest_time)
    work.apply(writes)
    commit = work.commit(Message("restore", f"restore {what}: {count} rows"))
    return Restored(count, commit, work.now)


def _created(row: Row) -> int:
    return int(row["created_at"] or 0)
