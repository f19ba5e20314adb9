"""Schedules: create, pause, resume, trigger and delete them, and begin what is due.

The job of a due schedule has an id that follows from the schedule and its due time, so there is
one job however many processes look. What was missed while nothing was served runs once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import NotFound
from day1.model.branches.branch import Branch
from day1.model.jobs.job import KINDS, Execution, Job, JobKind
from day1.model.jobs.schedule import Calendar, Schedule, schedule_id
from day1.model.values.ids import derived_id
from day1.services.jobs.jobs import NewJob, create
from day1.services.repository.repository import Repository

KEPT: Final = 20
"""Jobs that are kept of each schedule: the newest ones."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The branch, wallet and token that schedules are made for."""

    branch: Branch
    wallet: str
    token_id: str | None


def create_all(repo: Repository, plan: Plan, calendar: Calendar) -> list[Schedule]:
    """Make or replace the schedules of a wallet, one for each kind of job: all of them or none.

    A replaced schedule keeps its id, its pause, and its next time if that is earlier.
    """
    with repo.ledger.transaction():
        schedules = [_planned(repo, plan, kind, calendar) for kind in KINDS]
        repo.ledger.put(*schedules)
    return schedules


def _planned(repo: Repository, plan: Plan, kind: JobKind, calendar: Calendar) -> Schedule:
    """Build the schedule of a kind for a plan; it is never later than a stored one."""
    now, planned_id = repo.clock(), schedule_id(kind, plan.wallet, plan.branch)
    next_run_at = calendar.next_after(kind, now)
    stored_schedule = repo.ledger.record(Schedule, planned_id)
    if stored_schedule is not None:
        next_run_at = min(stored_schedule.next_run_at, next_run_at)
        return replace(stored_schedule, token_id=plan.token_id, next_run_at=next_run_at)
    return Schedule(
        planned_id,
        kind,
        plan.wallet,
        plan.branch.id,
        plan.token_id,
        paused=False,
        next_run_at=next_run_at,
        last_run_at=None,
        last_job_id=None,
        created_at=now,
    )


def of_wallets(repo: Repository, wallets: tuple[str, ...] = ()) -> list[Schedule]:
    """List the schedules of these wallets, or of all; by wallet and kind."""
    if wallets:
        schedule_lists = [repo.ledger.records(Schedule, wallet=wallet) for wallet in wallets]
        wallet_schedules = [schedule for schedules in schedule_lists for schedule in schedules]
    else:
        wallet_schedules = repo.ledger.records(Schedule)
    return sorted(wallet_schedules, key=lambda schedule: (schedule.wallet, schedule.id))


def delete(repo: Repository, wallets: tuple[str, ...]) -> bool:
    """Delete the schedules of these wallets; return whether there were any."""
    schedules = of_wallets(repo, wallets)
    repo.ledger.remove(Schedule, *(schedule.id for schedule in schedules))
    return bool(schedules)


def find_schedule(repo: Repository, name: str) -> Schedule:
    """Find a schedule by its id.

    Raises:
        NotFound: there is none.
    """
    schedule = repo.ledger.record(Schedule, name)
    if schedule is None:
        raise unknown_schedule()
    return schedule


def unknown_schedule() -> NotFound:
    """Build the error for a schedule that is missing, or that the caller may not see."""
    return NotFound("There is no schedule with this id: list the schedules to see their ids.")


def pause(repo: Repository, schedule: Schedule) -> Schedule:
    """Let a schedule begin no job until it is resumed."""
    return _change(repo, schedule.id, lambda stored: replace(stored, paused=True))


def resume(repo: Repository, schedule: Schedule, calendar: Calendar) -> Schedule:
    """Let a schedule begin jobs again; what was due during the pause is left out."""
    now = repo.clock()

    def resumed(stored: Schedule) -> Schedule:
        if not stored.paused:
            return stored
        return replace(stored, paused=False, next_run_at=calendar.next_after(stored.kind, now))

    return _change(repo, schedule.id, resumed)


def trigger(repo: Repository, schedule: Schedule, execution: Execution) -> Job:
    """Create a job of a schedule now, whether or not it is paused or due.

    Raises:
        NotFound: the schedule was deleted meanwhile; no job is created then.
    """
    with repo.ledger.transaction():
        stored_schedule = find_schedule(repo, schedule.id)
        job = create(repo, _job_of(repo, stored_schedule, execution))
        repo.ledger.put(replace(stored_schedule, last_run_at=job.created_at, last_job_id=job.id))
    prune(repo, schedule.id)
    return job


def begin_due(repo: Repository, calendar: Calendar) -> int | None:
    """Create the jobs of the schedules that are due; return when the next one is.

    None: no schedule waits. A schedule whose branch was deleted is removed.
    """
    now, next_times = repo.clock(), []
    for schedule in repo.ledger.records(Schedule):
        if schedule.is_due(now):
            if not _branch_exists(repo, schedule):
                repo.ledger.remove(Schedule, schedule.id)
                continue
            schedule = _begin(repo, schedule, calendar)  # noqa: PLW2901 - as it is now
        elif schedule.next_run_at > calendar.next_after(schedule.kind, now):
            schedule = _set_right(repo, schedule, calendar)  # noqa: PLW2901 - as above
        if not schedule.paused:
            next_times.append(schedule.next_run_at)
    return min(next_times, default=None)


def _begin(repo: Repository, schedule: Schedule, calendar: Calendar) -> Schedule:
    """Create the job of a due schedule, and move the schedule to its next time.

    The job comes first: a process that dies in between leaves a due schedule, whose job exists.
    """
    now, due_time = repo.clock(), schedule.next_run_at
    job_id = derived_id("job", due_time, "schedule", schedule.id, str(due_time))
    create(repo, _job_of(repo, schedule, "temporal"), job_id)
    repo.point("schedule.after_job")
    next_run_at = calendar.next_after(schedule.kind, now)
    updated_schedule = replace(
        schedule, next_run_at=next_run_at, last_run_at=now, last_job_id=job_id
    )
    if repo.ledger.swap(schedule, updated_schedule):
        prune(repo, updated_schedule.id)
    return updated_schedule


def _set_right(repo: Repository, schedule: Schedule, calendar: Calendar) -> Schedule:
    """Move a schedule to its next time, if a clock that was ahead set a later one."""
    next_run_at = calendar.next_after(schedule.kind, repo.clock())
    updated_schedule = replace(schedule, next_run_at=next_run_at)
    repo.ledger.swap(schedule, updated_schedule)
    return updated_schedule


def _job_of(repo: Repository, schedule: Schedule, execution: Execution) -> NewJob:
    branch = repo.ledger.record(Branch, schedule.branch_id)
    if branch is None:
        raise NotFound("The branch of this schedule was deleted: delete the schedule.")
    wallets = (schedule.wallet,)
    return NewJob(schedule.kind, execution, branch, wallets, {}, schedule.token_id, schedule.id)


def _branch_exists(repo: Repository, schedule: Schedule) -> bool:
    return repo.ledger.record(Branch, schedule.branch_id) is not None


def prune(repo: Repository, schedule: str) -> None:
    """Remove the oldest jobs of a schedule that are done, beyond the newest `KEPT`."""
    schedule_jobs = repo.ledger.records(Job, schedule_id=schedule)
    now = repo.clock()
    old_ids = [job.id for job in schedule_jobs[:-KEPT] if job.seen_at(now).status != "running"]
    repo.ledger.remove(Job, *old_ids)


def _change(repo: Repository, name: str, change: Callable[[Schedule], Schedule]) -> Schedule:
    with repo.ledger.transaction():
        stored_schedule = find_schedule(repo, name)
        changed_schedule = change(stored_schedule)
        if changed_schedule != stored_schedule:
            repo.ledger.put(changed_schedule)
    return changed_schedule
