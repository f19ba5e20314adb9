"""`Day1Session` against the OpenAI Agents SDK's own session on SQLite, by turns in one process."""

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
_NEWEST: Final = 10
_WHAT: Final = "SQLiteSession's"

Turn = Callable[[Any, int], Coroutine[Any, Any, object]]
"""A call on a session; the number makes it another one each time."""

_TURNS: Final[dict[str, tuple[Turn, float | None]]] = {
    "an item added": (lambda session, n: session.add_items([_item(n)]), 1.5),
    f"the newest {_NEWEST} items": (lambda session, _: session.get_items(_NEWEST), None),
    "the newest item popped": (lambda session, _: session.pop_item(), None),
}
"""The call, and the most of its time by the time of the same call of SQLite, if there is one."""


def _item(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"What do you know about lathe {number}?"}


def rows(bench: Bench, memory: day1.Memory) -> Iterator[Row]:
    """A row for each call, on two sessions with the same items."""
    try:
        sdk = importlib.import_module("agents.memory")
        adapter = importlib.import_module("day1.integrations.openai_agents")
    except ImportError as exc:
        yield skipped("a session of the OpenAI Agents SDK", "stated", f"{exc.name} is missing")
        return
    file = bench.folder / "session.db"
    file.unlink(missing_ok=True)
    theirs = sdk.SQLiteSession("bench", file)
    try:
        ours = adapter.Day1Session("bench", memory)
        with asyncio.Runner() as runner:
            for session in (ours, theirs):
                runner.run(session.add_items([_item(n) for n in range(bench.sizes.small)]))
            count = min(_MOST, bench.sizes.calls)
            for name, (turn, limit) in _TURNS.items():
                above, below = bench.few_by_turns(
                    count,
                    lambda n: runner.run(turn(ours, n)),  # noqa: B023 - called in this round
                    lambda n: runner.run(turn(theirs, n)),  # noqa: B023 - called in this round
                )
                yield quotient(f"OpenAI Agents session, {name}", above, below, limit, _WHAT)
    finally:
        theirs.close()
