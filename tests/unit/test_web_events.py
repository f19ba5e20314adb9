"""Live pages' streams, where no browser can be quick enough."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from day1.interfaces.web.events import Events
from day1.model.access.permissions import EVERYTHING
from day1.services.upkeep.poller import Moved


def test_a_stream_that_begins_while_the_server_leaves_ends_at_once() -> None:
    class Feed:
        async def subscribe(self, _take: object) -> Callable[[], None]:
            events.close()
            return lambda: None

    feed: Any = Feed()
    request: Any = None
    events = Events(feed, lambda _: EVERYTHING)

    async def told() -> list[Any]:
        with anyio.fail_after(5):
            answer = await events.stream(request)
            return [part async for part in answer.body_iterator]

    assert anyio.run(told) == ["retry: 1000\n\n"]


def test_a_listener_that_got_its_headers_misses_nothing() -> None:
    takes: list[Callable[[Moved], None]] = []

    class Feed:
        async def subscribe(self, take: Callable[[Moved], None]) -> Callable[[], None]:
            takes.append(take)
            return events.close

    feed: Any = Feed()
    request: Any = None
    events = Events(feed, lambda _: EVERYTHING)

    async def told() -> str:
        answer = await events.stream(request)
        takes[0](Moved("main", None))
        parts = aiter(answer.body_iterator)
        return [str(await anext(parts)) for _ in range(2)][1]

    assert "event: moved" in anyio.run(told)


@pytest.mark.line("S3-015")
def test_a_branch_that_moved_is_told_by_both_names_and_one_that_is_gone_by_one() -> None:
    """A client that keeps memory under seed 003 waits for `memory.updated`."""
    told: list[str] = []

    class Feed:
        async def subscribe(self, take: Callable[[Moved], None]) -> Callable[[], None]:
            take(Moved("main", "c1", 2))
            take(Moved("old", None))
            return events.close

    feed: Any = Feed()
    request: Any = None
    events = Events(feed, lambda _: EVERYTHING)

    async def listen() -> None:
        answer = await events.stream(request)
        parts = aiter(answer.body_iterator)
        told.extend([str(await anext(parts)) for _ in range(3)][1:])

    anyio.run(listen)
    names = [line for part in told for line in part.splitlines() if line.startswith("event: ")]
    assert names == ["event: moved", "event: memory.updated", "event: moved"]
    assert all(json.loads(line[6:]) for line in told[0].splitlines() if line[:6] == "data: ")
