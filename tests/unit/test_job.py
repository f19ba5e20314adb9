"""Jobs: how their lease is taken, given back and lost, and what they read as then."""

from dataclasses import replace

import pytest

from day1.model.jobs.job import ENDED, LEASE, NEVER_BEGUN, WAITS, Job

NEW = Job(
    id="job_1",
    kind="cleanup",
    execution="temporal",
    status="running",
    branch_id="b1",
    wallet="w",
    wallets=("w",),
    params={"days": 3},
    data={},
    error=None,
    commit=None,
    schedule_id=None,
    token_id="t1",
    holder=None,
    lease_until=100,
    created_at=10,
)
HELD = replace(NEW, holder="p1", started_at=20)


def test_who_begins_a_job_holds_it_for_a_minute() -> None:
    assert LEASE == 60_000_000
    assert NEW.held_by("p1", 50) == replace(NEW, holder="p1", lease_until=50 + LEASE, started_at=50)


def test_a_job_that_is_given_back_waits_for_an_hour_and_has_not_begun() -> None:
    assert WAITS == 3_600_000_000
    assert HELD.waiting_again(50) == replace(NEW, lease_until=50 + WAITS)


@pytest.mark.parametrize(
    ("job", "now", "over"),
    [
        (NEW, 99, False),
        (NEW, 100, True),
        (HELD, 101, True),
        (replace(HELD, status="completed"), 101, False),
        (replace(HELD, status="failed"), 101, False),
    ],
    ids=["within", "at its end", "after it", "completed", "failed"],
)
def test_a_running_job_is_over_when_its_lease_ends(job: Job, now: int, *, over: bool) -> None:
    assert job.is_over(now) is over


@pytest.mark.parametrize(("job", "error"), [(NEW, NEVER_BEGUN), (HELD, ENDED)])
def test_a_job_whose_lease_is_over_reads_as_failed_at_that_time(job: Job, error: str) -> None:
    assert job.seen_at(99) is job
    assert job.seen_at(500) == replace(job, status="failed", error=error, completed_at=100)


def test_a_result_counts_unless_the_lease_is_over() -> None:
    done = HELD.ended(99, status="completed", data={"n": 1})
    assert done == replace(HELD, status="completed", data={"n": 1}, completed_at=99)
    assert HELD.ended(100, status="completed", data={"n": 1}) == replace(
        HELD, status="failed", data={"n": 1}, error=ENDED, completed_at=100
    )
