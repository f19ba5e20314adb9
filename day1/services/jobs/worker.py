"""The chore that begins due schedules and runs the background jobs of a store."""

from collections.abc import Hashable

from day1.model.jobs.job import Job
from day1.services.jobs.jobs import claim, run, waiting
from day1.services.jobs.schedules import begin_due, prune
from day1.services.jobs.workshop import Workshop
from day1.services.upkeep.chores import IsStopped


class JobWorker:
    """Runs jobs one after the other; several processes may each have a worker of one store."""

    def __init__(self, shop: Workshop, holder: str) -> None:
        """Work for a store; `holder` names this process in the leases of jobs."""
        self._shop, self._holder = shop, holder
        self._stamp: Hashable = None
        self._next_at: int | None = None

    def run(self, stopped: IsStopped) -> bool:
        """Begin schedules that are due and run waiting jobs; costs very little without changes."""
        repo = self._shop.repo
        ledger_stamp = repo.ledger.stamp()
        is_due = self._next_at is not None and self._next_at <= repo.clock()
        if ledger_stamp is not None and ledger_stamp == self._stamp and not is_due:
            return False
        # A job may wait for a chat model for minutes: what was created meanwhile is seen after it.
        while not stopped():
            self._next_at = begin_due(repo, self._shop.services.calendar)
            claimed_job = self._claim_next()
            if claimed_job is None:
                self._stamp = ledger_stamp
                break
            run(self._shop, claimed_job, stopped)
            if claimed_job.schedule_id is not None:
                prune(repo, claimed_job.schedule_id)
        return False

    def _claim_next(self) -> Job | None:
        """Claim the first waiting job that no other process claims."""
        repo = self._shop.repo
        claims = (claim(repo, job, self._holder) for job in waiting(repo))
        return next((job for job in claims if job is not None), None)
