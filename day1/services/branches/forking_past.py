"""Forking a branch from a past state of its parent.

A commit of added rows has the rows of up to ten minutes, so an instant may lie inside of one. Then
no commit of the parent is the state of that instant: the branch begins before the commit and gets
those of its rows that existed by then, as a first commit of its own. To the engine both commits add
these rows anew. A merge takes them for rows of its base (`from_common_start`), else it would hold
those that one side changed since, and bring back those that one side removed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from day1.errors import InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.rows.change import Changes, CommitId, Message, Ref, RowChange
from day1.model.rows.kind import BY_TABLE, Row
from day1.model.values.instant import show
from day1.services.branches.forking import check_free, fork
from day1.services.branches.lookup import first_commit
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class PastFork:
    """Arguments of `create_past`: the new branch, and the state that it begins with."""

    name: str
    parent: Branch
    at: int
    """The instant (microseconds UTC)."""
    description: str | None = None


@dataclass(frozen=True, slots=True)
class _Start:
    """A commit, and rows that a branch needs beyond it to have the state of an instant."""

    commit: CommitId
    added: Changes


def create_past(repo: Repository, request: PastFork, now: int) -> Branch:
    """Fork a branch that begins with the rows that its parent had at an instant.

    Before the parent's first commit that is a branch without rows.

    Raises:
        InvalidRequest: the instant is in the future, or the name breaks the rule.
        BranchExists: the name is taken.
        RequestReused: the request made another branch.
    """
    branch_id = repo.new_id("branch", now)
    check_free(repo, request.name, branch_id)
    _refuse_future(repo, request, now)
    start_state = _start(repo, request.parent.name, request.at)
    branch = Branch(
        id=branch_id,
        name=request.name,
        parent_id=request.parent.id,
        fork_commit=start_state.commit,
        created_at=now,
        description=request.description,
        began_at=request.at,
    )

    def fill() -> None:
        rows_by_kind = {
            BY_TABLE[table]: [change.after for change in changes if change.after is not None]
            for table, changes in start_state.added.items()
        }
        creation_times = [
            int(row["created_at"] or 0) for rows in rows_by_kind.values() for row in rows
        ]
        with repo.store.changing(branch.name) as work:
            for kind, rows in rows_by_kind.items():
                work.add(kind, rows)
            # Every commit of additions has the time of its last row, so this one has it too.
            work.turn_back(max(creation_times))
            work.commit(Message("add", f"add {len(creation_times)} rows of {request.parent.name}"))

    return fork(repo, branch, fill=fill if start_state.added else None)


def _refuse_future(repo: Repository, request: PastFork, now: int) -> None:
    """Refuse an instant that has not come: nobody knows what the parent will have by then.

    Times of a branch are ahead of the clock where a wrong clock wrote them; those can be named.
    """
    if request.at <= now:
        return
    with repo.store.reading(Ref(branch=request.parent.name)) as reading:
        newest_time = max(reading.pending.newest or 0, repo.history.commit(reading.tip).ts)
    if request.at > newest_time:
        raise InvalidRequest(
            f"`at` is in the future ({show(request.at)}; by the store's clock it is {show(now)}): "
            "leave `at` out to fork the branch as it is now.",
            at=show(request.at),
        )


def _start(repo: Repository, parent: str, instant: int) -> _Start:
    """Find the commit to fork at, and the rows that it lacks."""
    state_ref = repo.history.at(parent, instant)
    while state_ref.branch is not None:  # its pending rows, to which somebody may add meanwhile
        repo.store.commit_pending(parent)
        state_ref = repo.history.at(parent, instant)
    if state_ref.empty or state_ref.commit is None:
        return _Start(first_commit(repo, parent), {})
    if state_ref.until is None:
        return _Start(state_ref.commit, {})
    commit_before = repo.history.commit(state_ref.commit).parents[0]
    return _Start(commit_before, repo.history.changes(commit_before, state_ref))


def from_common_start(
    repo: Repository, base: CommitId, changes: Changes, tips: Sequence[CommitId]
) -> Changes:
    """Return a side's changes relative to the rows that both sides began with.

    Only after the base of a fork of the past can two commits have added the same rows.

    Args:
        repo: the repository.
        base: the merge base of both sides.
        changes: what one side changed since the base.
        tips: a commit of each side.
    """
    first_rows, other_first_rows = (dict(_first_rows(repo, base, tip)) for tip in tips)
    common_row_by_key = {
        row_key: row for row_key, row in first_rows.items() if other_first_rows.get(row_key) == row
    }
    change_by_key = {
        (table, row_change.id): row_change
        for table, table_changes in changes.items()
        for row_change in table_changes
    }
    for (table, row_id), row in common_row_by_key.items():
        change = change_by_key.pop((table, row_id), None)
        row_after = None if change is None else change.after
        if row_after != row:
            change_by_key[table, row_id] = RowChange(row_id, row, row_after)
    changes_by_table: Changes = {}
    for (table, _), change in change_by_key.items():
        changes_by_table.setdefault(table, []).append(change)
    return changes_by_table


def _first_rows(
    repo: Repository, base: CommitId, tip: CommitId
) -> Iterator[tuple[tuple[str, str], Row]]:
    """Yield the rows that the commits just after a base added, by table and id."""
    start_commits = {base}
    for commit in reversed(repo.history.graph([tip])):
        if not start_commits.isdisjoint(commit.parents[:1]):
            if commit.op == "schema":  # it has no rows of its own
                start_commits.add(commit.id)
            elif commit.op == "add":
                changes_by_table = repo.history.changes(base, Ref(commit=commit.id))
                for table, changes in changes_by_table.items():
                    yield from (
                        ((table, change.id), change.after)
                        for change in changes
                        if change.after is not None
                    )
