"""A memory with rows of Compose, and the jobs that maintain it."""

from dataclasses import replace
from typing import Any

from day1.model.branches.branch import MAIN
from day1.model.jobs.job import Job, JobKind
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.values.instant import parse
from day1.model.values.wallet_space import Owner
from day1.services.jobs.job_services import JobServices
from day1.services.jobs.jobs import NewJob, claim, create, run
from day1.services.jobs.worker import JobWorker
from day1.services.jobs.workshop import Workshop
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.search_engine import SearchEngine
from tests.fakes.memory_index import MemoryIndex
from tests.unit.services.conftest import ADA, Bench

NOON = parse("2026-03-04T12:00:00Z")
W = "0xa1"


def go_on() -> bool:
    """A call that nobody stops."""
    return False


class Maintained:
    """A bench with facts of wallets, and jobs on it."""

    def __init__(self, bench: Bench, **services: Any) -> None:
        self.bench, self.repo = bench, bench.repo
        bench.now = NOON
        index: Any = MemoryIndex()
        engine = SearchEngine(bench.store, bench.store.history, index, None, lambda: bench.now)
        self.shop = Workshop(bench.repo, engine, JobServices(**services))

    def fact(self, name: str, text: str, owner: Owner = Owner(W), **columns: Any) -> str:  # noqa: B008 - a value
        """Add a fact of an owner, as Compose writes it; gives its id."""
        self.bench.now += 1
        with self.bench.store.adding(MAIN) as work:
            row = fact_row(f"fact_{name}", NewFact(text, space=owner.space), ADA, work.now)
            work.add(FACT, [{**row, "detail": detail_of(owner), **columns}])
        return f"fact_{name}"

    def filler(self, count: int) -> None:
        """Add facts of which no two say the same, so that a job touches few of all."""
        for number in range(count):
            self.fact(f"filler{number}", f"Door {number} of the mill has colour {number}.")

    def statuses(self, branch: str = MAIN) -> dict[str, Any]:
        """The status of each fact, but for the fillers."""
        with self.bench.store.reading(Ref(branch=branch)) as reading:
            rows = reading.scan(FACT, ("id", "status"), Query())
        return {str(i): status for i, status in rows if "filler" not in str(i)}

    def queued(self, kind: JobKind = "consolidate", *wallets: str, **params: Any) -> Job:
        """Create a background job that waits."""
        branch = self.bench.branch()
        new = NewJob(kind, "temporal", branch, wallets or (W,), params)
        return create(self.repo, new)

    def done(self, kind: JobKind, *wallets: str, **params: Any) -> Job:
        """Create a job and run it."""
        held = claim(self.repo, self.queued(kind, *wallets, **params), "process_1")
        assert held is not None
        return run(self.shop, held, go_on)

    def worker(self, holder: str = "process_1", repo: Any = None) -> JobWorker:
        """A worker of the store, as one process has."""
        return JobWorker(replace(self.shop, repo=repo or self.repo), holder)
