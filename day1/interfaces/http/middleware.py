"""Checks each request before it is routed: Host, Origin, token, rate, size; writes the access log.

Written as plain ASGI, so that streams pass through untouched.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from anyio import CapacityLimiter, to_thread
from cachetools import LRUCache
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from day1.call.toolset import ErrorShape
from day1.errors import (
    BodyAmbiguous,
    Day1Error,
    HostUnknown,
    OriginForbidden,
    TooManyRequests,
)
from day1.interfaces.http.bodies import WholeBodies
from day1.interfaces.http.callers import ACCESS
from day1.interfaces.http.failures import SHAPE, failure, fault
from day1.interfaces.http.probes import Metrics
from day1.interfaces.http.replies import reply
from day1.model.access.permissions import Access
from day1.services.access.authentication import Authenticator, without_place

log = logging.getLogger("day1.access")

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_BEARER: Final = "bearer "
_BUCKETS: Final = 1_000
_LOGGED: Final = 200
"""Bytes of a path that the log shows."""
_UNKNOWN_BYTES: Final = 16_384
"""Bytes of a body that comes without a token, such as the form to sign in."""
_ASKING: Final = 8
"""Threads that only look tokens up: those that run calls may all be waiting for the store."""
_TRUSTED_S: Final = 1.0
"""A call that answers within this time does so to the end, even if it revokes its own token."""
_BEHIND_TLS: Final = (
    "name a proxy that adds TLS in DAY1_HTTP__TRUSTED_PROXIES, and let it send X-Forwarded-Proto."
)
_CLIENT_LEFT: Final = 499
"""The status that is logged, never sent, where the client did not wait for an answer."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What requests are checked against."""

    names: tuple[str, ...]
    """Host names of this server besides those of loopback."""
    rate: float
    """Requests a second of one token; 0: no limit."""
    body_bytes: int
    public: Callable[[str], bool]
    """Whether a path needs no token."""
    page: Callable[[str], bool]
    """Whether a path is a page: these redirect to the sign-in instead of refusing."""
    cookie: Callable[[HTTPConnection], str | None]
    """The value of the cookie of a browser that signed in."""
    refused: Callable[[Day1Error, Request], Response]
    """The page that tells why a request was refused."""
    shape: Callable[[str], ErrorShape] = lambda _: SHAPE
    """The form of errors at a path."""


class Buckets:
    """How often each token may ask: one second's worth at once, then at the rate."""

    def __init__(self, rate: float) -> None:
        """Allow so many requests a second; 0 allows any number."""
        self._rate = rate
        self._left: LRUCache[str, tuple[float, float]] = LRUCache(_BUCKETS)

    def take(self, key: str) -> None:
        """Count one request.

        Raises:
            TooManyRequests: it comes too soon.
        """
        if not self._rate:
            return
        now, most = time.monotonic(), max(self._rate, 1.0)
        left, then = self._left.get(key, (most, now))
        left = min(most, left + (now - then) * self._rate)
        if left < 1:
            wait = round((1 - left) / self._rate, 3)
            raise TooManyRequests(
                "This token asks more often than it may: wait, then go on.", retry_after=wait
            )
        self._left[key] = left - 1, now


class AccessMiddleware:
    """ASGI middleware around the whole app."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        rules: AccessRules,
        metrics: Metrics,
        clock: Callable[[], int],
    ) -> None:
        """Check the requests of an app."""
        self._app = app
        self._limited = WholeBodies(app, rules.body_bytes, rules.shape)
        self._unknown = WholeBodies(app, min(rules.body_bytes, _UNKNOWN_BYTES), rules.shape)
        self._authenticator, self._rules, self._metrics, self._clock = (
            authenticator,
            rules,
            metrics,
            clock,
        )
        self._buckets = Buckets(rules.rate)
        self._asking = CapacityLimiter(_ASKING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it; log and count it in either case."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, ended = time.perf_counter(), 500, False

        async def noted(message: Message) -> None:
            nonlocal status, ended
            if ended:
                return
            # A stream that goes on shows its token again with each message: it may be revoked.
            if message.get("more_body") and time.perf_counter() - started > _TRUSTED_S:
                ended = ACCESS in scope and not await self._admits(HTTPConnection(scope))
                message = {"type": "http.response.body", "body": b""} if ended else message
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                safe = [pair for pair in _SAFE if pair[0] not in given]
                message = {**message, "headers": [*message["headers"], *safe]}
            await send(message)

        try:
            refused = await self._refusal(scope)
            if refused is not None:
                refused = await reply(refused, scope, receive)
            # An idle MCP stream has no body, and its reading would be held as long as the stream.
            stands = scope["method"] == "GET" and scope["path"].startswith("/mcp")
            limited = self._app if stands else self._limited
            known = limited if ACCESS in scope else self._unknown
            await (refused or known)(scope, receive, noted)
        except ClientDisconnect:
            status = _CLIENT_LEFT
        finally:
            spent = time.perf_counter() - started
            who = scope[ACCESS].token_id if ACCESS in scope else None
            self._metrics.count(scope["path"], status, spent)
            # The path alone: what is searched for stands in the query. As it was sent: decoded, it
            # may hold the end of a line.
            log.info(
                "%s %s %s %.1f ms %s",
                scope["method"],
                scope["raw_path"][:_LOGGED].decode("ascii", "replace"),
                status,
                spent * 1e3,
                who or "-",
            )

    async def _refusal(self, scope: Scope) -> Response | None:
        headers, shape = Headers(scope=scope), self._rules.shape(scope["path"])
        if "transfer-encoding" in headers and (
            "content-length" in headers or scope["http_version"] == "1.0"
        ):  # a proxy may take another place for the end of the body than this server
            message = "A body has one length: send Content-Length, or Transfer-Encoding."
            refused = failure(BodyAmbiguous(message), shape)
            refused.headers["Connection"] = "close"
            return refused
        host = headers.get("host", "")
        if not self._is_ours(host):
            message = f"This server is not called {host[:100]!r}: name it in DAY1_HTTP__NAMES."
            return failure(HostUnknown(message), shape)
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            message = "Pages of other sites may not call this one."
            if origin.partition("://")[2] == host:
                message += f" This server is asked by {scope['scheme']}: {_BEHIND_TLS}"
            return failure(OriginForbidden(message), shape)
        if self._rules.public(scope["path"]):
            return None
        try:
            access = await self._admit(HTTPConnection(scope))
            self._buckets.take(access.token_id or "")
        except Day1Error as exc:
            said = without_place(exc)
            if not self._rules.page(scope["path"]) or "authorization" in headers:
                return failure(said, shape)
            return self._rules.refused(said, Request(scope))
        except Exception as exc:  # noqa: BLE001 - whatever it is, the caller gets the one shape
            return fault(exc, shape)
        scope[ACCESS] = access
        if access.token_id is not None:  # what the SDK ties MCP sessions to
            known = AccessToken(token="", client_id=access.token_id, scopes=[access.scope])
            scope["user"] = AuthenticatedUser(known)
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return name.lower() in (*LOOPBACK, *map(str.lower, self._rules.names))

    async def _admits(self, request: HTTPConnection) -> bool:
        try:
            await self._admit(request)
        except Day1Error:
            return False
        return True

    async def _admit(self, request: HTTPConnection) -> Access:
        """Ask the store in a thread: while it is slow, only requests that need a token wait."""
        given = request.headers.get("authorization", "")
        if given:
            secret = given[len(_BEARER) :].strip() if given.lower().startswith(_BEARER) else ""
            ask = partial(self._authenticator.admit, secret, self._clock())
        else:
            cookie = self._rules.cookie(request)
            ask = partial(self._authenticator.admit_browser, cookie, self._clock())
        return await to_thread.run_sync(ask, limiter=self._asking)


_SAFE: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
