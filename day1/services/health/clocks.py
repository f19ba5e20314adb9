"""Finding and repairing times that are ahead of the clock, as after a write with a wrong clock.

Every write to a branch gets a later time than all rows of the branch. So one wrong time moves all
later times, on every branch that the row is merged into. History is not rewritten: a new commit on
each branch gives its rows present times, in their order, and has the time of the clock. Reading *as
of* a time before that commit finds the rows from before the clock was wrong.
"""

from collections.abc import Iterator
from dataclasses import replace

from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import BY_TABLE, KINDS
from day1.model.values.instant import SECOND
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.repository.repository import Repository

TOO_FAR = 60 * SECOND
"""Microseconds by which a branch may be ahead of the clock without a warning."""
_UNITS = (("day", 86_400 * SECOND), ("hour", 3_600 * SECOND), ("minute", 60 * SECOND))


def lasting(span: int) -> str:
    """Format a span of time (microseconds) in words, in its largest unit."""
    for unit_name, unit_microseconds in _UNITS:
        if span >= unit_microseconds:
            unit_count = span // unit_microseconds
            return f"{unit_count:,} {unit_name}{'s' * (unit_count != 1)}"
    return "less than a minute"


def ahead_note(span: int) -> str:
    """Build the note for a write to a branch that is `span` microseconds ahead of the clock."""
    return (
        f"This branch is {lasting(span)} ahead of this machine's clock, so new rows get times "
        "in the future: `day1 doctor` says what to do."
    )


def ahead(repo: Repository, now: int) -> dict[str, int]:
    """Return how far branches are ahead of the clock, if over `TOO_FAR`: microseconds by name.

    `now` is the time of this machine, which a server does not date rows by.
    """
    now, span_by_branch = repo.store.present(now), {}
    for branch_name, tip in repo.history.branches().items():
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            newest_time = max(reading.pending.newest or 0, repo.history.commit(tip).ts)
        if newest_time - now > TOO_FAR:
            span_by_branch[branch_name] = newest_time - now
    return span_by_branch


def set_right(repo: Repository, now: int) -> list[tuple[str, int]]:
    """Repair the times of all branches that are ahead; return names and counts of rows.

    A row gets the same time on all branches, and rows keep their order.
    """
    branch_names, now = list(ahead(repo, now)), repo.store.present(now)
    future_times: set[int] = set()
    for branch_name in branch_names:
        with repo.store.reading(Ref(branch=branch_name)) as reading:
            future_times.update(row_time for _, _, row_time in _rows_after(reading, now))
    new_time_by_old = {
        row_time: now + position for position, row_time in enumerate(sorted(future_times), start=1)
    }
    return [
        (branch_name, _correct_times(repo, branch_name, new_time_by_old, now))
        for branch_name in branch_names
    ]


def _rows_after(reading: Reading, now: int) -> Iterator[tuple[str, str, int]]:
    for kind in KINDS:
        for row_id, created_at in reading.scan(
            kind, ("id", "created_at"), Query(created_after=now)
        ):
            yield kind.table, str(row_id), int(created_at or 0)


def _correct_times(repo: Repository, name: str, new_time_by_old: dict[int, int], now: int) -> int:
    branch_record = repo.ledger.branch(name)
    old_tip = repo.store.commit_pending(name)
    with repo.store.changing(name) as work:
        row_count = _set_times(work, new_time_by_old, now)
        work.turn_back(now + len(new_time_by_old))
        commit_line = f"correct the dates of {row_count} rows that a wrong clock wrote"
        commit = work.commit(Message("change", commit_line))
    if branch_record is not None and branch_record.merged_tip == old_tip:
        repo.ledger.put_branch(replace(branch_record, merged_tip=commit))
    return row_count


def _set_times(work: Work, new_time_by_old: dict[int, int], now: int) -> int:
    future_rows = sorted(_rows_after(work, now), key=lambda row: row[2])
    for table, row_id, old_time in future_rows:
        # A row that was added since the rows were listed is later than the others of its branch.
        new_time = new_time_by_old.setdefault(old_time, now + len(new_time_by_old) + 1)
        work.change(BY_TABLE[table], row_id, {"created_at": new_time})
    return len(future_rows)
