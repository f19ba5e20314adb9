"""Processes that write into one store, each with connections of its own."""

from __future__ import annotations

import multiprocessing as mp
import time
from dataclasses import dataclass, field
from queue import Empty
from typing import TYPE_CHECKING, Any

from benchmarks import stores
from benchmarks.texts import facts

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

    from day1.settings import Settings

_PROCESSES = mp.get_context("spawn")
FIVE = 5


@dataclass(slots=True)
class Written:
    """What one writer did; starts are on the monotonic clock, which processes share."""

    ids: list[str] = field(default_factory=list)
    started: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def driven_clock(start: int) -> Synchronized[int]:
    """A clock for several processes: microseconds that only move when somebody turns them."""
    clock: Synchronized[int] = _PROCESSES.Value("q", start)
    return clock


def write_by(
    processes: int,
    settings: Settings,
    each: int,
    *,
    clock: Synchronized[int] | None = None,
    step: int = 0,
) -> list[Written]:
    """Let processes write `each` facts to `main`; a driven clock is turned before each write."""
    team = Team(processes, settings, each=each, clock=clock, step=step)
    return team.finish()


class Team:
    """Writers that have been started."""

    def __init__(
        self,
        processes: int,
        settings: Settings,
        *,
        each: int | None = None,
        seconds: float | None = None,
        clock: Synchronized[int] | None = None,
        step: int = 0,
    ) -> None:
        """Start writers that write `each` facts, or for some seconds."""
        self._results: Any = _PROCESSES.Queue()
        self._processes = [
            _PROCESSES.Process(
                target=_write, args=(settings, each, seconds, clock, step, number, self._results)
            )
            for number in range(processes)
        ]
        for process in self._processes:
            process.start()

    def finish(self) -> list[Written]:
        """Wait for all, and gather what they did.

        Raises:
            RuntimeError: a writer died.
        """
        written: list[Written] = []
        while len(written) < len(self._processes):
            try:
                written.append(self._results.get(timeout=1.0))
            except Empty:
                if any(process.exitcode for process in self._processes):
                    raise RuntimeError("a writer died") from None
        for process in self._processes:
            process.join()
        return written


def _write(  # noqa: PLR0913 - what `Team` gives
    settings: Settings,
    each: int | None,
    seconds: float | None,
    clock: Synchronized[int] | None,
    step: int,
    number: int,
    results: Any,
) -> None:
    written = Written()

    def driven() -> int:
        assert clock is not None  # noqa: S101 - asked only with one
        return int(clock.value)

    with stores.opened(settings, None if clock is None else driven) as repo:
        end = None if seconds is None else time.monotonic() + seconds
        for text, _ in facts(each or 1_000_000, f"writer {number} {time.time_ns()}"):
            if end is not None and time.monotonic() >= end:
                break
            if clock is not None:
                with clock.get_lock():
                    clock.value += step
            started = time.monotonic()
            try:
                written.ids.append(stores.write(repo, text))
            except Exception as exc:  # noqa: BLE001 - every failure is counted
                written.failed.append(repr(exc))
            written.started.append(started)
            written.seconds.append(time.monotonic() - started)
    results.put(written)
