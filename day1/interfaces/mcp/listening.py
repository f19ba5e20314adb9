"""Notifications for MCP clients that subscribe: a branch moved, or a review waits.

A client of the 2026 protocol opens a stream (`subscriptions/listen`). A client of the 2025 protocol
subscribes to addresses of resources. Each hears only of branches that its token may see.
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
"""Maximum number of subscriptions of clients of the 2025 protocol; one more drops the oldest."""
_BACKLOG = 1_000
"""Maximum number of news items that wait to be passed on; further news are dropped."""
_SLOWEST_S = 1.0
"""Longest time for sending one notification, in seconds; a slower client is dropped."""


class _Listeners:
    """The streams of clients of the 2026 protocol whose tokens see the same branches."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.bus = InMemorySubscriptionBus()
        self.streams = ListenHandler(self.bus)


class Listening:
    """Handlers of `listen`, `subscribe` and `unsubscribe` of one MCP server."""

    def __init__(self, feed: Broadcaster, access_of: Callable[[Any], Access]) -> None:
        """Pass on a feed; `access_of` returns a client's access from its SDK context."""
        self._feed, self._access_of = feed, access_of
        self._listeners: dict[tuple[str, ...], _Listeners] = {}
        self._subscribed: OrderedDict[tuple[str, str], tuple[Any, Access]] = OrderedDict()
        self._sending, self._waiting = anyio.create_memory_object_stream[News](_BACKLOG)
        self._turn = anyio.Lock()
        """The lock by which clients join and leave one after the other, in the order of their
        requests."""
        self._open = 0
        self._leave: Callable[[], None] = lambda: None

    async def _came(self) -> None:
        """Count a new client; for the first client, subscribe to the feed of changes."""
        if not self._open:
            self._leave = await self._feed.subscribe(self._take)
        self._open += 1

    def _left(self) -> None:
        self._open -= 1
        if not self._open:
            self._leave()

    def _take(self, news: News) -> None:
        with suppress(anyio.WouldBlock):  # the next notification makes clients read anew too
            self._sending.send_nowait(news)

    async def run(self) -> None:
        """Pass on news to clients until cancelled."""
        async for news in self._waiting:
            await self._publish(news)

    async def _publish(self, news: News) -> None:
        uris, is_list_changed = _addresses(news)
        for listeners in list(self._listeners.values()):
            if _sees(listeners.access, news):
                if is_list_changed:
                    await listeners.bus.publish(ResourcesListChanged())
                for uri in uris:
                    await listeners.bus.publish(ResourceUpdated(uri=uri))
        for session_and_uri, (session, access) in list(self._subscribed.items()):
            if session_and_uri[1] in uris and _sees(access, news):
                try:
                    with anyio.fail_after(_SLOWEST_S):
                        await session.send_resource_updated(session_and_uri[1])
                except Exception:  # noqa: BLE001 - on any error this client counts as gone
                    self._forget(session_and_uri)

    async def listen(
        self, ctx: Any, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve the stream of a client of the 2026 protocol."""
        access = self._access_of(ctx)
        listeners = self._listeners.setdefault(access.branches, _Listeners(access))
        async with self._turn:
            await self._came()
        try:
            return await listeners.streams(ctx, params)
        finally:
            self._left()

    async def subscribe(self, ctx: Any, params: Any) -> EmptyResult:
        """Subscribe a client of the 2025 protocol to an address, whether or not it exists."""
        session_and_uri = (_session(ctx), str(params.uri))
        async with self._turn:
            if session_and_uri not in self._subscribed:
                await self._came()
            self._subscribed[session_and_uri] = ctx.session, self._access_of(ctx)
        while len(self._subscribed) > _SUBSCRIBED:
            self._forget(next(iter(self._subscribed)))
        return EmptyResult()

    async def unsubscribe(self, ctx: Any, params: Any) -> EmptyResult:
        """End a subscription of a client of the 2025 protocol."""
        async with self._turn:
            self._forget((_session(ctx), str(params.uri)))
        return EmptyResult()

    def _forget(self, key: tuple[str, str]) -> None:
        if self._subscribed.pop(key, None) is not None:
            self._left()

    def close(self) -> None:
        """End all streams with the protocol's closing message."""
        for listeners in self._listeners.values():
            listeners.streams.close()


def _addresses(news: News) -> tuple[Sequence[str], bool]:
    """Return the addresses of changed resources, and whether the list of resources changed."""
    if not isinstance(news, Moved):
        return [REVIEWS], False
    is_list_changed = news.new or news.commit is None
    uris = [branch_uri(news.branch), prime_uri(news.branch)]
    return [*uris, *([BRANCHES] if is_list_changed else [])], is_list_changed


def _sees(access: Access, news: News) -> bool:
    """Whether a client may hear news: it sees the moved branch, or all branches of a review."""
    if isinstance(news, Moved):
        return access.sees(news.branch)
    return any(all(map(access.sees, changed_review.branches)) for changed_review in news.changed)


def _session(ctx: Any) -> str:
    """Return the id of a client's session; empty over stdio, which has one client."""
    headers = getattr(ctx.request, "headers", None) or {}
    return str(headers.get("mcp-session-id") or "")
