"""One ASGI app: MCP, REST, pages and probes over one open memory, behind one middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from day1.call.context import Context
from day1.errors import InvalidRequest, NotFound
from day1.interfaces.background import run_forever
from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.http import probes, rest
from day1.interfaces.http.callers import Callers, access_of
from day1.interfaces.http.failures import failure, status_of
from day1.interfaces.http.middleware import LOOPBACK, AccessMiddleware, AccessRules
from day1.interfaces.http.replies import reply
from day1.interfaces.mcp.http import streams
from day1.interfaces.mcp.listening import Listening
from day1.interfaces.mcp.server import build_server
from day1.interfaces.open_store import OpenStore
from day1.interfaces.web import pages
from day1.interfaces.web.events import Events
from day1.interfaces.web.site import Server, Site, cookie_of
from day1.services.access.authentication import Authenticator
from day1.settings import HttpSettings
from day1.toolsets import LISTS, TOOLSETS, operations


@dataclass(frozen=True, slots=True)
class Served:
    """What is served, to whom."""

    house: OpenStore
    authenticator: Authenticator
    called: Callable[[], None]
    """Told of each call."""


def build_app(served: Served) -> Starlette:
    """Make the app; it is open for calls while its lifespan lasts."""
    house, settings = served.house, served.house.settings.http
    callers, metrics = Callers(house, served.called), probes.Metrics()

    def context(meta: Any, request: Any) -> Context:
        return callers.context(request, meta)

    feed = Broadcaster(house.repo)
    listening = Listening(feed, lambda ctx: access_of(ctx.request))
    servers = {
        path: build_server(operations(names), context, listening) for path, names in _toolsets()
    }
    mcp = streams(servers, body_bytes=settings.body_bytes, sse=settings.sse)

    every = operations(",".join(TOOLSETS))
    asking = partial(callers.context, source="user")
    site = Site.of(Server(served.authenticator, house.clock, asking, access_of, status_of), every)
    events = Events(feed, access_of)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(run_forever, "looking", feed.run)
            tasks.start_soon(run_forever, "telling", listening.run)
            yield
            tasks.cancel_scope.cancel()

    rules = AccessRules(
        names=settings.names,
        rate=settings.rate,
        body_bytes=settings.body_bytes,
        public=lambda path: path in probes.PUBLIC or pages.is_public(path),
        page=pages.is_page,
        cookie=cookie_of,
        refused=site.refused,
    )
    app = Starlette(
        lifespan=lifespan,
        routes=[
            *mcp.routes,  # routes are tried in turn, and these are asked for most
            *probes.routes(house, metrics, mcp),
            *rest.routes(every, callers),
            *pages.routes(site, events),
        ],
        middleware=[
            Middleware(
                AccessMiddleware,
                authenticator=served.authenticator,
                rules=rules,
                metrics=metrics,
                clock=house.clock,
            )
        ],
        exception_handlers={404: _no_path, 405: _no_method},
    )
    app.state.leaving = [listening.close, events.close]
    return app


def _toolsets() -> Iterator[tuple[str, str]]:
    """Where each choice of tools is served: `/mcp` the core, `/mcp/NAME` others.

    `all` leaves out who may come in: no agent needs that beside its work.
    """
    yield "/mcp", "core"
    for name in (*TOOLSETS, *LISTS):
        yield f"/mcp/{name}", name
    yield "/mcp/all", ",".join(name for name in TOOLSETS if name != "admin")


async def _no_path(request: Request, _: Exception) -> Response:
    message = "There is no such path here: /mcp, /api/v1/openapi.json and /review are."
    return await reply(failure(NotFound(message)), request.scope, request.receive)


async def _no_method(request: Request, exc: Exception) -> Response:
    body = InvalidRequest(f"{request.method} is not for this path.").body()
    return JSONResponse(body, 405, getattr(exc, "headers", None))


def needs_door(settings: HttpSettings) -> bool:
    """Whether to ask for a token even where none was made: others than this machine can come."""
    return settings.host not in (*LOOPBACK, "::1")
