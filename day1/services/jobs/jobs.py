"""Jobs: creating, claiming, running and reading them.

A process that runs a job renews its lease. A job whose lease is over reads as failed, and no
process can complete it afterwards.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from day1.errors import (
    BranchClosed,
    BranchProtected,
    Day1Error,
    Json,
    NotFound,
    Refused,
    UnknownBranch,
)
from day1.logs import note_failure
from day1.model.branches.branch import Branch
from day1.model.jobs.job import KINDS, LEASE, WAITS, Execution, Job, WorkKind
from day1.model.values.ids import derived_id
from day1.services.branches.lookup import find_again
from day1.services.jobs.kinds import RUNS
from day1.services.jobs.workshop import JobRun, JobStoppedError, Workshop
from day1.services.repository.idempotency import reused
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_RENEWED_S: Final = LEASE / 3 / 1e6
"""Seconds between two renewals of a lease."""
_CANCELLED: Final = "The call was cancelled before the job was done."
_PLAIN_ERRORS: Final = (Refused, BranchClosed, BranchProtected, UnknownBranch)
"""Errors whose messages quote no memory, so that a job may keep them."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to create."""

    kind: WorkKind
    execution: Execution
    branch: Branch
    wallets: tuple[str, ...]
    params: Mapping[str, Json]
    token_id: str | None = None
    schedule_id: str | None = None


def create(repo: Repository, new: NewJob, job_id: str | None = None) -> Job:
    """Write the record of a job that waits to be run.

    Args:
        repo: the memory.
        new: the job.
        job_id: its id; of those who create a job of one id at once, one succeeds, and all get it.
            Default: a new one, or that of the request that is repeated.

    Raises:
        RequestReused: the request made another job before.
    """
    now = repo.clock()
    job = Job(
        id=job_id or repo.new_id("job", now),
        kind=new.kind,
        execution=new.execution,
        status="running",
        branch_id=new.branch.id,
        wallet=new.wallets[0] if len(new.wallets) == 1 else None,
        wallets=new.wallets,
        params=new.params,
        data={},
        error=None,
        commit=None,
        schedule_id=new.schedule_id,
        token_id=new.token_id,
        holder=None,
        lease_until=now + WAITS,
        created_at=now,
    )
    if repo.ledger.swap(None, job):
        return job
    stored_job = repo.ledger.record(Job, job.id) or job
    if repo.of_request and _asked_of(stored_job) != _asked_of(job):
        raise reused(job.id)
    return stored_job


def _asked_of(job: Job) -> tuple[object, ...]:
    return job.kind, job.execution, job.wallets, job.params


def create_unless_done(repo: Repository, new: NewJob, job_id: str) -> Job:
    """Create a job as `create` does; if it failed before, create its next attempt."""
    job = create(repo, new, job_id).seen_at(repo.clock())
    while job.status == "failed":
        next_id = derived_id("job", None, "attempt", job.id)
        job = create(repo, new, next_id).seen_at(repo.clock())
    return job


def find_job(repo: Repository, job_id: str) -> Job:
    """Find a job with its present status: one whose lease is over has failed.

    Raises:
        NotFound: there is none.
    """
    job = repo.ledger.record(Job, job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id!r}: use the id that the start of a job answered.")
    return job.seen_at(repo.clock())


def waiting(repo: Repository) -> list[Job]:
    """List the background jobs that a server must begin: those of turns last, else oldest first.

    There may be a job for each turn, and each one waits for a chat model, which may be slow.
    """
    now = repo.clock()
    running_jobs = repo.ledger.records(Job, status="running")
    waiting_jobs = [
        job
        for job in running_jobs
        if job.holder is None and job.execution == "temporal" and not job.is_over(now)
    ]
    return sorted(waiting_jobs, key=lambda job: job.kind not in KINDS)


def claim(repo: Repository, job: Job, holder: str) -> Job | None:
    """Begin a job for a process; None: another process was quicker, or nobody began it in time."""
    now = repo.clock()
    if job.holder is not None or job.is_over(now):
        return None
    claimed_job = job.held_by(holder, now)
    return claimed_job if repo.ledger.swap(job, claimed_job) else None


def run(shop: Workshop, job: Job, stopped: Callable[[], bool]) -> Job:
    """Run a claimed job to its end, and return it with its result.

    A background job whose process ends before it wrote anything waits for the next process.
    """
    with _renewed(shop.repo, job) as job_lease:
        try:
            branch = _branch_of(shop.repo, job)
            job_run = JobRun(shop, job, branch, lambda: stopped() or job_lease.is_over())
            job_run.go_on()
            shop.repo.point("job.claimed")
            job_result = RUNS[job.kind](job_run)
        except JobStoppedError:
            if job.execution == "temporal":
                return job_lease.give_back()
            return job_lease.end(status="failed", error=_CANCELLED)
        except Day1Error as error:
            note_failure(log, "a job", error)
            failure_text = (
                str(error) if isinstance(error, _PLAIN_ERRORS) else f"It ended with {error.code}."
            )
            return job_lease.end(status="failed", error=failure_text)
        except Exception as error:  # noqa: BLE001 - whatever it is, the record must say so
            note_failure(log, "a job", error)
            return job_lease.end(status="failed", error=f"It ended with {type(error).__name__}.")
        return job_lease.end(status="completed", data=job_result, commit=job_result.get("commit"))


def run_now(shop: Workshop, job: Job, stopped: Callable[[], bool]) -> Job:
    """Claim and run a new job in the thread of the request that asked for it."""
    now = shop.repo.clock()
    claimed_job = claim(shop.repo, job, shop.repo.new_id("call", now))
    return find_job(shop.repo, job.id) if claimed_job is None else run(shop, claimed_job, stopped)


def _branch_of(repo: Repository, job: Job) -> Branch:
    branch = repo.ledger.record(Branch, job.branch_id)
    if branch is None:
        raise UnknownBranch("The branch of this job was deleted: create a job for another branch.")
    return find_again(repo, branch)


class _JobLease:
    """The lease of a job that this process runs; a thread renews it."""

    def __init__(self, repo: Repository, job: Job) -> None:
        self._repo, self._job = repo, job
        self._guard = threading.Lock()
        self._ended = threading.Event()

    def renew_until_ended(self) -> None:
        """Renew the lease three times in its period, until the job has ended."""
        while not self._ended.wait(_RENEWED_S):
            try:
                if not self.renew():
                    return
            except Day1Error:  # the store cannot be reached now: the next renewal may come in time
                continue

    def renew(self) -> bool:
        """Renew the lease; return whether the job is still this process's."""
        with self._guard:
            now = self._repo.clock()
            if self._ended.is_set() or self._job.is_over(now):
                return False
            return self._write(replace(self._job, lease_until=now + LEASE))

    def is_over(self) -> bool:
        """Whether the job reads as failed already."""
        return self._job.is_over(self._repo.clock())

    def end(self, **result: Any) -> Job:
        """Write the result of the job; one whose lease is over has failed."""
        with self._guard:
            self._ended.set()
            self._write(self._job.ended(self._repo.clock(), **result))
            return self._job

    def give_back(self) -> Job:
        """Let the job wait for another process; one whose lease is over has failed."""
        with self._guard:
            self._ended.set()
            now = self._repo.clock()
            is_over = self._job.is_over(now)
            self._write(self._job.ended(now) if is_over else self._job.waiting_again(now))
            return self._job

    def _write(self, job: Job) -> bool:
        if self._repo.ledger.swap(self._job, job):
            self._job = job
            return True
        return False

    def stop(self) -> None:
        """End the thread that renews."""
        self._ended.set()


@contextmanager
def _renewed(repo: Repository, job: Job) -> Iterator[_JobLease]:
    """Renew the lease of a job during the block."""
    lease = _JobLease(repo, job)
    thread = threading.Thread(target=lease.renew_until_ended, name="day1-job-lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        lease.stop()
        thread.join()
