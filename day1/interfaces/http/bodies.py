"""Read a request's body before handling the request; refuse bodies too long or too slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from day1.call.toolset import ErrorShape
from day1.errors import BodyTooLong, BodyTooSlow
from day1.interfaces.http.failures import failure
from day1.interfaces.http.replies import reply_unread

_SLOWEST_S: Final = 60.0
"""Longest time for a whole body, in seconds: a slow client must not hold its connection."""


class WholeBodies:
    """ASGI middleware that hands the app each body in one piece."""

    def __init__(self, app: ASGIApp, max_bytes: int, shape: Callable[[str], ErrorShape]) -> None:
        """Wrap an app and limit bodies to `max_bytes` bytes.

        `shape` returns the error shape of a path.
        """
        self._app, self._most, self._shape = app, max_bytes, shape

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and call the app, or refuse the request.

        Raises:
            ClientDisconnect: the client left before the body was complete.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body: bytes | Response
        try:
            with anyio.fail_after(_SLOWEST_S):
                body = await self._read(scope, receive)
        except TimeoutError:
            message = (
                f"The body did not arrive within {_SLOWEST_S:.0f} seconds: send it again, faster."
            )
            body = failure(BodyTooSlow(message), self._shape(scope["path"]))
        if isinstance(body, Response):
            await reply_unread(body, scope)(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def next_message() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, next_message, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Response:
        declared_length = Headers(scope=scope).get("content-length", "")
        if declared_length.isdecimal() and int(declared_length) > self._most:
            return self._too_long(scope)
        body, has_more = bytearray(), True
        while has_more:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            body += message.get("body", b"")
            if len(body) > self._most:
                return self._too_long(scope)
            has_more = message.get("more_body", False)
        return bytes(body)

    def _too_long(self, scope: Scope) -> Response:
        message = f"The body is longer than {self._most} bytes (DAY1_HTTP__BODY_BYTES): send less."
        return failure(BodyTooLong(message), self._shape(scope["path"]))
