"""Run a server's chores in threads while it answers calls, such as the renewal of saved primes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from day1.adapters.chore_file import ChoreFile
from day1.adapters.process_memory import few_arenas, give_back
from day1.app.ingest import spool_ingester
from day1.app.leases import LeasePlace
from day1.app.noticing import noticing
from day1.errors import Day1Error, InvalidRequest
from day1.interfaces.heads import spaced
from day1.model.branches.branch import MAIN
from day1.model.values.space import EVERY, SHARED

if TYPE_CHECKING:
    from day1.app.noticing import Noticing
    from day1.interfaces.open_store import OpenStore
    from day1.ports.lease import Lease
    from day1.services.jobs.worker import JobWorker
    from day1.services.prime.renewing import PrimeRenewer
    from day1.services.upkeep.chores import ChoreRunner, ChoreState, Clock, Report
    from day1.services.upkeep.embedding import Moment
    from day1.services.upkeep.worker import BackgroundWorker


_JOBS_S: Final = 2.0
"""Seconds between two checks for due schedules and waiting jobs."""
_COMPACTION: Final = 3
"""The seconds that a compaction may take, as a multiple of `wait_s`; writers wait for 4 times."""


@dataclass(frozen=True, slots=True)
class Background:
    """The background threads of a server: chores, notices and jobs."""

    worker: BackgroundWorker
    notices: Noticing | None
    """The runner of `DAY1_NOTIFY`, with a thread of its own, since it waits for that command."""
    jobs: ChoreRunner | None
    """The runner of schedules and background jobs."""

    def start(self) -> None:
        """Start the threads."""
        self.worker.start()
        if self.notices is not None:
            self.notices.start()
        if self.jobs is not None:
            self.jobs.start()

    def stop(self) -> None:
        """Kill the running command of `DAY1_NOTIFY`, and stop after the present chore."""
        if self.notices is not None:
            self.notices.stop()
        if self.jobs is not None:
            self.jobs.stop()
        self.worker.stop()


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """The lease and the time that the background threads of all workers of a server share."""

    lease: Lease
    """The lease of the chores that one worker does for all."""
    last_call: Moment
    """The time of the last call that any worker took."""


def background(
    store: OpenStore, branch: str | None = None, share: WorkerShare | None = None
) -> Background:
    """Make the threads of a server; sessions begin on `branch`.

    `share` is what a worker shares with the others of its server, if it has several.
    """
    few_arenas()
    report = failures_of(store)
    worker = background_worker(store, branch, report, share=share)
    return Background(worker, noticing(store, report), job_runner(store, report))


def background_worker(
    store: OpenStore,
    branch: str | None = None,
    report: Report | None = None,
    clock: Clock | None = None,
    share: WorkerShare | None = None,
) -> BackgroundWorker:
    """Make the worker that ingests, commits, renews primes, indexes, compacts and embeds.

    Sessions begin on `branch`; `report` is called with the states of the chores; `share` is what
    the workers of a server share.
    """
    from day1.services.upkeep.worker import BackgroundWorker, WorkerTasks

    lease, last_call = (None, None) if share is None else (share.lease, share.last_call)
    renew = prime_renewer(store, branch).renew
    tasks = WorkerTasks(
        spool_ingester(store), renew, _compaction_s(store), lease, last_call, give_back
    )
    report = report or failures_of(store)
    return BackgroundWorker(store.repo, store.search, tasks, clock, report)


def _compaction_s(store: OpenStore) -> float:
    """Return the seconds that a compaction may take by its estimate; 0: none is begun."""
    compacts = store.settings.store.compact and store.repo.store.capabilities.compaction
    return _COMPACTION * store.settings.store.wait_s if compacts and not store.read_only else 0.0


def failures_of(store: OpenStore) -> Report:
    """Make the function that writes failures of chores to the file that `day1 doctor` reads."""
    chore_file = ChoreFile(store.folder)

    def report(states: Mapping[str, ChoreState]) -> None:
        if not store.read_only:
            chore_file.note({chore: state.error for chore, state in states.items()})

    return report


def lease_of(store: OpenStore, name: str) -> Lease:
    """Make the lease of a chore for one process: on servers a record, in folders a lock."""
    rows, ledger = store.repo.store, store.repo.ledger
    return LeasePlace(store.folder, store.node, ledger, store.clock, rows.present).lease(name)


def job_runner(store: OpenStore, report: Report, clock: Clock | None = None) -> ChoreRunner | None:
    """Make the runner of jobs, with a thread of its own, since a job may take long.

    None: the store is read-only.
    """
    if store.read_only:
        return None
    from day1.services.jobs.job_services import CHORE
    from day1.services.upkeep.chores import Chore, ChoreRunner, Clock

    @cache
    def worker() -> JobWorker:  # made by the first look, since it loads what all jobs need
        from day1.model.values.ids import new_id
        from day1.services.jobs.worker import JobWorker
        from day1.services.jobs.workshop import Workshop

        workshop = Workshop(store.repo, store.search, store.jobs)
        return JobWorker(workshop, new_id("process", store.clock()))

    lease = lease_of(store, CHORE)
    with suppress(Day1Error):
        lease.acquire()  # at once, so that the first request finds a server
    chore = Chore(CHORE, _JOBS_S, lambda stopped: worker().run(stopped), lease)
    return ChoreRunner([chore], clock or Clock(), report, _JOBS_S, what="jobs")


def prime_renewer(store: OpenStore, branch: str | None = None) -> PrimeRenewer:
    """Make the renewer of the saved primes; sessions begin on `branch`."""
    from day1.services.prime.renewing import PrimeChoice, PrimeRenewer

    settings = store.settings
    try:
        space = spaced(settings.space)
    except InvalidRequest:  # each call reports that the setting is invalid
        space = None
    space_or_none = space if space not in {SHARED, EVERY} else None
    prime_choice = PrimeChoice(
        branch or settings.branch or MAIN, space_or_none, settings.prime.chars
    )
    return PrimeRenewer(store.repo, store.prime, prime_choice)
