"""`Day1History` against Agent Framework's own history in a file, by turns in one process."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

import day1
from benchmarks.bench import Bench
from benchmarks.report import Row, quotient, skipped

_MOST: Final = 100
"""Calls of each kind: each is durable before it ends, which the disk takes its time for."""
_WHAT: Final = "FileHistoryProvider's, which is not synced"

Turn = Callable[[Any, list[Any]], Coroutine[Any, Any, object]]
"""A call on a provider; the messages are others each time."""

_TURNS: Final[dict[str, tuple[Turn, float | None]]] = {
    "a run saved": (lambda history, messages: history.save_messages("bench", messages), 1.0),
    "all messages read": (lambda history, _: history.get_messages("bench"), None),
}
"""The call, and the most of its time by the time of the same call of the file, if there is one."""


def rows(bench: Bench, memory: day1.Memory) -> Iterator[Row]:
    """A row for each call, on two sessions with the same messages."""
    try:
        framework = importlib.import_module("agent_framework")
        adapter = importlib.import_module("day1.integrations.agent_framework")
    except ImportError as exc:
        yield skipped("a session of Agent Framework", "stated", f"{exc.name} is missing")
        return

    def spoken(number: int) -> list[Any]:
        question = framework.Message("user", [f"What do you know about lathe {number}?"])
        return [question, framework.Message("assistant", [f"It is number {number}."])]

    folder = bench.folder / "histories"
    folder.mkdir(exist_ok=True)
    (folder / "bench.jsonl").unlink(missing_ok=True)
    ours, theirs = adapter.Day1History(memory), framework.FileHistoryProvider(folder)
    with asyncio.Runner() as runner:
        for history in (ours, theirs):
            before = [message for number in range(bench.sizes.small) for message in spoken(-number)]
            runner.run(history.save_messages("bench", before))
        count = min(_MOST, bench.sizes.calls)
        for name, (turn, limit) in _TURNS.items():
            above, below = bench.few_by_turns(
                count,
                lambda n: runner.run(turn(ours, spoken(n))),  # noqa: B023 - called in this round
                lambda n: runner.run(turn(theirs, spoken(n))),  # noqa: B023 - called in this round
            )
            yield quotient(f"Agent Framework session, {name}", above, below, limit, _WHAT)
