"""Chores: when each one runs, what a failure does to it and to the others, and its lease."""

from threading import Event

import pytest

from day1.errors import StoreUnavailable
from day1.services.upkeep.chores import Chore, ChoreRunner, ChoreState
from tests.fakes.stepped_clock import SteppedClock

REMEMBERED = "The cellar key is under the mat."


class Work:
    """Notes when it runs; raises the errors and answers the values that a test gives it."""

    def __init__(
        self, clock: SteppedClock, *results: bool | BaseException, takes: float = 0
    ) -> None:
        self._clock, self._results, self._takes = clock, list(results), takes
        self.ran: list[float] = []

    def __call__(self, _: object) -> bool:
        self.ran.append(self._clock.at)
        self._clock.at += self._takes
        result = self._results.pop(0) if self._results else False
        if isinstance(result, BaseException):
            raise result
        return result


@pytest.fixture
def clock() -> SteppedClock:
    clock = SteppedClock()
    clock.at = 0.0
    return clock


def run(runner: ChoreRunner, until: float) -> None:
    while runner.clock.now() <= until:
        runner.clock.wait(runner.step() or 0.001)


def test_each_chore_runs_in_its_own_period_and_in_the_order_of_the_list(
    clock: SteppedClock,
) -> None:
    order: list[str] = []
    chores = [
        Chore(name, every, lambda _, name=name: bool(order.append(name)))  # type: ignore[misc]  # bound now
        for name, every in (("often", 2.0), ("seldom", 5.0))
    ]
    run(ChoreRunner(chores, clock), 11)
    assert order == [
        "often",
        "seldom",
        "often",
        "often",
        "seldom",
        "often",
        "often",
        "often",
        "seldom",
    ]


def test_the_period_begins_when_a_run_ends(clock: SteppedClock) -> None:
    work = Work(clock, takes=3)
    run(ChoreRunner([Chore("slow", 2.0, work)], clock), 11)
    assert work.ran == [0, 5, 10]


def test_a_chore_with_more_to_do_runs_again_at_once(clock: SteppedClock) -> None:
    work = Work(clock, True, True, False)
    runner = ChoreRunner([Chore("busy", 60.0, work)], clock)
    assert [runner.step() for _ in range(3)] == [0, 0, 60]


def test_chores_that_are_due_nearly_together_wake_the_process_once(clock: SteppedClock) -> None:
    first, second = Work(clock, takes=0.01), Work(clock, takes=0.01)
    runner = ChoreRunner([Chore("first", 2.0, first), Chore("second", 2.0, second)], clock)
    clock.wait(runner.step())
    runner.step()
    assert len(second.ran) == 2


@pytest.mark.parametrize(
    ("error", "every", "pauses"),
    [
        (StoreUnavailable("away"), 2.0, [2, 2, 2]),
        (StoreUnavailable("away"), 0.5, [0.5, 0.5]),
        (StoreUnavailable("away"), 10.0, [2, 4, 8, 10, 10]),
        (LookupError(REMEMBERED), 2.0, [4, 8, 16, 32, 60, 60]),
        (LookupError(REMEMBERED), 100.0, [4, 8, 16, 32, 64, 100, 100]),
    ],
    ids=["known", "known, frequent", "known, rare", "unknown", "unknown, rare"],
)
def test_a_chore_that_fails_is_tried_again_later_each_time(
    clock: SteppedClock, error: Exception, every: float, pauses: list[float]
) -> None:
    work = Work(clock, *[error] * len(pauses))
    runner = ChoreRunner([Chore("failing", every, work)], clock)
    found = []
    for _ in pauses:
        found.append(runner.step())
        clock.wait(found[-1])
    assert found == pauses
    assert runner.step() == every
    assert runner.states["failing"].failures == 0


def test_a_chore_that_fails_stops_no_other(clock: SteppedClock) -> None:
    good = Work(clock)
    chores = [Chore("bad", 2.0, Work(clock, *[SystemError()] * 9)), Chore("good", 2.0, good)]
    run(ChoreRunner(chores, clock), 7)
    assert good.ran == [0, 2, 4, 6]


def test_a_failure_is_logged_by_class_and_place_once_and_without_its_text(
    clock: SteppedClock, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work(
        clock, LookupError(REMEMBERED), LookupError(REMEMBERED), KeyError(), False, KeyError()
    )
    run(ChoreRunner([Chore("failing", 1.0, work)], clock), 30)
    failures = [r.getMessage().split(":")[0] for r in caplog.records]
    assert failures == [
        f"background work failed with {name}" for name in ("LookupError", "KeyError", "KeyError")
    ]
    assert REMEMBERED not in caplog.text
    assert "in __call__" in caplog.text


def test_the_state_of_a_chore_tells_its_last_results(clock: SteppedClock) -> None:
    reported: list[str | None] = []
    work = Work(clock, False, StoreUnavailable("away"), StoreUnavailable("away"), False)
    runner = ChoreRunner(
        [Chore("it", 2.0, work)], clock, lambda states: reported.append(states["it"].error)
    )
    states = []
    for _ in range(4):
        clock.wait(runner.step())
        states.append(runner.states["it"])
    assert states == [
        ChoreState(2, 0, None, 0, None),
        ChoreState(4, 1, "store_unavailable", 0, 2),
        ChoreState(6, 2, "store_unavailable", 0, 4),
        ChoreState(8, 0, None, 6, 4),
    ]
    assert reported == ["store_unavailable", None], "only what changes is reported"


class Lent:
    """A lease that a test gives to this process, or to another."""

    def __init__(self) -> None:
        self.ours, self.released = True, 0

    def acquire(self) -> bool:
        return self.ours

    def release(self) -> None:
        self.released += 1


def test_a_chore_runs_while_the_process_holds_its_lease(clock: SteppedClock) -> None:
    lease, work, other = Lent(), Work(clock), Work(clock)
    runner = ChoreRunner([Chore("one", 2.0, work, lease), Chore("every", 2.0, other)], clock)
    for lease.ours in (True, False, True):
        clock.wait(runner.step())
    assert (work.ran, other.ran) == ([0, 4], [0, 2, 4])
    assert not lease.released
    runner.stop()
    assert lease.released == 1


def test_a_run_is_told_to_end_when_its_lease_is_lost_or_the_process_leaves(
    clock: SteppedClock,
) -> None:
    lease, answers = Lent(), []

    def work(stopped) -> bool:
        answers.append(stopped())
        lease.ours = False
        answers.append(stopped())
        lease.ours = True
        clock.stop()
        answers.append(stopped())
        return False

    ChoreRunner([Chore("long", 2.0, work, lease)], clock).step()
    assert answers == [False, True, True]


def test_no_chore_begins_after_the_process_was_stopped(clock: SteppedClock) -> None:
    later = Work(clock)
    chores = [Chore("last", 2.0, lambda _: bool(clock.stop())), Chore("later", 2.0, later)]
    ChoreRunner(chores, clock).step()
    assert later.ran == []


def test_the_thread_waits_before_its_first_step_and_until_a_chore_is_due(
    clock: SteppedClock,
) -> None:
    ran: list[float] = []
    enough = Event()

    def work(_: object) -> bool:
        ran.append(clock.at)
        if len(ran) == 3:
            clock.stop()
            enough.set()
        return False

    runner = ChoreRunner([Chore("it", 2.0, work)], clock, start_s=1.0)
    runner.start()
    assert enough.wait(30)
    runner.stop()
    runner.stop()
    assert ran == [1, 3, 5]
