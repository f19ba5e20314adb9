"""Several machines serve one store on a Dolt server: a due job is run once, and a turn is one turn."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from pydantic import SecretStr

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.jobs.job import ENDED, KINDS, LEASE, Job
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.instant import SECOND
from day1.model.values.wallet_space import Owner
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.jobs.jobs import find_job
from day1.services.jobs.schedules import Plan, create_all, find_schedule, of_wallets
from day1.services.jobs.worker import JobWorker
from day1.services.jobs.workshop import Workshop
from day1.services.rows.recording import NewFact, fact_row
from day1.settings import EmbedderSettings, SearchSettings, Settings, StoreSettings
from day1.toolsets.compose import COMPOSE
from tests.waiting import until
from tests.wires.http_server import HttpServer

WALLETS = ("ada", "bo")
NODES = ("one", "other")
LOOKS = 4
"""How often each machine looks for what is due."""
TURNS = 5


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


def kill(folder: Path, database: str, point: str) -> None:
    """Let a server begin a due job on a machine of its own; it kills itself at a point of it."""
    with HttpServer(folder, DAY1_STORE__URL=database, DAY1_KILL_AT=point) as server:
        until(lambda: server.process.poll() is not None, "the end of the server")


def at(store: OpenStore, instant: int) -> Workshop:
    """What a machine runs jobs with at an instant."""
    return Workshop(replace(store.repo, clock=lambda: instant), store.search, store.jobs)


def only_consolidating(store: OpenStore, wallet: str) -> str:
    """Make one schedule due, and pause all others; gives its id."""
    name = f"consolidate:{wallet}"
    for schedule in of_wallets(store.repo):
        is_due = schedule.id == name
        next_run_at = SECOND if is_due else schedule.next_run_at
        store.repo.ledger.put(replace(schedule, next_run_at=next_run_at, paused=not is_due))
    return name


@pytest.mark.parametrize("point", ["job.claimed", "job.before_commit", "job.after_commit"])
def test_what_a_killed_machine_began_another_one_does_once(
    nodes: list[OpenStore], dolt_database: str, tmp_path: Path, point: str
) -> None:
    one, other = nodes
    fill(one)
    name = only_consolidating(one, "ada")
    kill(tmp_path / "killed", dolt_database, point)
    (job,) = other.repo.ledger.records(Job)
    assert (job.status, job.schedule_id) == ("running", name)
    assert superseded(other) == (1 if point == "job.after_commit" else 0)
    for store in nodes:
        dead = find_job(at(store, store.clock() + LEASE).repo, job.id)
        assert (dead.status, dead.error) == ("failed", ENDED)
    night = find_schedule(other.repo, name).next_run_at
    for store, node in zip(nodes, NODES, strict=True):
        JobWorker(at(store, night), node).run(lambda: False)
    jobs = sorted(other.repo.ledger.records(Job), key=lambda each: each.created_at)
    assert [each.id == job.id for each in jobs] == [True, False]
    assert (jobs[-1].status, jobs[-1].holder) == ("completed", NODES[0])
    assert (superseded(one), consolidations(other)) == (1, 1)


def test_a_job_that_a_killed_machine_did_not_begin_is_taken_over(
    nodes: list[OpenStore], dolt_database: str, tmp_path: Path
) -> None:
    one, other = nodes
    fill(one)
    name = only_consolidating(one, "ada")
    kill(tmp_path / "killed", dolt_database, "schedule.after_job")
    assert look_at_once(nodes, one.clock()) == 1
    (job,) = other.repo.ledger.records(Job)
    assert (job.status, job.schedule_id) == ("completed", name)
    assert (superseded(one), consolidations(other)) == (1, 1)


def test_one_turn_from_two_machines_is_one_turn(nodes: list[OpenStore]) -> None:
    answers: list[tuple[str, Any]] = []
    failed: list[Exception] = []
    together = Barrier(len(nodes))

    def record(store: OpenStore) -> None:
        for number in range(TURNS):
            said = {"userMessage": f"Ask {number}.", "assistantMessage": f"Tell {number}."}
            arguments = {"agentWallet": "ada", "threadId": "th", "turnId": f"t{number}", **said}
            together.wait(60)
            try:
                answer = COMPOSE.tools["turn_record"].call(store.context(Caller()), arguments)
            except Exception as error:
                failed.append(error)
                continue
            del answer["written"]
            answers.append((f"t{number}", answer))

    threads = [Thread(target=record, args=(store,)) for store in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    by_turn = {name: [answer for n, answer in answers if n == name] for name, _ in answers}
    assert len(by_turn) == TURNS
    assert all(one == other for one, other in by_turn.values())
    wanted = [f"{word} {number}." for number in range(TURNS) for word in ("Ask", "Tell")]
    for store in nodes:
        whole: Any = COMPOSE.tools["transcript_get"].call(
            store.context(Caller()), {"id": "th", "agentWallet": "ada"}
        )
        assert [message["content"] for message in whole["messages"]] == wanted
