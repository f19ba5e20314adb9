"""MCP over HTTP: streamable HTTP for each toolset, and the older SSE transport if asked for."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from day1.call.registry import renamed

log = logging.getLogger(__name__)
_LAST_EVENT = b"last-event-id"
"""The header by which a client asks for the events after one that it got."""
MESSAGES = "/sse/messages/"
"""The path to which clients of the SSE transport post messages."""


@dataclass(slots=True)
class Streams:
    """The MCP servers of an app: their paths and their session managers."""

    endpoints: Mapping[str, ASGIApp]
    """The ASGI app of each path, for any method."""
    routes: list[BaseRoute]
    """The routes of the SSE transport; empty if it is off."""
    managers: tuple[StreamableHTTPSessionManager, ...]
    served: bool = False
    """Whether the session managers are running."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the session managers during the block; leaving it ends all sessions."""
        async with AsyncExitStack() as exit_stack:
            for manager in self.managers:
                await exit_stack.enter_async_context(manager.run())
            self.served = True
            try:
                yield
            finally:
                self.served = False


def streams(
    servers: Mapping[str, Server[Any]],
    *,
    body_bytes: int,
    sse: bool,
    former: Mapping[str, str],
) -> Streams:
    """Serve each MCP server at its path; with `sse`, the first also by the SSE transport.

    `former` maps old paths to present ones. The middleware checks Host, Origin and tokens of all.
    """
    endpoints: dict[str, ASGIApp] = {}
    session_managers = []
    for path, server in servers.items():
        manager = StreamableHTTPSessionManager(server, max_request_body_size=body_bytes)
        session_managers.append(manager)
        # Serve the path with a final slash too: a redirected client may drop its token.
        endpoints |= dict.fromkeys((path, f"{path}/"), manager.asgi_app)
    for old_path, path in former.items():
        app = _warning(endpoints[path], renamed(old_path, path))
        endpoints |= dict.fromkeys((old_path, f"{old_path}/"), app)
    routes = _sse_routes(next(iter(servers.values())), body_bytes) if sse else []
    return Streams(endpoints, routes, tuple(session_managers))


def _warning(app: ASGIApp, text: str) -> ASGIApp:
    """Wrap an app so that it logs a warning at its first request."""
    has_warned = False

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal has_warned
        if not has_warned:
            log.warning(text)
            has_warned = True
        await app(scope, receive, send)

    return serve


class Endpoints:
    """ASGI middleware that serves the paths of MCP before the app's routing.

    An idle session keeps a stream open, and each routed stream would keep 3 KB of memory.
    """

    def __init__(self, app: ASGIApp, endpoints: Mapping[str, ASGIApp]) -> None:
        """Serve endpoints by path, and every other path by an app."""
        self._app, self._endpoints = app, endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request at an endpoint of MCP, else by the app."""
        endpoint = self._endpoints.get(scope["path"]) if scope["type"] == "http" else None
        if endpoint is not None:
            # No stream has event ids, so there is nothing to replay. The SDK would not answer.
            headers = [header for header in scope["headers"] if header[0] != _LAST_EVENT]
            scope = {**scope, "headers": headers}
        await (endpoint or self._app)(scope, receive, send)


def _sse_routes(server: Server[Any], body_bytes: int) -> list[BaseRoute]:
    transport = SseServerTransport(MESSAGES, max_request_body_size=body_bytes)

    async def connect(scope: Scope, receive: Receive, send: Send) -> None:
        async with transport.connect_sse(scope, receive, send) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    class Connect:
        """An ASGI app: a class, since a Route treats a function as an endpoint."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["method"] == "GET":
                await connect(scope, receive, send)
            else:
                await Response(status_code=405, headers={"Allow": "GET"})(scope, receive, send)

    return [Mount(MESSAGES, transport.handle_post_message), Route("/sse", Connect())]
