"""Checks each request before it is routed: Host, Origin, token, rate, size; writes the access log.

Written as plain ASGI, so that streams pass through untouched.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from anyio import CapacityLimiter, to_thread
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
from day1.interfaces.counting import LocalCounters
from day1.interfaces.http.bodies import BodySizes, WholeBodies
from day1.interfaces.http.callers import ACCESS, let_in
from day1.interfaces.http.failures import SHAPE, failure, fault
from day1.interfaces.http.probes import Metrics
from day1.interfaces.http.replies import reply
from day1.model.access.permissions import Access
from day1.ports.counters import Counters, Numbers
from day1.services.access.authentication import Authenticator, without_place

log = logging.getLogger("day1.access")

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""Host names under which this machine reaches the server."""
_BEARER: Final = "bearer "
"""Prefix of an Authorization header, in lower case."""
_LOGGED: Final = 200
"""Maximum number of bytes of a path in the log."""
_UNKNOWN_BYTES: Final = 16_384
"""Maximum number of bytes of a body without a token, such as the form to sign in."""
_ASKING: Final = 8
"""Number of threads that look up tokens, apart from the threads of calls."""
_TRUSTED_S: Final = 1.0
"""Seconds that a response may stream before its token is checked again."""
_BEHIND_TLS: Final = (
    "name a proxy that adds TLS in DAY1_HTTP__TRUSTED_PROXIES, and let it send X-Forwarded-Proto."
)
"""Advice for a server behind a proxy that adds TLS."""
_CLIENT_LEFT: Final = 499
"""The status in the log when the client left before the answer; it is never sent."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The rules that every request is checked against."""

    names: tuple[str, ...]
    """Host names of this server besides those of loopback."""
    rate: float
    """Requests a second that one token may send; 0 means no limit."""
    bodies: BodySizes
    """Maximum numbers of bytes of bodies."""
    public: Callable[[str], bool]
    """Whether a path needs no token."""
    page: Callable[[str], bool]
    """Whether a path is a page: a browser without a session is sent to the sign-in page."""
    cookie: Callable[[HTTPConnection], str | None]
    """The function that returns the session cookie of a browser that signed in."""
    refused: Callable[[Day1Error, Request], Response]
    """The function that builds the page which says why a request was refused."""
    shape: Callable[[str], ErrorShape] = lambda _: SHAPE
    """The function that returns the error shape of a path."""
    counters: Counters = field(default_factory=LocalCounters)
    """The requests of each token."""


class Buckets:
    """A rate limit for each token: one second's requests at once, then the rate."""

    def __init__(self, rate: float, counters: Counters) -> None:
        """Allow `rate` requests a second; 0 allows any number."""
        self._rate, self._counters = rate, counters

    def take(self, key: str) -> None:
        """Count one request.

        Raises:
            TooManyRequests: the token is above its rate.
        """
        if self._rate:
            self._counters.change(key, self._taken)

    def _taken(self, numbers: Numbers) -> Numbers:
        """Return the requests that are left after one more, and the time."""
        now, token_limit = time.monotonic(), max(self._rate, 1.0)
        tokens_left, counted_at = numbers or (token_limit, now)
        tokens_left = min(token_limit, tokens_left + (now - counted_at) * self._rate)
        if tokens_left < 1:
            wait_s = math.ceil((1 - tokens_left) / self._rate * 1_000) / 1_000  # never too short
            raise TooManyRequests(
                "This token sends too many requests: wait, then go on.", retry_after=wait_s
            )
        return tokens_left - 1, now


class AccessMiddleware:
    """ASGI middleware around the whole app: admits, refuses, logs and counts requests."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        rules: AccessRules,
        metrics: Metrics,
        clock: Callable[[], int],
    ) -> None:
        """Wrap an app: admit, limit, log and count its requests, as the class describes."""
        self._app = app
        self._limited = WholeBodies(app, rules.bodies, rules.shape)
        unknown_bytes = min(rules.bodies.usual, _UNKNOWN_BYTES)
        self._unknown = WholeBodies(app, BodySizes(unknown_bytes), rules.shape)
        self._authenticator, self._rules, self._metrics, self._clock = (
            authenticator,
            rules,
            metrics,
            clock,
        )
        self._buckets = Buckets(rules.rate, rules.counters)
        self._asking = CapacityLimiter(_ASKING)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on or refuse a request; log and count it either way."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_at, status_code, is_ended = time.perf_counter(), 500, False

        async def send_checked(message: Message) -> None:
            nonlocal status_code, is_ended
            if is_ended:
                return
            # The token of a long stream is checked again at each message: it may be revoked.
            if message.get("more_body") and time.perf_counter() - started_at > _TRUSTED_S:
                is_ended = ACCESS in scope and not await self._admits(HTTPConnection(scope))
                message = {"type": "http.response.body", "body": b""} if is_ended else message
            if message["type"] == "http.response.start":
                status_code = message["status"]
                header_names = {name.lower() for name, _ in message["headers"]}
                missing_headers = [header for header in _SAFE if header[0] not in header_names]
                message = {**message, "headers": [*message["headers"], *missing_headers]}
            await send(message)

        try:
            refusal = await self._refusal(scope)
            if refusal is not None:
                refusal = await reply(refusal, scope, receive)
            # GET of an MCP stream has no body: reading it would wait as long as the stream lasts.
            is_stream = scope["method"] == "GET" and scope["path"].startswith("/mcp")
            app_for_token = self._app if is_stream else self._limited
            app = app_for_token if ACCESS in scope else self._unknown
            await (refusal or app)(scope, receive, send_checked)
        except ClientDisconnect:
            status_code = _CLIENT_LEFT
        finally:
            request_seconds = time.perf_counter() - started_at
            token_id = scope[ACCESS].token_id if ACCESS in scope else None
            self._metrics.count(scope["path"], status_code, request_seconds)
            # Only the path, since the query may hold memory text; undecoded, since a decoded path
            # may hold a newline.
            log.info(
                "%s %s %s %.1f ms %s",
                scope["method"],
                scope["raw_path"][:_LOGGED].decode("ascii", "replace"),
                status_code,
                request_seconds * 1e3,
                token_id or "-",
            )

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        # A proxy may end such a body at another place than this server.
        if "transfer-encoding" in headers and (
            "content-length" in headers or scope["http_version"] == "1.0"
        ):
            message = (
                "The body's length is ambiguous: send Content-Length without Transfer-Encoding."
            )
            refusal = self._failure(BodyAmbiguous(message), scope)
            refusal.headers["Connection"] = "close"
            return refusal
        host = headers.get("host", "")
        if not self._is_ours(host):
            message = f"This server is not called {host[:100]!r}: name it in DAY1_HTTP__NAMES."
            return self._failure(HostUnknown(message), scope)
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            message = (
                f"The origin {origin[:100]!r} is not this server's: its pages may not call it."
            )
            if origin.partition("://")[2] == host:
                message += f" Requests reach this server by {scope['scheme']}: {_BEHIND_TLS}"
            return self._failure(OriginForbidden(message), scope)
        if self._rules.public(scope["path"]):
            return None
        try:
            access = await self._admit(HTTPConnection(scope))
            self._buckets.take(access.token_id or "")
        except Day1Error as exc:
            error = without_place(exc)
            if not self._rules.page(scope["path"]) or "authorization" in headers:
                return self._failure(error, scope)
            return self._rules.refused(error, Request(scope))
        except Exception as exc:  # noqa: BLE001 - whatever it is, the caller gets the one shape
            return fault(exc, self._rules.shape(scope["path"]))
        let_in(scope, access)
        return None

    def _failure(self, error: Day1Error, scope: Scope) -> Response:
        return failure(error, self._rules.shape(scope["path"]))

    def _is_ours(self, host: str) -> bool:
        host_name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return host_name.lower() in (*LOOPBACK, *map(str.lower, self._rules.names))

    async def _admits(self, request: HTTPConnection) -> bool:
        try:
            await self._admit(request)
        except Day1Error:
            return False
        return True

    async def _admit(self, request: HTTPConnection) -> Access:
        """Look the token up in a thread: a slow store delays only requests that need a token."""
        header = request.headers.get("authorization", "")
        if header:
            secret = header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""
            admit_caller = partial(self._authenticator.admit, secret, self._clock())
        else:
            cookie = self._rules.cookie(request)
            admit_caller = partial(self._authenticator.admit_browser, cookie, self._clock())
        return await to_thread.run_sync(admit_caller, limiter=self._asking)


_SAFE: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Headers of every response that does not set them itself."""
