"""Jobs: claims, leases, results, and the truth about a job whose process ended."""

from collections.abc import Callable
from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import pytest

from day1.errors import StoreUnavailable
from day1.model.jobs.job import ENDED, LEASE, NEVER_BEGUN, WAITS, Job
from day1.model.values.instant import SECOND
from day1.services.jobs import jobs, kinds
from day1.services.jobs.jobs import NewJob, claim, create, find_job, run, run_now, waiting
from day1.services.jobs.schedules import Plan, create_all
from day1.services.jobs.workshop import JobRun
from tests.unit.services.conftest import Bench
from tests.unit.services.maintained import NOON, Maintained, W, go_on


@pytest.fixture
def memory(bench: Bench) -> Maintained:
    return Maintained(bench)


def works(monkeypatch: pytest.MonkeyPatch, work: Callable[[JobRun], Any]) -> None:
    """Let `consolidate` do something else."""
    monkeypatch.setattr(jobs, "RUNS", {**kinds.RUNS, "consolidate": work})


def claimed(memory: Maintained, holder: str = "process_1") -> Job:
    job = claim(memory.repo, memory.queued(), holder)
    assert job is not None
    return job


def test_a_job_runs_to_its_end(memory: Maintained) -> None:
    done = memory.done("decay_update")
    assert (done.status, done.error, done.data["computed"]) == ("completed", None, True)
    assert done == find_job(memory.repo, done.id)


def test_a_job_is_claimed_once(memory: Maintained) -> None:
    job = memory.queued()
    assert claim(memory.repo, job, "process_1") is not None
    assert claim(memory.repo, job, "process_2") is None
    assert waiting(memory.repo) == []


def test_of_many_threads_one_claims_a_job(memory: Maintained) -> None:
    job, barrier, held = memory.queued(), Barrier(8), []

    def work(number: int) -> None:
        barrier.wait()
        held.append(claim(memory.repo, job, f"process_{number}"))

    threads = [Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([job for job in held if job is not None]) == 1


@pytest.mark.parametrize(
    ("later", "status"), [(LEASE - 1, "running"), (LEASE, "failed")], ids=["held", "over"]
)
def test_a_job_fails_when_its_lease_is_over(memory: Maintained, later: int, status: str) -> None:
    job = claimed(memory)
    memory.bench.now += later
    seen = find_job(memory.repo, job.id)
    assert seen.status == status
    assert (seen.error, seen.completed_at) == ((ENDED, job.lease_until) if status == "failed" else (None, None))  # fmt: skip


def test_a_job_that_no_server_begins_fails_and_is_never_begun(memory: Maintained) -> None:
    job = memory.queued()
    memory.bench.now += WAITS
    assert find_job(memory.repo, job.id).error == NEVER_BEGUN
    assert waiting(memory.repo) == []
    assert claim(memory.repo, job, "process_1") is None


def test_a_renewed_lease_goes_on(memory: Maintained) -> None:
    lease = jobs._JobLease(memory.repo, claimed(memory))
    for _ in range(5):
        memory.bench.now += 20 * SECOND
        assert lease.renew()
    assert lease.end(status="completed", data={}).status == "completed"
    assert not lease.renew()


def test_a_lease_that_is_over_is_not_renewed(memory: Maintained) -> None:
    lease = jobs._JobLease(memory.repo, claimed(memory))
    memory.bench.now += LEASE
    assert not lease.renew()
    assert lease.is_over()


def test_a_job_that_read_as_failed_is_not_completed_later(
    memory: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(run: JobRun) -> dict[str, Any]:
        memory.bench.now += LEASE
        return {"commit": "c1"}

    works(monkeypatch, sleep)
    done = memory.done("consolidate")
    assert (done.status, done.error, done.commit) == ("failed", ENDED, "c1")


def test_a_job_whose_lease_is_over_goes_on_to_no_commit(
    memory: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(run: JobRun) -> dict[str, Any]:
        memory.bench.now += LEASE
        run.go_on()
        raise AssertionError("it went on")

    works(monkeypatch, sleep)
    assert (memory.done("consolidate").error, memory.queued().status) == (ENDED, "running")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StoreUnavailable("The cellar key is under the mat."), "It ended with store_unavailable."),
        (LookupError("The cellar key is under the mat."), "It ended with LookupError."),
    ],
    ids=["known", "unknown"],
)
def test_a_job_that_raises_has_failed_and_quotes_nothing(
    memory: Maintained, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def fail(_: JobRun) -> dict[str, Any]:
        raise error

    works(monkeypatch, fail)
    done = memory.done("consolidate")
    assert (done.status, done.error, done.data) == ("failed", told, {})


def test_a_job_on_a_branch_that_is_gone_has_failed(memory: Maintained) -> None:
    memory.bench.fork("side")
    job = replace(claimed(memory), branch_id="branch_none")
    memory.repo.ledger.put(job)
    done = run(memory.shop, job, go_on)
    told = "The branch of this job was deleted: create a job for another branch."
    assert (done.status, done.error) == ("failed", told)


def test_a_background_job_that_is_stopped_waits_for_the_next_process(memory: Maintained) -> None:
    done = run(memory.shop, claimed(memory), lambda: True)
    assert (done.status, done.holder) == ("running", None)
    assert waiting(memory.repo) == [done]
    memory.worker("process_2").run(go_on)
    assert find_job(memory.repo, done.id).status == "completed"


def test_an_inline_job_whose_call_is_cancelled_has_failed(memory: Maintained) -> None:
    new = jobs.NewJob("cleanup", "inline", memory.bench.branch(), ("w",), {})
    done = run_now(memory.shop, create(memory.repo, new), lambda: True)
    assert (done.status, done.error) == ("failed", "The call was cancelled before the job was done.")  # fmt: skip


def test_jobs_of_turns_wait_for_all_others_and_for_what_is_due(
    memory: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be hundreds of them, and each may wait for a chat model that hangs."""
    turn, branch, done = "facts_extract", memory.bench.branch(), list[str]()
    calendar = memory.shop.services.calendar
    memory.bench.now = calendar.next_after("decay_update", NOON) - SECOND

    def extract(_: JobRun) -> dict[str, Any]:
        done.append(turn)
        if len(done) == 2:  # behind the first of these jobs: one by a caller, one that is due
            memory.queued("cleanup")
            memory.bench.now += SECOND
        return {}

    def note(job_run: JobRun) -> dict[str, Any]:
        done.append(job_run.job.kind)
        return {}

    work = dict.fromkeys(kinds.RUNS, note) | {turn: extract}
    monkeypatch.setattr(jobs, "RUNS", work)
    create_all(memory.repo, Plan(branch, W, None), calendar)
    for _ in range(2):
        create(memory.repo, NewJob("facts_extract", "temporal", branch, (W,), {}))
    memory.queued("consolidate")
    memory.worker().run(go_on)
    assert done[:2] == ["consolidate", turn]
    assert sorted(done[2:4]) == ["cleanup", "decay_update"]
    assert done[4:] == [turn]


def test_no_worker_begins_an_inline_job(memory: Maintained) -> None:
    new = jobs.NewJob("cleanup", "inline", memory.bench.branch(), ("w",), {})
    job = create(memory.repo, new)
    memory.worker().run(go_on)
    assert find_job(memory.repo, job.id) == job
