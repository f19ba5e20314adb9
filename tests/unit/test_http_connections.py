"""Connections to a server that ends."""

import asyncio
import socket
from typing import Any

import pytest
from uvicorn.server import ServerState

from day1.interfaces.http import serving
from day1.settings import HttpSettings

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"answer"})


async def talk(*, before: bytes = b"", after: bytes = b"") -> bytes:
    """Send bytes before and after the server begins to end; return all that it answers."""
    config = serving.config_of(app, HttpSettings())
    config.load()
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    _, protocol = await loop.connect_accepted_socket(
        lambda: serving.Protocol(config, ServerState(), {serving.LEAVING: []}), theirs
    )
    reader, writer = await asyncio.open_connection(sock=ours)
    answer = b""
    if before:
        writer.write(before)
        answer += await reader.readuntil(b"answer\r\n0\r\n\r\n")
    protocol.shutdown()
    writer.write(after)
    answer += await reader.read()
    writer.close()
    return answer


def test_a_first_request_is_answered_though_the_server_ends():
    answer = asyncio.run(talk(after=REQUEST))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.count(b"answer") == 1


def test_a_connection_without_a_request_is_soon_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serving, "_FIRST_S", 0.01)
    assert asyncio.run(talk()) == b""


def test_a_connection_that_was_answered_is_closed_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serving, "_FIRST_S", 3600)
    assert asyncio.run(talk(before=REQUEST)).count(b"HTTP/1.1 200 OK") == 1
