"""MCP over HTTP: streamable HTTP for each toolset, and the older SSE transport if asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

_MESSAGES = "/sse/messages/"


@dataclass(slots=True)
class Streams:
    """The routes of MCP servers, and what must run while they are served."""

    routes: list[BaseRoute]
    managers: tuple[StreamableHTTPSessionManager, ...]
    served: bool = False
    """Whether that runs now."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve sessions for the block; leaving it ends them."""
        async with AsyncExitStack() as open_ones:
            for manager in self.managers:
                await open_ones.enter_async_context(manager.run())
            self.served = True
            try:
                yield
            finally:
                self.served = False


def streams(servers: Mapping[str, Server[Any]], *, body_bytes: int, sse: bool) -> Streams:
    """Serve each server at its path; the first one also by SSE, if that is asked for.

    The middleware checks Host, Origin and tokens, for these paths as for all others.
    """
    routes: list[BaseRoute] = []
    managers = []
    for path, server in servers.items():
        manager = StreamableHTTPSessionManager(server, max_request_body_size=body_bytes)
        managers.append(manager)
        # With a slash at the end as well: a client that is redirected may drop its token.
        routes += [Route(p, StreamableHTTPASGIApp(manager)) for p in (path, f"{path}/")]
    if sse:
        routes += _sse_routes(next(iter(servers.values())), body_bytes)
    return Streams(routes, tuple(managers))


def _sse_routes(server: Server[Any], body_bytes: int) -> list[BaseRoute]:
    transport = SseServerTransport(_MESSAGES, max_request_body_size=body_bytes)

    async def connect(scope: Scope, receive: Receive, send: Send) -> None:
        async with transport.connect_sse(scope, receive, send) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    class Connect:
        """An ASGI app: a Route takes a function for an endpoint."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["method"] == "GET":
                await connect(scope, receive, send)
            else:
                await Response(status_code=405, headers={"Allow": "GET"})(scope, receive, send)

    return [Mount(_MESSAGES, transport.handle_post_message), Route("/sse", Connect())]
