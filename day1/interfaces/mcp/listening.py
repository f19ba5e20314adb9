"""Clients that subscribe: each is told when a branch that it may see moved, and what waits.

A client of the 2026 protocol opens a stream (`subscriptions/listen`). One of the 2025 protocol
subscribes to addresses of resources.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.types import (
    EmptyResult,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.mcp.resources import BRANCHES, REVIEWS, branch_uri, prime_uri
from day1.model.access.permissions import Access
from day1.services.upkeep.poller import Moved, News

_SUBSCRIBED = 10_000
"""Addresses that clients of 2025 may watch; beyond, the oldest is forgotten."""
_BACKLOG = 1_000
_SLOWEST_S = 1.0
"""A client that takes longer to hear one thing keeps the others waiting, and is forgotten."""


class _Listeners:
    """Clients of 2026 that see the same branches: they are told of no other, whatever they ask."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.bus = InMemorySubscriptionBus()
        self.streams = ListenHandler(self.bus)


class Listening:
    """The handlers of one server, fed by the process's one feed."""

    def __init__(self, feed: Broadcaster, access_of: Callable[[Any], Access]) -> None:
        """Listen to a feed for clients, whose access is found by their SDK context."""
        self._feed, self._access_of = feed, access_of
        self._listeners: dict[tuple[str, ...], _Listeners] = {}
        self._subscribed: OrderedDict[tuple[str, str], tuple[Any, Access]] = OrderedDict()
        self._sending, self._waiting = anyio.create_memory_object_stream[News](_BACKLOG)
        self._turn = anyio.Lock()
        """Clients join and leave in the order in which they ask."""
        self._open = 0
        self._leave: Callable[[], None] = lambda: None

    async def _came(self) -> None:
        """Listen to the feed as long as anybody listens here; the first waits for the store."""
        if not self._open:
            self._leave = await self._feed.subscribe(self._take)
        self._open += 1

    def _left(self) -> None:
        self._open -= 1
        if not self._open:
            self._leave()

    def _take(self, news: News) -> None:
        with suppress(anyio.WouldBlock):  # a client that is told of the next one reads anew too
            self._sending.send_nowait(news)

    async def run(self) -> None:
        """Pass on what changed until cancelled."""
        async for news in self._waiting:
            await self._publish(news)

    async def _publish(self, news: News) -> None:
        uris, listed = _addresses(news)
        for listeners in list(self._listeners.values()):
            if _sees(listeners.access, news):
                if listed:
                    await listeners.bus.publish(ResourcesListChanged())
                for uri in uris:
                    await listeners.bus.publish(ResourceUpdated(uri=uri))
        for key, (session, access) in list(self._subscribed.items()):
            if key[1] in uris and _sees(access, news):
                try:
                    with anyio.fail_after(_SLOWEST_S):
                        await session.send_resource_updated(key[1])
                except Exception:  # noqa: BLE001 - whatever it is, that client has left
                    self._forget(key)

    async def listen(
        self, ctx: Any, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve the stream of a client of the protocol of 2026."""
        access = self._access_of(ctx)
        listeners = self._listeners.setdefault(access.branches, _Listeners(access))
        async with self._turn:
            await self._came()
        try:
            return await listeners.streams(ctx, params)
        finally:
            self._left()

    async def subscribe(self, ctx: Any, params: Any) -> EmptyResult:
        """Subscribe a client of the protocol of 2025 to an address, even an empty one."""
        key = (_session(ctx), str(params.uri))
        async with self._turn:
            if key not in self._subscribed:
                await self._came()
            self._subscribed[key] = ctx.session, self._access_of(ctx)
        while len(self._subscribed) > _SUBSCRIBED:
            self._forget(next(iter(self._subscribed)))
        return EmptyResult()

    async def unsubscribe(self, ctx: Any, params: Any) -> EmptyResult:
        """End a subscription."""
        async with self._turn:
            self._forget((_session(ctx), str(params.uri)))
        return EmptyResult()

    def _forget(self, key: tuple[str, str]) -> None:
        if self._subscribed.pop(key, None) is not None:
            self._left()

    def close(self) -> None:
        """End every stream, in the protocol's own way."""
        for listeners in self._listeners.values():
            listeners.streams.close()


def _addresses(news: News) -> tuple[Sequence[str], bool]:
    """The resources that changed, and whether there are others than before."""
    if not isinstance(news, Moved):
        return [REVIEWS], False
    listed = news.new or news.commit is None
    uris = [branch_uri(news.branch), prime_uri(news.branch)]
    return [*uris, *([BRANCHES] if listed else [])], listed


def _sees(access: Access, news: News) -> bool:
    """Whether a client may know of it: of what waits it sees all the branches of one thing."""
    if isinstance(news, Moved):
        return access.sees(news.branch)
    return any(all(map(access.sees, one.branches)) for one in news.changed)


def _session(ctx: Any) -> str:
    """Which client it is: over stdio there is one."""
    headers = getattr(ctx.request, "headers", None) or {}
    return str(headers.get("mcp-session-id") or "")
