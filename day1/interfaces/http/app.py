"""One ASGI app: MCP, REST, pages and probes over one open memory, behind one middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from day1.call.context import Context
from day1.call.registry import Registry
from day1.call.toolset import ErrorShape
from day1.errors import InvalidRequest, NotFound
from day1.interfaces.background import Job, run_forever
from day1.interfaces.broadcast import Broadcaster
from day1.interfaces.counting import LocalCounters
from day1.interfaces.http import probes, rest
from day1.interfaces.http.bodies import BodySizes
from day1.interfaces.http.callers import Callers, access_of
from day1.interfaces.http.failures import failure, route_of, status_of
from day1.interfaces.http.middleware import LOOPBACK, AccessMiddleware, AccessRules
from day1.interfaces.http.relay import Peers, SessionRelay
from day1.interfaces.http.replies import reply
from day1.interfaces.http.serving import LEAVING
from day1.interfaces.mcp.http import Endpoints, Streams, streams
from day1.interfaces.mcp.listening import Listening
from day1.interfaces.mcp.server import build_server
from day1.interfaces.open_store import OpenStore
from day1.interfaces.web import pages
from day1.interfaces.web.events import Events
from day1.interfaces.web.site import Server, Site, cookie_of
from day1.ports.counters import Counters
from day1.ports.uses import NoUses
from day1.services.access.authentication import Authenticator
from day1.settings import HttpSettings
from day1.toolsets.over_http import TOOLSETS


@dataclass(frozen=True, slots=True)
class Served:
    """What the app serves: an open store with its authenticator and toolsets."""

    store: OpenStore
    authenticator: Authenticator
    called: Callable[[], None]
    """The function to call when a call begins; it postpones background work."""
    toolsets: Registry = field(default_factory=lambda: TOOLSETS)
    counters: Callable[[str], Counters] = lambda _: LocalCounters()
    """The function that returns the counters of a name."""
    peers: Peers | None = None
    """The other workers of the server; None if it is one process."""
    counts: Path | None = None
    """The folder in which all workers of the server count requests."""


def _looking(callers: Callers, request: Request) -> Context:
    """Build the context of a person on the pages, whose reading does not count as use of a row."""
    context = callers.context(request, source="user")
    return replace(context, search=replace(context.search, uses=NoUses()))


def build_app(served: Served) -> Starlette:
    """Build the ASGI app; it answers calls while its lifespan runs."""
    store, settings = served.store, served.store.settings.http
    callers, metrics = Callers(store, served.called), probes.Metrics(served.counts)

    def context(meta: Any, request: Any) -> Context:
        return callers.context(request, meta)

    broadcaster = Broadcaster(store.repo)
    listening = Listening(broadcaster, lambda ctx: access_of(ctx.request))
    toolsets = served.toolsets
    server_by_path = {
        f"/mcp/{name}".rstrip("/"): build_server(toolsets.choose(choice), context, listening)
        for name, choice in toolsets.endpoints()
    }
    path_by_former_path = {
        f"/mcp/{former_name}": f"/mcp/{name}" for former_name, name in toolsets.former.items()
    }
    mcp_app = streams(
        server_by_path, body_bytes=settings.body_bytes, sse=settings.sse, former=path_by_former_path
    )

    site = _site(served, callers)
    events = Events(broadcaster, access_of)

    error_shape = partial(rest.shape_at, toolsets)
    unrouted = _Unrouted(error_shape)
    rules = _rules(settings, site, toolsets)
    job_by_name = {"looking": broadcaster.run, "telling": listening.run}
    relays = []
    if served.peers is not None:
        job_by_name["relaying"] = served.peers.run
        relays.append(Middleware(SessionRelay, peers=served.peers))
    leaving = [listening.close, events.close]
    return Starlette(
        lifespan=partial(_lifespan, mcp_app, job_by_name, leaving),
        routes=[
            *mcp_app.routes,
            *probes.routes(store, metrics, mcp_app),
            *rest.routes(toolsets, callers),
            *pages.routes(site, events, served.counters("sign-ins")),
        ],
        middleware=[
            Middleware(
                AccessMiddleware,
                authenticator=served.authenticator,
                rules=replace(rules, counters=served.counters("requests")),
                metrics=metrics,
                clock=store.clock,
            ),
            *relays,
            Middleware(Endpoints, endpoints=mcp_app.endpoints),
        ],
        exception_handlers={404: unrouted.no_path, 405: unrouted.no_method},
    )


def _site(served: Served, callers: Callers) -> Site:
    """Build what all pages share."""
    store = served.store
    server = Server(
        served.authenticator,
        store.clock,
        partial(_looking, callers),
        access_of,
        status_of,
        store.failing_chores,
    )
    return Site(server, served.toolsets.tool)


@asynccontextmanager
async def _lifespan(
    mcp: Streams,
    background: Mapping[str, Job],
    leaving: Sequence[Callable[[], None]],
    _: Starlette,
) -> AsyncIterator[Mapping[str, Any]]:
    """Run MCP's sessions and the background jobs until the server ends.

    `leaving` are the functions that end all streams; the protocol calls them by the state.
    """
    async with mcp.running(), anyio.create_task_group() as task_group:
        for job_name, job in background.items():
            task_group.start_soon(run_forever, job_name, job)
        yield {LEAVING: leaving}
        task_group.cancel_scope.cancel()


def _rules(settings: HttpSettings, site: Site, toolsets: Registry) -> AccessRules:
    sizes = BodySizes(settings.body_bytes, settings.value_body_bytes, rest.long_paths(toolsets))
    return AccessRules(
        names=settings.names,
        rate=settings.rate,
        bodies=sizes,
        public=lambda path: path in probes.PUBLIC or pages.is_public(path),
        page=pages.is_page,
        cookie=cookie_of,
        refused=site.refused,
        shape=partial(rest.shape_at, toolsets),
    )


class _Unrouted:
    """Answers requests that no route takes, in the error shape of the path's toolset."""

    def __init__(self, shape: Callable[[str], ErrorShape]) -> None:
        self._shape = shape

    async def no_path(self, request: Request, _: Exception) -> Response:
        """Answer 404 and name paths that exist."""
        message = "This server has no such path: try /mcp, /api/v1/openapi.json or /review."
        answer = failure(NotFound(message), self._shape(request.url.path))
        return await reply(answer, request.scope, request.receive)

    async def no_method(self, request: Request, exc: Exception) -> Response:
        """Answer 405: the path does not take this method."""
        error = InvalidRequest(
            f"This path does not take {request.method}: the header Allow lists its methods."
        )
        body = self._shape(request.url.path).body(error, route_of)
        return JSONResponse(body, 405, getattr(exc, "headers", None))


def needs_token(settings: HttpSettings) -> bool:
    """Whether the server must ask for a token: it listens beyond this machine."""
    return settings.host not in (*LOOPBACK, "::1")
