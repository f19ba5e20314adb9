"""Chores: background work that a long-running process repeats, each chore on its own schedule.

A failing chore is retried after growing pauses and does not stop other chores. A chore with a
lease runs in only one process of the store.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from day1.errors import Day1Error
from day1.logs import note_failure
from day1.ports.lease import Lease

log = logging.getLogger(__name__)

_FIRST_PAUSE_S: Final = 2.0
"""Seconds of the first pause after a failure, or the chore's period; each failure doubles it."""
_MAX_PAUSE_S: Final = 60.0
"""Seconds of the longest pause after unknown errors, unless the chore's period is longer."""
_GROUPED_S: Final = 0.1
"""Chores due within so many seconds run together, so that the process wakes up once."""

IsStopped = Callable[[], bool]
"""A function that tells a chore to end early: the process ends, or the chore's lease is lost."""


class Clock:
    """The time of a thread that runs chores: monotonic seconds, and waits that `stop` ends."""

    def __init__(self) -> None:
        """Begin as a clock that is not stopped."""
        self._stopped = threading.Event()

    def now(self) -> float:
        """Return monotonic seconds from an arbitrary start."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Wait for so many seconds, or until the clock is stopped."""
        self._stopped.wait(seconds)

    def stop(self) -> None:
        """End this wait and all later ones at once."""
        self._stopped.set()

    def is_stopped(self) -> bool:
        """Whether somebody called `stop`."""
        return self._stopped.is_set()


@dataclass(frozen=True, slots=True)
class Chore:
    """Background work that is repeated."""

    name: str
    every: float
    """Seconds between the end of a run and the next run."""
    run: Callable[[IsStopped], bool]
    """The function that works until done or stopped and returns whether to run again at once."""
    lease: Lease | None = None
    """The lease that a process must hold to run the chore; None: every process runs it."""


@dataclass(frozen=True, slots=True)
class ChoreState:
    """The last results of a chore. Times are in seconds of the runner's clock."""

    next_at: float
    """When the chore is due next; it never runs earlier."""
    failures: int = 0
    """Failures since the last success."""
    error: str | None = None
    """The code or class of the last run's error; None: the last run succeeded."""
    last_ok: float | None = None
    last_failed: float | None = None


_Result = bool | BaseException
"""Whether a run of a chore has more to do, or the error that ended it."""
Report = Callable[[Mapping[str, ChoreState]], None]
"""A function called with the states of all chores whenever the error of one of them changes."""


def _ignore(_: Mapping[str, ChoreState]) -> None:
    """Report nothing."""


@dataclass(slots=True)
class ChoreRunner:
    """Runs chores in order whenever they are due; `step` is for one thread at a time."""

    chores: Sequence[Chore]
    clock: Clock = field(default_factory=Clock)
    report: Report = _ignore
    start_s: float = 0.0
    """Seconds that the thread waits before its first step."""
    leave_s: float = 3.0
    """Seconds that `stop` waits for the running chore: longer than a batch of texts takes."""
    what: str = "background work"
    """The name of the thread's work in log messages."""
    _states: dict[str, ChoreState] = field(default_factory=dict)
    _thread: threading.Thread | None = None

    @property
    def states(self) -> Mapping[str, ChoreState]:
        """The states of the chores that have run, by name."""
        return dict(self._states)

    def start(self) -> None:
        """Start a thread that runs chores until `stop`."""
        self._thread = threading.Thread(target=self._run, name="day1-worker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the running chore and release the leases; calling it twice is harmless."""
        self.clock.stop()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(self.leave_s)
        for chore in self.chores:
            if chore.lease is not None:
                chore.lease.release()

    def step(self) -> float:
        """Run the chores that are due; return the seconds until the next one."""
        for chore in self.chores:
            state = self._states.get(chore.name, ChoreState(self.clock.now()))
            if self.clock.is_stopped():
                break
            if state.next_at <= self.clock.now() + _GROUPED_S:
                self._finish(chore, state, self._result_of(chore))
        next_at = min((state.next_at for state in self._states.values()), default=0.0)
        return max(next_at - self.clock.now(), 0.0)

    def _run(self) -> None:
        self.clock.wait(self.start_s)
        while not self.clock.is_stopped():
            self.clock.wait(self.step())

    def _result_of(self, chore: Chore) -> _Result:
        """Run a chore; return whether it has more to do, or its error."""
        try:
            if chore.lease is not None and not chore.lease.acquire():
                return False
            return chore.run(self._stopped_for(chore))
        except BaseException as exc:  # noqa: BLE001 - a panic in a library is not an Exception
            return exc

    def _stopped_for(self, chore: Chore) -> IsStopped:
        """Build the test whether a chore must end; asking it renews the chore's lease."""
        lease = chore.lease
        if lease is None:
            return self.clock.is_stopped
        return lambda: self.clock.is_stopped() or not lease.acquire()

    def _finish(self, chore: Chore, before: ChoreState, result: _Result) -> None:
        """Record the result of a run and when the chore is due again."""
        now = self.clock.now()
        if self.clock.is_stopped():
            return
        if isinstance(result, bool):
            pause = 0.0 if result else chore.every
            new_state = ChoreState(now + pause, last_ok=now, last_failed=before.last_failed)
        else:
            failures = before.failures + 1
            new_state = ChoreState(
                now + _pause_after(result, failures, chore.every),
                failures,
                result.code if isinstance(result, Day1Error) else type(result).__name__,
                before.last_ok,
                now,
            )
            if new_state.error != before.error:
                note_failure(log, self.what, result)
        self._states[chore.name] = new_state
        if new_state.error != before.error:
            self.report(self.states)


def _pause_after(exc: BaseException, failures: int, every: float) -> float:
    """Return the seconds until a failed chore is retried; after known errors at most its period."""
    first_pause, factor = min(every, _FIRST_PAUSE_S), 2.0 ** min(failures, 30)
    if isinstance(exc, Day1Error):
        return min(first_pause * factor / 2, every)
    return min(first_pause * factor, max(every, _MAX_PAUSE_S))
