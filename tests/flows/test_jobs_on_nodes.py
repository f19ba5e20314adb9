"""Several machines serve one store on a Dolt server: each due job is run once, by one of them."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import pytest
from pydantic import SecretStr

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.jobs.job import KINDS, Job
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.instant import SECOND
from day1.model.values.wallet_space import Owner
from day1.services.branches.lookup import find
from day1.services.jobs.schedules import Plan, create_all, find_schedule, of_wallets
from day1.services.jobs.worker import JobWorker
from day1.services.jobs.workshop import Workshop
from day1.services.rows.recording import NewFact, fact_row
from day1.settings import EmbedderSettings, SearchSettings, Settings, StoreSettings
from tests.waiting import until
from tests.wires.http_server import HttpServer

WALLETS = ("ada", "bo")
NODES = ("one", "other")
LOOKS = 4
"""How often each machine looks for what is due."""


@pytest.fixture
def nodes(tmp_path: Path, dolt_database: str) -> Iterator[list[OpenStore]]:
    """The store on the server as two machines have it open, each known by its folder."""
    with ExitStack() as opened:
        stores = []
        for name in NODES:
            settings = Settings(
                home=tmp_path / name,
                store=StoreSettings(url=SecretStr(dolt_database)),
                embedder=EmbedderSettings(kind="none"),
                search=SearchSettings(chroma=False),
            )
            stores.append(open_store(settings, create=True))
            opened.callback(stores[-1].close)
        yield stores


def fill(store: OpenStore) -> None:
    """Let each wallet say one thing twice, and make its schedules."""
    with store.repo.store.adding("main") as work:
        for wallet in WALLETS:
            owner = Owner(wallet)
            for number, text in enumerate((f"{wallet} likes tea.", f"{wallet} likes tea")):
                new = NewFact(text, space=owner.space)
                row = fact_row(f"fact_{wallet}{number}", new, Origin(wallet), work.now)
                work.add(FACT, [{**row, "detail": detail_of(owner)}])
    main = find(store.repo, "main")
    for wallet in WALLETS:
        create_all(store.repo, Plan(main, wallet, None), store.jobs.calendar)


def look_at_once(nodes: list[OpenStore], instant: int) -> int:
    """Let all machines look for due jobs at the same moment, a few times, at an instant.

    Gives how many jobs they began.
    """
    passed: list[str] = []
    workers = []
    for store, name in zip(nodes, NODES, strict=True):
        repo = replace(store.repo, clock=lambda: instant, point=passed.append)
        workers.append(JobWorker(Workshop(repo, store.search, store.jobs), name))
    together = Barrier(len(workers))
    failed: list[Exception] = []

    def work(worker: JobWorker) -> None:
        for _ in range(LOOKS):
            together.wait(60)
            try:
                worker.run(lambda: False)
            except Exception as error:
                failed.append(error)

    threads = [Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    return passed.count("job.claimed")


def superseded(store: OpenStore) -> int:
    with store.repo.store.reading(Ref(branch="main")) as reading:
        return len(reading.find(FACT, Query(equal={"status": "superseded"})))


def consolidations(store: OpenStore) -> int:
    lines = [commit.line for commit in store.repo.history.log("main")]
    return len([line for line in lines if line.startswith("consolidate")])


def test_each_due_job_runs_once_when_all_machines_look_at_once(nodes: list[OpenStore]) -> None:
    one, other = nodes
    fill(one)
    schedules = of_wallets(other.repo)
    assert len(schedules) == len(KINDS) * len(WALLETS)
    first = max(schedule.next_run_at for schedule in schedules)
    assert look_at_once(nodes, first) == len(schedules)
    jobs = other.repo.ledger.records(Job)
    assert sorted(str(job.schedule_id) for job in jobs) == [s.id for s in sorted(schedules, key=lambda s: s.id)]  # fmt: skip
    assert {(job.status, job.error) for job in jobs} == {("completed", None)}
    assert {job.holder for job in jobs} <= {*NODES}
    assert (superseded(one), consolidations(other)) == (len(WALLETS), len(WALLETS))
    moved = of_wallets(one.repo)
    assert all(schedule.next_run_at > first for schedule in moved)
    again = max(schedule.next_run_at for schedule in moved)
    assert look_at_once(nodes, again) == len(schedules)
    runs = [job.schedule_id for job in one.repo.ledger.records(Job)]
    assert sorted(map(str, runs)) == sorted(2 * [schedule.id for schedule in schedules])


def test_servers_on_two_machines_share_the_due_jobs(
    nodes: list[OpenStore], dolt_database: str, tmp_path: Path
) -> None:
    one, other = nodes
    fill(one)
    count = len(KINDS) * len(WALLETS)
    with ExitStack() as serving:
        for name in NODES:
            folder = tmp_path / f"{name}-server"
            serving.enter_context(HttpServer(folder, DAY1_STORE__URL=dolt_database))
        for schedule in of_wallets(other.repo):  # as if each had been due all the time
            other.repo.ledger.put(replace(schedule, next_run_at=SECOND))

        def ended() -> list[Job]:
            return [job for job in one.repo.ledger.records(Job) if job.status != "running"]

        until(lambda: len(ended()) >= count, "the jobs")
        until(lambda: all(find_schedule(one.repo, s.id).next_run_at > SECOND for s in of_wallets(one.repo)), "the schedules")  # fmt: skip
    jobs = one.repo.ledger.records(Job)
    assert len({job.schedule_id for job in jobs}) == len(jobs) == count
    assert {(job.status, job.error) for job in jobs} == {("completed", None)}
    assert (superseded(one), consolidations(other)) == (len(WALLETS), len(WALLETS))
