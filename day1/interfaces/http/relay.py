"""Passes a request on to the worker of this server that has its MCP session.

A session of MCP's 2025 protocol, or of its older transport, lives in the worker that took its first
request, but any worker may accept the next one. A worker that does not know the session passes the
admitted request to the other workers, by sockets in a folder that is this user's alone, and sends
the answer back as it comes. If no worker knows the session, the client gets 404, and MCP has it
begin a new session.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from cachetools import LRUCache
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from day1.errors import StoreUnavailable
from day1.interfaces.http.callers import ACCESS, SESSION, let_in
from day1.interfaces.http.failures import failure
from day1.interfaces.http.replies import reply_unread
from day1.interfaces.mcp.http import MESSAGES
from day1.model.access.permissions import Access

log = logging.getLogger(__name__)

_LENGTHS: Final = struct.Struct("!II")
"""The head of each frame: the lengths of its description and of its body, in bytes."""
_SESSIONS: Final = 10_000
"""Maximum number of sessions of other workers whose worker is remembered."""
_SCOPE: Final = ("type", "http_version", "method", "scheme", "path", "root_path", "client")
"""The keys of a request's scope that are passed on as they are."""
_GONE: Final = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError)
"""What reading and writing raise when the other side has ended."""


class Peers:
    """The workers of a server, which take requests from one another at a socket each."""

    def __init__(self, folder: Path, worker: int) -> None:
        """Set the folder of the sockets, and this worker's number among the living ones."""
        self._folder, self._own = folder, folder / f"{worker}.sock"
        self.app: ASGIApp | None = None
        """The app that answers the requests that other workers pass on."""

    def others(self) -> list[Path]:
        """List the sockets of the other workers; some may be left of killed ones."""
        return sorted(path for path in self._folder.glob("*.sock") if path != self._own)

    async def run(self) -> None:
        """Answer the requests that other workers pass on, until cancelled."""
        self._own.unlink(missing_ok=True)  # of a killed worker that had this number
        async with await anyio.create_unix_listener(self._own) as listener:
            await listener.serve(self._serve)

    async def _serve(self, stream: ByteStream) -> None:
        async with stream:
            try:
                await self._answer(stream)
            except _GONE:
                pass  # the client or its worker left
            except Exception:
                log.exception("a request that another worker passed on failed")

    async def _answer(self, stream: ByteStream) -> None:
        reading = BufferedByteReceiveStream(stream)
        description, body = await _read(reading)
        requests: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if requests:
                return requests.pop()
            with suppress(*_GONE):  # the stream ends when the client leaves
                await reading.receive(1)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            with suppress(*_GONE):  # `receive` reports it
                await _write(stream, message)

        if self.app is not None:
            await self.app(_scope_of(description), receive, send)


class SessionRelay:
    """ASGI middleware that lets the worker of a request's session answer it."""

    def __init__(self, app: ASGIApp, peers: Peers) -> None:
        """Ask `app`, then the peers; `app` also answers what they pass on."""
        self._app, self._peers = app, peers
        self._peer_by_session: LRUCache[str, Path] = LRUCache(_SESSIONS)
        peers.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request here, or pass it on."""
        session = _session_of(scope)
        if session is None:
            await self._app(scope, receive, send)
            return
        # A stream that GET opens has no body. Each other body comes in one piece (`WholeBodies`).
        body = None if scope["method"] == "GET" else (await receive()).get("body", b"")
        call = _Call(scope, body, receive, send)
        peer = self._peer_by_session.pop(session, None)
        if peer is not None and await call.at(peer):
            self._peer_by_session[session] = peer
            return
        refusal = await call.here(self._app)
        if not refusal:
            return
        for other in self._peers.others():
            if await call.at(other):
                self._peer_by_session[session] = other
                return
        for message in refusal:
            await send(message)


@dataclass(frozen=True, slots=True)
class _Call:
    """A request of a session, which one worker after the other may be asked to answer."""

    scope: Scope
    body: bytes | None
    """The whole body; None if the request opens a stream."""
    receive: Receive
    """The function that waits until the client leaves, since the body is read."""
    send: Send

    async def here(self, app: ASGIApp) -> list[Message]:
        """Let this worker answer; return its answer unsent if the session is unknown here."""
        refusal: list[Message] = []
        requests: list[Message] = []
        if self.body is not None:
            requests = [{"type": "http.request", "body": self.body, "more_body": False}]

        async def receive() -> Message:
            return requests.pop() if requests else await self.receive()

        async def send(message: Message) -> None:
            if refusal or message.get("status") == HTTPStatus.NOT_FOUND:
                refusal.append(message)
            else:
                await self.send(message)

        await app(dict(self.scope), receive, send)  # a copy, since routing changes it
        return refusal

    async def at(self, peer: Path) -> bool:
        """Let another worker answer; return whether it lives and knows the session."""
        try:
            stream = await anyio.connect_unix(peer)
        except OSError:
            return False
        is_answered = True  # if the client leaves
        async with stream, anyio.create_task_group() as tasks:

            async def leave() -> None:
                while (await self.receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(leave)
            with suppress(*_GONE):  # reading the answer reports it
                await _write(stream, {**_description_of(self.scope), "body": self.body or b""})
            is_answered = await self._send_back(stream)
            tasks.cancel_scope.cancel()
        return is_answered

    async def _send_back(self, stream: ByteStream) -> bool:
        reading, has_begun, has_more = BufferedByteReceiveStream(stream), False, True
        while has_more:
            try:
                message, body = await _read(reading)
            except _GONE:  # the worker was killed; the server breaks off an answer that has begun
                if not has_begun:
                    refusal = reply_unread(failure(_ended()), self.scope)
                    await refusal(self.scope, self.receive, self.send)
                return True
            if message["type"] == "http.response.start":
                if message["status"] == HTTPStatus.NOT_FOUND:
                    return False
                has_begun = True
                await self.send({**message, "headers": _raw(message["headers"])})
            else:
                has_more = message.get("more_body", False)
                await self.send({**message, "body": body})
        return True


def _ended() -> StoreUnavailable:
    return StoreUnavailable(
        "The worker that had this session ended before it answered, so the call may have been "
        "carried out. Begin a new session, and make the call again with the same request_id."
    )


def _session_of(scope: Scope) -> str | None:
    """Return the id of a request's MCP session; None for a request without a session."""
    if scope["type"] != "http":
        return None
    if scope["path"] == MESSAGES:
        session_ids = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [])
        return session_ids[0] if session_ids else None
    return Headers(scope=scope).get(SESSION) if scope["path"].startswith("/mcp") else None


def _description_of(scope: Scope) -> dict[str, Any]:
    """Describe an admitted request for another worker."""
    access: Access = scope[ACCESS]
    return {
        **{key: scope.get(key) for key in _SCOPE},
        "query_string": scope["query_string"].decode("latin-1"),
        "headers": _plain(scope["headers"]),
        "access": {name: getattr(access, name) for name in _ACCESS},
    }


_ACCESS: Final = ("token_id", "scope", "branches", "agent_id")


def _scope_of(description: dict[str, Any]) -> Scope:
    """Make the scope of a request that another worker admitted and described."""
    access = description.pop("access")
    scope: Scope = {
        **description,
        "asgi": {"version": "3.0"},
        "raw_path": description["path"].encode(),
        "query_string": description["query_string"].encode("latin-1"),
        "headers": _raw(description["headers"]),
    }
    let_in(scope, Access(**{**access, "branches": tuple(access["branches"])}))
    return scope


def _plain(headers: Any) -> list[list[str]]:
    return [[part.decode("latin-1") for part in header] for header in headers]


def _raw(headers: Any) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _write(stream: ByteStream, message: Mapping[str, Any]) -> None:
    """Send a request or a message of an answer as one frame."""
    description = {key: value for key, value in message.items() if key != "body"}
    if message["type"] == "http.response.start":
        description["headers"] = _plain(message.get("headers", ()))
    text, body = json.dumps(description).encode(), bytes(message.get("body", b""))
    await stream.send(_LENGTHS.pack(len(text), len(body)) + text + body)


async def _read(reading: BufferedByteReceiveStream) -> tuple[dict[str, Any], bytes]:
    """Receive a frame: its description, and its body."""
    text_length, body_length = _LENGTHS.unpack(await reading.receive_exactly(_LENGTHS.size))
    description: dict[str, Any] = json.loads(await reading.receive_exactly(text_length))
    return description, await reading.receive_exactly(body_length) if body_length else b""
