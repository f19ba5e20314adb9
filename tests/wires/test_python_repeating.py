"""Calls that are not recognized when they are made again are sent to a server once."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import day1
from day1 import errors
from day1.call.fields import Unrecognized
from day1.interfaces.mcp.schemas import documented_schema
from day1.toolsets.finding import tool_of

NAMES = ("memory_branch_delete", "memory_restore", "review_close")


@contextmanager
def hanging_up() -> Iterator[tuple[str, list[bytes]]]:
    """Serve an address that answers the first request only; yield it and the later bodies."""
    bodies: list[bytes] = []
    calls = iter(range(10))

    class HangingUp(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if next(calls) > 0:
                bodies.append(body)
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            read = {"branch": "main", "commit": "c"}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"result": [], "read": read}).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), HangingUp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("arguments", [{}, {"request_id": "mine"}], ids=["plain", "with an id"])
@pytest.mark.parametrize(
    "call",
    [
        lambda memory, arguments: memory.branch("trial").drop(force=True, **arguments),
        lambda memory, arguments: memory.restore("s", confirm="main", **arguments),
        lambda memory, arguments: memory.call("review_close", review_id="r", **arguments),
    ],
    ids=NAMES,
)
def test_a_call_that_would_act_again_is_sent_once(
    call: Callable[[day1.Memory, dict[str, str]], object], arguments: dict[str, str]
) -> None:
    with hanging_up() as (address, bodies), day1.connect(address) as memory:
        with pytest.raises(errors.StoreUnavailable, match="see whether it did") as broken:
            call(memory, arguments)
        assert len(bodies) == 1
        assert broken.value.details["request_id"] is None


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_say_that_a_request_id_is_without_effect(name: str) -> None:
    operation = tool_of(name).operation
    assert issubclass(operation.request, Unrecognized)
    schema = documented_schema(operation)["properties"]
    assert operation.idempotent or "without effect" in schema["request_id"]["description"]
