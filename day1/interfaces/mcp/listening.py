"""Clients that listen: told when a branch that they may see has moved, in both protocol eras.

A client of 2026 opens a stream (`subscriptions/listen`), one of 2025 subscribes to addresses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from anyio import to_thread
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from day1.interfaces.feed import Feed
from day1.interfaces.mcp.resources import BRANCHES, branch_of, branch_uri
from day1.services.watching import Moved

_SUBSCRIBED = 10_000
"""Addresses that clients of 2025 may watch; beyond, the oldest is forgotten."""
_BACKLOG = 1_000
Sees = Callable[[Any, str], bool]
"""Whether the caller of an SDK context may see a branch."""


class Listening:
    """The handlers of one server, fed by the process's one feed."""

    def __init__(self, feed: Feed, sees: Sees) -> None:
        """Listen to a feed for clients that see what `sees` says."""
        self._feed, self._sees = feed, sees
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._subscribed: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._sending, self._waiting = anyio.create_memory_object_stream[Moved](_BACKLOG)
        self._open = 0
        self._leave: Callable[[], None] = lambda: None

    def _enter(self, count: int) -> None:
        """Listen to the feed as long as anybody listens here."""
        before, self._open = self._open, self._open + count
        if not before and self._open:
            self._leave = self._feed.subscribe(self._take)
        elif before and not self._open:
            self._leave()

    def _take(self, moved: Moved) -> None:
        with suppress(anyio.WouldBlock):  # a client that is told of the next move reads anew too
            self._sending.send_nowait(moved)

    async def run(self) -> None:
        """Pass on what moved until cancelled."""
        async for moved in self._waiting:
            await self._publish(moved)

    async def _publish(self, moved: Moved) -> None:
        uris = [branch_uri(moved.branch)]
        if moved.new or moved.commit is None:
            uris.append(BRANCHES)
            await self._bus.publish(ResourcesListChanged())
        for uri in uris:
            await self._bus.publish(ResourceUpdated(uri=uri))
            for key, session in list(self._subscribed.items()):
                if key[1] == uri:
                    try:
                        await session.send_resource_updated(uri)
                    except Exception:  # noqa: BLE001 - whatever it is, that client has left
                        self._forget(key)

    async def listen(
        self, ctx: Any, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve a stream of 2026, for the addresses that its caller may see."""
        wanted = params.notifications
        uris = wanted.resource_subscriptions or []
        seen = [u for u in uris if await to_thread.run_sync(partial(self._shown, ctx, u))]
        wanted = wanted.model_copy(update={"resource_subscriptions": seen})
        self._enter(1)
        try:
            return await self._streams(ctx, params.model_copy(update={"notifications": wanted}))
        finally:
            self._enter(-1)

    def _shown(self, ctx: Any, uri: str) -> bool:
        branch = branch_of(uri)
        return branch is None or self._sees(ctx, branch)

    async def subscribe(self, ctx: Any, params: Any) -> EmptyResult:
        """Subscribe a client of 2025 to an address."""
        uri = str(params.uri)
        if not await to_thread.run_sync(partial(self._shown, ctx, uri)):
            raise MCPError(INVALID_PARAMS, "Resource not found.", {"uri": uri})
        key = (_session(ctx), uri)
        if key not in self._subscribed:
            self._enter(1)
        self._subscribed[key] = ctx.session
        while len(self._subscribed) > _SUBSCRIBED:
            self._forget(next(iter(self._subscribed)))
        return EmptyResult()

    async def unsubscribe(self, ctx: Any, params: Any) -> EmptyResult:
        """End that."""
        self._forget((_session(ctx), str(params.uri)))
        return EmptyResult()

    def _forget(self, key: tuple[str, str]) -> None:
        if self._subscribed.pop(key, None) is not None:
            self._enter(-1)

    def close(self) -> None:
        """End every stream, in the protocol's own way."""
        self._streams.close()


def _session(ctx: Any) -> str:
    """Which client it is: over stdio there is one."""
    headers = getattr(ctx.request, "headers", None) or {}
    return str(headers.get("mcp-session-id") or "")
