"""Schedules: what is due, what was missed, who runs it, and what pausing does."""

from dataclasses import replace
from threading import Barrier, Thread, current_thread, main_thread

import pytest

from day1.errors import NotFound
from day1.model.branches.branch import Branch
from day1.model.jobs.job import KINDS, LEASE, WAITS, Job
from day1.model.jobs.schedule import Schedule
from day1.model.values.instant import DAY, SECOND, parse
from day1.services.jobs import schedules
from day1.services.jobs.jobs import claim, find_job
from day1.services.jobs.schedules import KEPT, Plan, begin_due, create_all, find_schedule
from day1.services.repository.repository import Repository
from tests.unit.services.conftest import Bench
from tests.unit.services.maintained import Maintained, W, go_on

HOUR = 3_600 * SECOND
NIGHT = parse("2026-03-05T02:00:00Z")
SUNDAY = parse("2026-03-08T02:00:00Z")


@pytest.fixture
def memory(bench: Bench) -> Maintained:
    memory = Maintained(bench)
    make(memory)
    return memory


def make(memory: Maintained, wallet: str = W, token: str | None = None) -> list[Schedule]:
    plan = Plan(memory.bench.branch(), wallet, token)
    return create_all(memory.repo, plan, memory.shop.services.calendar)


def only(memory: Maintained, kind: str) -> Schedule:
    """Delete the schedules of all other kinds; gives the one that is left."""
    names = [each.id for each in memory.repo.ledger.records(Schedule) if each.kind != kind]
    memory.repo.ledger.remove(Schedule, *names)
    return find_schedule(memory.repo, f"{kind}:{W}")


def jobs(memory: Maintained) -> list[Job]:
    return memory.repo.ledger.records(Job)


def test_there_is_one_schedule_for_each_kind_that_runs(memory: Maintained) -> None:
    found = schedules.of_wallets(memory.repo)
    assert {schedule.id for schedule in found} == {f"{kind}:{W}" for kind in KINDS}


def test_schedules_made_again_keep_their_ids_their_pause_and_their_time(memory: Maintained) -> None:
    paused = schedules.pause(memory.repo, find_schedule(memory.repo, f"cleanup:{W}"))
    before = schedules.of_wallets(memory.repo)
    memory.bench.now += DAY
    assert {each.id for each in make(memory)} == {each.id for each in before}
    assert schedules.of_wallets(memory.repo) == before
    assert paused.paused


def test_nothing_runs_before_its_time(memory: Maintained) -> None:
    only(memory, "consolidate")
    memory.bench.now = NIGHT - 1
    memory.worker().run(go_on)
    assert jobs(memory) == []
    memory.bench.now = NIGHT
    memory.worker().run(go_on)
    assert [job.status for job in jobs(memory)] == ["completed"]


def test_a_run_moves_the_schedule_to_its_next_time(memory: Maintained) -> None:
    only(memory, "consolidate")
    memory.bench.now = NIGHT + 5
    memory.worker().run(go_on)
    (job,) = jobs(memory)
    schedule = find_schedule(memory.repo, f"consolidate:{W}")
    assert (schedule.last_run_at, schedule.last_job_id) == (NIGHT + 5, job.id)
    assert schedule.next_run_at == NIGHT + DAY
    assert (job.schedule_id, job.wallet, job.execution) == (schedule.id, W, "temporal")


def test_what_was_missed_for_days_runs_once(memory: Maintained) -> None:
    only(memory, "decay_update")
    memory.bench.now = NIGHT + 5 * DAY
    worker = memory.worker()
    worker.run(go_on)
    worker.run(go_on)
    assert len(jobs(memory)) == 1
    memory.bench.now += HOUR
    worker.run(go_on)
    assert len(jobs(memory)) == 2


def test_a_time_that_a_clock_ahead_set_is_set_right(memory: Maintained) -> None:
    only(memory, "consolidate")
    memory.bench.now = NIGHT + 3_652 * DAY
    memory.worker().run(go_on)
    memory.bench.now = NIGHT + HOUR
    memory.worker().run(go_on)
    schedule = find_schedule(memory.repo, f"consolidate:{W}")
    assert schedule.next_run_at == NIGHT + DAY
    memory.bench.now = NIGHT + DAY
    memory.worker().run(go_on)
    assert len(jobs(memory)) == 2


def test_a_clock_that_is_set_back_an_hour_runs_nothing_twice(memory: Maintained) -> None:
    only(memory, "consolidate")
    memory.bench.now = NIGHT
    memory.worker().run(go_on)
    memory.bench.now = NIGHT - HOUR
    memory.worker().run(go_on)
    memory.bench.now = NIGHT
    memory.worker().run(go_on)
    assert len(jobs(memory)) == 1
    assert find_schedule(memory.repo, f"consolidate:{W}").next_run_at == NIGHT + DAY


def test_a_schedule_that_a_clock_ahead_paused_is_resumed_at_its_next_time(
    memory: Maintained,
) -> None:
    schedule = only(memory, "consolidate")
    memory.repo.ledger.put(replace(schedule, paused=True, next_run_at=NIGHT + 3_652 * DAY))
    memory.bench.now = NIGHT
    resumed = schedules.resume(memory.repo, schedule, memory.shop.services.calendar)
    assert resumed.next_run_at == NIGHT + DAY


def test_a_paused_schedule_runs_nothing_and_catches_nothing_up(memory: Maintained) -> None:
    schedule = schedules.pause(memory.repo, only(memory, "decay_update"))
    memory.bench.now = NIGHT + DAY
    memory.worker().run(go_on)
    assert jobs(memory) == []
    resumed = schedules.resume(memory.repo, schedule, memory.shop.services.calendar)
    assert resumed.next_run_at == NIGHT + DAY + HOUR
    memory.worker().run(go_on)
    assert jobs(memory) == []
    memory.bench.now += HOUR
    memory.worker().run(go_on)
    assert len(jobs(memory)) == 1


def test_resuming_a_schedule_that_is_not_paused_drops_no_due_run(memory: Maintained) -> None:
    schedule = only(memory, "decay_update")
    memory.bench.now = schedule.next_run_at
    schedules.resume(memory.repo, schedule, memory.shop.services.calendar)
    memory.worker().run(go_on)
    assert len(jobs(memory)) == 1


def test_two_nodes_run_each_due_job_once(memory: Maintained) -> None:
    for wallet in ("w1", "w2", "w3"):
        make(memory, wallet)
    schedule_count = len(memory.repo.ledger.records(Schedule))
    workers = [memory.worker(f"process_{number}", replace(memory.repo)) for number in range(2)]
    memory.bench.now = SUNDAY
    barrier = Barrier(2)

    def work(number: int) -> None:
        barrier.wait()
        for _ in range(3):
            workers[number].run(go_on)

    threads = [Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = jobs(memory)
    assert len(done) == schedule_count
    assert {job.status for job in done} == {"completed"}
    assert len({job.schedule_id for job in done}) == schedule_count


def test_a_process_that_dies_between_job_and_schedule_makes_no_second_job(
    memory: Maintained,
) -> None:
    schedule = only(memory, "consolidate")
    memory.bench.now = NIGHT
    begin_due(memory.repo, memory.shop.services.calendar)
    memory.repo.ledger.put(schedule)  # it died before the schedule moved
    memory.worker("process_2").run(go_on)
    assert [job.status for job in jobs(memory)] == ["completed"]
    assert find_schedule(memory.repo, schedule.id).next_run_at == NIGHT + DAY


def test_a_job_whose_process_died_runs_again_at_the_next_time(memory: Maintained) -> None:
    only(memory, "consolidate")
    memory.bench.now = NIGHT
    begin_due(memory.repo, memory.shop.services.calendar)
    (job,) = jobs(memory)
    assert claim(memory.repo, job, "process_that_dies") is not None
    memory.bench.now += LEASE
    memory.worker("process_2").run(go_on)
    assert find_job(memory.repo, job.id).status == "failed"
    memory.bench.now = NIGHT + DAY
    memory.worker("process_2").run(go_on)
    statuses = [find_job(memory.repo, each.id).status for each in jobs(memory)]
    assert statuses == ["failed", "completed"]


def test_a_triggered_job_runs_although_its_schedule_is_paused(memory: Maintained) -> None:
    schedule = schedules.pause(memory.repo, only(memory, "consolidate"))
    job = schedules.trigger(memory.repo, schedule, "temporal")
    memory.worker().run(go_on)
    assert find_job(memory.repo, job.id).status == "completed"
    after = find_schedule(memory.repo, schedule.id)
    assert (after.last_job_id, after.paused) == (job.id, True)
    assert after.next_run_at == schedule.next_run_at


def test_a_schedule_that_was_deleted_meanwhile_makes_no_job(memory: Maintained) -> None:
    schedule = only(memory, "consolidate")
    schedules.delete(memory.repo, (W,))
    with pytest.raises(NotFound):
        schedules.trigger(memory.repo, schedule, "temporal")
    assert jobs(memory) == []


def test_other_changes_of_a_schedule_wait_and_none_is_refused(
    memory: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule, others = only(memory, "consolidate"), []

    def read_slowly(repo: Repository, name: str) -> Schedule:
        stored_schedule = find_schedule(repo, name)
        if current_thread() is main_thread():
            others.append(Thread(target=schedules.trigger, args=(repo, schedule, "temporal")))
            others[-1].start()
            others[-1].join(0.2)  # it would end, if this change did not hold the ledger
        return stored_schedule

    monkeypatch.setattr(schedules, "find_schedule", read_slowly)
    assert schedules.pause(memory.repo, schedule).paused
    for other in others:
        other.join()
    after = find_schedule(memory.repo, schedule.id)
    assert (after.paused, after.last_job_id) == (True, jobs(memory)[0].id)


def test_only_the_newest_jobs_of_a_schedule_are_kept(memory: Maintained) -> None:
    other = memory.queued()
    only(memory, "decay_update")
    for _ in range(KEPT + 5):
        memory.bench.now += HOUR
        memory.worker().run(go_on)
    kept = [job for job in jobs(memory) if job.schedule_id is not None]
    assert len(kept) == KEPT
    assert kept[-1].id == find_schedule(memory.repo, f"decay_update:{W}").last_job_id
    assert find_job(memory.repo, other.id).id == other.id


def test_the_schedules_of_a_deleted_branch_go(memory: Maintained) -> None:
    side = memory.bench.fork("side")
    create_all(memory.repo, Plan(side, W, None), memory.shop.services.calendar)
    memory.repo.ledger.remove(Branch, side.id)
    memory.bench.now = SUNDAY
    memory.worker().run(go_on)
    assert {each.branch_id for each in memory.repo.ledger.records(Schedule)} == {memory.bench.branch().id}  # fmt: skip


def test_deleted_schedules_run_nothing(memory: Maintained) -> None:
    make(memory, "w2")
    assert schedules.delete(memory.repo, (W,))
    assert not schedules.delete(memory.repo, (W,))
    with pytest.raises(NotFound):
        find_schedule(memory.repo, f"cleanup:{W}")
    memory.bench.now = NIGHT
    memory.worker().run(go_on)
    assert {job.wallet for job in jobs(memory)} == {"w2"}


def test_a_schedule_has_the_token_of_the_newest_plan(memory: Maintained) -> None:
    first = make(memory, token="t1")
    assert {each.token_id for each in first} == {"t1"}
    assert {(each.created_at, each.last_run_at, each.last_job_id, each.paused) for each in first} == {(memory.bench.now, None, None, False)}  # fmt: skip
    memory.bench.now += 1
    second = make(memory, token="t2")
    assert second == [replace(each, token_id="t2") for each in first]
    job = schedules.trigger(memory.repo, second[0], "inline")
    assert (job.token_id, job.schedule_id, job.execution) == ("t2", second[0].id, "inline")
    ran = find_schedule(memory.repo, second[0].id)
    assert (ran.last_run_at, ran.last_job_id) == (job.created_at, job.id)


def test_schedules_are_listed_by_wallet_and_kind(memory: Maintained) -> None:
    for wallet in ("w2", "w1"):
        make(memory, wallet=wallet)
    everything = [(each.wallet, each.id) for each in schedules.of_wallets(memory.repo)]
    assert everything == sorted(everything)
    assert {wallet for wallet, _ in everything} == {"w1", "w2", W}
    some = schedules.of_wallets(memory.repo, ("w2", "w3"))
    assert {each.wallet for each in some} == {"w2"}
    assert [each.id for each in some] == sorted(each.id for each in some)


def test_a_running_job_of_a_schedule_is_never_pruned(memory: Maintained) -> None:
    schedule = make(memory)[0]
    running = schedules.trigger(memory.repo, schedule, "temporal")
    for _ in range(KEPT + 2):
        memory.bench.now += 1
        job = schedules.trigger(memory.repo, schedule, "inline")
        memory.repo.ledger.put(replace(job, status="completed"))
    kept = [each.id for each in memory.repo.ledger.records(Job)]
    assert running.id in kept
    memory.bench.now += WAITS
    schedules.trigger(memory.repo, schedule, "inline")
    assert running.id not in [each.id for each in memory.repo.ledger.records(Job)]
