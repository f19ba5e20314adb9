"""Live pages: streams of events that name the changed branches a listener may see."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from starlette.requests import Request
from starlette.responses import StreamingResponse

from day1.interfaces.broadcast import Broadcaster
from day1.model.access.permissions import Access
from day1.services.upkeep.poller import Moved, News

_BACKLOG: Final = 100
"""Maximum number of events that wait for a slow listener; further events are dropped."""
_QUIET_S: Final = 15.0
"""Seconds without an event after which the stream sends a comment."""
_AGAIN_MS: Final = 1_000
"""Milliseconds after which a browser connects again."""


class Events:
    """The open event streams of a server."""

    def __init__(self, feed: Broadcaster, access_of: Callable[[Request], Access]) -> None:
        """Pass on a broadcaster's news; `access_of` says which branches a listener may see."""
        self._feed, self._access_of = feed, access_of
        self._open: set[MemoryObjectSendStream[Moved]] = set()
        self._closed = False

    async def stream(self, request: Request) -> StreamingResponse:
        """Answer a listener's request with a stream of events."""
        event_stream = self._event_stream(self._access_of(request).sees)
        # It subscribes before the headers are sent, so it misses nothing.
        await anext(event_stream)
        return StreamingResponse(
            event_stream,
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )

    async def _event_stream(self, sees: Callable[[str], bool]) -> AsyncIterator[str]:
        sender, receiver = anyio.create_memory_object_stream[Moved](_BACKLOG)

        def take(news: News) -> None:
            if not isinstance(news, Moved) or not sees(news.branch):
                return
            # A listener too slow for the backlog misses events; the next one makes it reload all.
            if sender.statistics().current_buffer_used < _BACKLOG:
                with suppress(anyio.ClosedResourceError):  # the server stops
                    sender.send_nowait(news)

        unsubscribe = await self._feed.subscribe(take)
        self._open.add(sender)
        if self._closed:  # closed while subscribing
            sender.close()
        try:
            yield ""
            yield f"retry: {_AGAIN_MS}\n\n"
            while True:
                branch_change: Moved | None = None
                with anyio.move_on_after(_QUIET_S):
                    branch_change = await receiver.receive()
                yield ": still here\n\n" if branch_change is None else _event(branch_change)
        except anyio.EndOfStream:  # the server stops
            return
        finally:
            unsubscribe()
            self._open.discard(sender)
            sender.close()
            receiver.close()

    def close(self) -> None:
        """End every stream, including those that are just starting."""
        self._closed = True
        for sender in list(self._open):
            sender.close()


def _event(moved: Moved) -> str:
    event_data = {"branch": moved.branch, "commit": moved.commit, "pending": moved.pending}
    # Clients of another contract listen for the second name. A deleted branch has no updated
    # memory.
    event_names = ("moved",) if moved.commit is None else ("moved", "memory.updated")
    return "".join(
        f"event: {event_name}\ndata: {json.dumps(event_data)}\n\n" for event_name in event_names
    )
