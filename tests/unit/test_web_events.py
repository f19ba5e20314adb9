"""Live pages' streams, where no browser can be quick enough."""

from collections.abc import Callable
from typing import Any

import anyio

from day1.interfaces.web.events import Events
from day1.model.access.permissions import EVERYTHING


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
