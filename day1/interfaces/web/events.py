"""Live pages: a stream of the branches that changed, of those that the listener may see."""

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
_QUIET_S: Final = 15.0
_AGAIN_MS: Final = 1_000


class Events:
    """All open streams."""

    def __init__(self, feed: Broadcaster, access_of: Callable[[Request], Access]) -> None:
        """Pass on what a broadcaster sends, as far as each listener's access goes."""
        self._feed, self._access_of = feed, access_of
        self._open: set[MemoryObjectSendStream[Moved]] = set()
        self._closed = False

    async def stream(self, request: Request) -> StreamingResponse:
        """One listener's stream."""
        return StreamingResponse(
            self._told(self._access_of(request).sees),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )

    async def _told(self, sees: Callable[[str], bool]) -> AsyncIterator[str]:
        sending, waiting = anyio.create_memory_object_stream[Moved](_BACKLOG)

        def take(news: News) -> None:
            if not isinstance(news, Moved) or not sees(news.branch):
                return
            # Who reads so slowly that this is full is told of later moves, and loads all anew then.
            if sending.statistics().current_buffer_used < _BACKLOG:
                with suppress(anyio.ClosedResourceError):  # the server leaves
                    sending.send_nowait(news)

        leave = await self._feed.subscribe(take)
        self._open.add(sending)
        if self._closed:  # meanwhile
            sending.close()
        try:
            yield f"retry: {_AGAIN_MS}\n\n"
            while True:
                moved: Moved | None = None
                with anyio.move_on_after(_QUIET_S):
                    moved = await waiting.receive()
                yield ": still here\n\n" if moved is None else _event(moved)
        except anyio.EndOfStream:  # the server leaves
            return
        finally:
            leave()
            self._open.discard(sending)
            sending.close()
            waiting.close()

    def close(self) -> None:
        """End every stream, including those that are just starting."""
        self._closed = True
        for sending in list(self._open):
            sending.close()


def _event(moved: Moved) -> str:
    said = {"branch": moved.branch, "commit": moved.commit, "pending": moved.pending}
    # Who keeps memory under another contract waits for the second name; a branch that is gone has
    # no memory that was updated.
    names = ("moved",) if moved.commit is None else ("moved", "memory.updated")
    return "".join(f"event: {name}\ndata: {json.dumps(said)}\n\n" for name in names)
