"""Read a request's body before handling the request; refuse bodies too long or too slow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import anyio
from anyio import CapacityLimiter
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


_LONG_AT_ONCE: Final = 4
"""Number of bodies beyond the usual limit that are read and handled at once: others wait, so that
the memory they take is bounded."""


@dataclass(frozen=True, slots=True)
class BodySizes:
    """The maximum numbers of bytes of bodies: the usual one, and that of paths with long values."""

    usual: int
    long: int = 0
    long_paths: frozenset[str] = frozenset()

    def most(self, path: str) -> int:
        """Return the maximum number of bytes of a body that is sent to a path."""
        return max(self.usual, self.long) if path in self.long_paths else self.usual


class WholeBodies:
    """ASGI middleware that hands the app each body in one piece."""

    def __init__(self, app: ASGIApp, sizes: BodySizes, shape: Callable[[str], ErrorShape]) -> None:
        """Wrap an app and limit the bodies of its requests.

        `shape` returns the error shape of a path.
        """
        self._app, self._sizes, self._shape = app, sizes, shape
        self._long = CapacityLimiter(_LONG_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and call the app, or refuse the request.

        Raises:
            ClientDisconnect: the client left before the body was complete.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body: bytes | Response
        async with AsyncExitStack() as place:
            try:
                with anyio.fail_after(_SLOWEST_S):
                    body = await self._read(scope, receive, place)
            except TimeoutError:
                message = (
                    f"The body did not arrive within {_SLOWEST_S:.0f} seconds: send it again, "
                    "faster."
                )
                body = failure(BodyTooSlow(message), self._shape(scope["path"]))
            if isinstance(body, Response):
                await reply_unread(body, scope)(scope, receive, send)
                return
            messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

            async def next_message() -> Message:
                return messages.pop() if messages else await receive()

            await self._app(scope, next_message, send)

    async def _read(
        self, scope: Scope, receive: Receive, place: AsyncExitStack
    ) -> bytes | Response:
        """Read a body; one beyond the usual limit takes a place among the long ones first."""
        most, is_long = self._sizes.most(scope["path"]), False
        declared_length = Headers(scope=scope).get("content-length", "")
        if declared_length.isdecimal() and int(declared_length) > most:
            return self._too_long(scope, most)
        body, has_more = bytearray(), True
        while has_more:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            body += message.get("body", b"")
            if len(body) > most:
                return self._too_long(scope, most)
            if len(body) > self._sizes.usual and not is_long:
                await place.enter_async_context(self._long)
                is_long = True
            has_more = message.get("more_body", False)
        return bytes(body)

    def _too_long(self, scope: Scope, most: int) -> Response:
        setting = "BODY_BYTES" if most == self._sizes.usual else "VALUE_BODY_BYTES"
        message = f"The body is longer than {most} bytes (DAY1_HTTP__{setting}): send less."
        return failure(BodyTooLong(message), self._shape(scope["path"]))
