"""A clock that moves only when a chore waits, or a test moves it."""

from collections.abc import Callable

from day1.services.upkeep.chores import Clock


class SteppedClock(Clock):
    """Begins a while after zero, so that nothing seems to have happened just now."""

    def __init__(self, on_wait: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.at = 1_000.0
        self.on_wait = on_wait

    def now(self) -> float:
        return self.at

    def wait(self, seconds: float) -> None:
        self.at += seconds
        self.on_wait()
