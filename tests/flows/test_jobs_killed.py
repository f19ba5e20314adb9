"""`kill -9` in the middle of a job: it reads as failed, and the next one does the work."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.jobs.job import ENDED, LEASE, Job
from day1.model.jobs.schedule import Schedule
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.instant import SECOND
from day1.model.values.wallet_space import Owner
from day1.services.jobs.jobs import find_job
from day1.services.jobs.worker import JobWorker
from day1.services.jobs.workshop import Workshop
from day1.services.rows.recording import NewFact, fact_row
from tests.engine import needs_files
from tests.fakes.chat_server import ChatServer
from tests.flows.opened_store import opened
from tests.waiting import until
from tests.wires.http_server import HttpServer

W = Owner("w")
TEXTS = ("Ada likes tea.", "Ada likes tea", *(f"Door {number}." for number in range(8)))
NAME = "consolidate:w"
POINTS = ["job.claimed", "job.before_commit", "job.after_commit"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with facts of a wallet, two of which say the same."""
    needs_files()
    folder = tmp_path / "store"
    with opened(folder, create=True) as store, store.repo.store.adding("main") as work:
        rows = [
            fact_row(f"fact_{number}", NewFact(text, space=W.space), Origin("w"), work.now)
            for number, text in enumerate(TEXTS)
        ]
        work.add(FACT, [{**row, "detail": detail_of(W)} for row in rows])
    return folder


def superseded(store: OpenStore) -> list[str]:
    with store.repo.store.reading(Ref(branch="main")) as reading:
        return [str(r["id"]) for r in reading.find(FACT, Query(equal={"status": "superseded"}))]


def commits(store: OpenStore) -> int:
    lines = [commit.line for commit in store.repo.history.log("main")]
    return len([line for line in lines if line.startswith("consolidate")])


def later(store: OpenStore, instant: int) -> Workshop:
    """What jobs are run with at a later time."""
    return Workshop(replace(store.repo, clock=lambda: instant), store.search, store.jobs)


def kill(folder: Path, point: str, path: str, **arguments: Any) -> None:
    """Ask a server for a job, at a point of which it kills itself."""
    with HttpServer(folder, DAY1_KILL_AT=point) as server:
        server.ask("POST", "/api/memory/schedules", json={"agentWallets": ["w"]})
        with suppress(httpx2.TransportError):
            server.http.post(f"/api/memory{path}", json=arguments)
        until(lambda: server.process.poll() is not None, "the end of the server")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("execution", ["inline", "temporal"])
def test_a_killed_job_fails_and_the_next_one_does_the_work_once(
    folder: Path, point: str, execution: str
) -> None:
    if execution == "inline":
        kill(folder, point, "/jobs", type="consolidate", agentWallet="w")
    else:
        kill(folder, point, f"/schedules/{NAME}/trigger")
    with opened(folder) as store:
        (job,) = store.repo.ledger.records(Job)
        assert (job.execution, find_job(store.repo, job.id).status) == (execution, "running")
        dead = later(store, store.clock() + LEASE)
        seen = find_job(dead.repo, job.id)
        assert (seen.status, seen.error) == ("failed", ENDED)
        schedule = store.repo.ledger.record(Schedule, NAME)
        assert schedule is not None
        night = later(store, schedule.next_run_at)
        JobWorker(night, "process_2").run(lambda: False)
        mine = [each for each in store.repo.ledger.records(Job) if each.schedule_id == NAME]
        assert (mine[-1].id != job.id, mine[-1].status) == (True, "completed")
        assert (len(superseded(store)), commits(store)) == (1, 1)


def test_a_process_killed_between_job_and_schedule_makes_no_second_job(folder: Path) -> None:
    with HttpServer(folder) as server:
        server.ask("POST", "/api/memory/schedules", json={"agentWallets": ["w"]})
    with opened(folder) as store:
        for schedule in store.repo.ledger.records(Schedule):
            due = schedule.id == NAME
            store.repo.ledger.put(replace(schedule, next_run_at=SECOND, paused=not due))
    with HttpServer(folder, DAY1_KILL_AT="schedule.after_job") as server:
        until(lambda: server.process.poll() is not None, "the end of the server")
    with HttpServer(folder) as server:

        def done() -> bool:
            found = server.ask("GET", "/api/memory/schedules").body["schedules"]
            (job_id,) = {each["lastJobId"] for each in found if "lastJobId" in each} or {None}
            job = server.ask("GET", f"/api/memory/jobs/{job_id}").body
            return bool(job.get("status") == "completed")

        until(done, "the job")
    with opened(folder) as store:
        assert len(store.repo.ledger.records(Job)) == 1
        assert (len(superseded(store)), commits(store)) == (1, 1)


NAMED: Any = {"DAY1_CHAT__MODEL": "fake-model"}
FOUND = "Ann moved to Lisbon in 2024."
TURN = {
    "agentWallet": "w",
    "threadId": "t",
    "turnId": "1",
    "userMessage": "I am Ann. I moved to Lisbon in 2024.",
}


def extracted(store: OpenStore) -> list[str]:
    with store.repo.store.reading(Ref(branch="main")) as reading:
        return [str(r["id"]) for r in reading.find(FACT, Query(equal={"fact_text": FOUND}))]


@pytest.mark.parametrize("point", POINTS)
def test_the_turn_of_a_killed_extraction_extracts_once_when_it_is_recorded_again(
    tmp_path: Path, point: str
) -> None:
    needs_files()
    folder = tmp_path / "store"
    listed = json.dumps({"facts": [{"text": FOUND, "messages": [0]}]})
    body = json.dumps({"choices": [{"message": {"content": listed}}]}).encode()
    with ChatServer().serving() as model:
        model.answer = lambda _: (200, {}, body)
        url = model.url
        with HttpServer(folder, DAY1_KILL_AT=point, DAY1_CHAT__URL=url, **NAMED) as server:
            told = server.ask("POST", "/api/memory/turns/record", json=TURN)
            assert told.status == 200
            until(lambda: server.process.poll() is not None, "the end of the server")
        with opened(folder) as store:
            (job,) = store.repo.ledger.records(Job)
            assert (job.kind, find_job(store.repo, job.id).status) == ("facts_extract", "running")
            assert len(extracted(store)) == (1 if point == "job.after_commit" else 0)
            dead = later(store, store.clock() + LEASE)
            assert find_job(dead.repo, job.id).status == "failed"
            store.repo.ledger.put(replace(job, lease_until=store.clock()))  # as if a minute passed
        with HttpServer(folder, DAY1_CHAT__URL=url, **NAMED) as server:
            for _ in range(2):
                again = server.ask("POST", "/api/memory/turns/record", json=TURN)
                assert again.body == told.body
            with opened(folder) as store:
                until(lambda: _ended(store) == 2, "the second job")
    with opened(folder) as store:
        jobs = store.repo.ledger.records(Job)
        states = {find_job(store.repo, each.id).status for each in jobs if each.id != job.id}
        assert (len(jobs), states) == (2, {"completed"})
        assert len(extracted(store)) == 1


def _ended(store: OpenStore) -> int:
    jobs = store.repo.ledger.records(Job)
    return len([job for job in jobs if job.seen_at(store.clock()).status != "running"])
