"""Bytes that no client should send: each is refused or dropped, and the server goes on."""

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from day1.call.toolset import ErrorShape
from day1.interfaces.http import bodies
from tests.waiting import until
from tests.wires.http_server import HttpServer

WAIT_S = 30
POST = b"POST /api/v1/memory_timeline HTTP/1.1\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CROWD = 1_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("hostile") / "store", DAY1_HTTP__RATE="0") as served:
        yield served


@pytest.fixture(autouse=True)
def alive(server: HttpServer) -> Iterator[None]:
    """After every test it answers, and nothing went wrong inside it."""
    yield
    assert server.ask("GET", "/health").body["status"] == "ok"
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert "ERROR" not in log


def connected(server: HttpServer) -> socket.socket:
    host, _, port = server.address.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), WAIT_S)


def sent(
    server: HttpServer, line: bytes, headers: bytes = b"", body: bytes = b"", *, leaves: bool = True
) -> bytes:
    """What comes back until the server closes the connection; who `leaves` says no more."""
    host = server.address.removeprefix("http://").encode()
    with connected(server) as connection:
        with suppress(OSError):  # it may have heard enough
            connection.sendall(line + b"Host: " + host + b"\r\n" + headers + b"\r\n" + body)
            if leaves:
                connection.shutdown(socket.SHUT_WR)
        return answered(connection)


def answered(connection: socket.socket) -> bytes:
    whole = b""
    while True:
        try:
            part = connection.recv(65_536)
        except ConnectionResetError:  # it closed with some of ours unread
            part = b""
        if not part:
            return whole
        whole += part


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (CHUNKED, b"ZZ\r\n"),
        (CHUNKED, b"F" * 30 + b"\r\n"),
        (CHUNKED, b"-1\r\n\r\n"),
        (b"Content-Length: -2\r\n", b"{}"),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n", b"{}"),
        (b"Content-Length: 99999999999999999999999999\r\n", b"{}"),
        (b"No colon\r\n", b""),
        (b"Host: twice\r\n", b""),
    ],
)
def test_a_broken_request_is_refused(server: HttpServer, headers: bytes, body: bytes) -> None:
    assert sent(server, POST, headers, body)[:12] == b"HTTP/1.1 400"


def test_headers_without_end_are_not_read_to_it(server: HttpServer) -> None:
    started = time.monotonic()
    assert sent(server, POST, b"X: a\r\n" * 2_000_000)[:12] in {b"", b"HTTP/1.1 400"}
    assert time.monotonic() - started < WAIT_S / 2


@pytest.mark.parametrize("body", [b"", b"5\r\nab", b"5\r\n{}  \n\r\n"])
def test_a_body_that_ends_early_is_nobodys_fault(server: HttpServer, body: bytes) -> None:
    assert sent(server, POST, CHUNKED, body)[:12] in {b"", b"HTTP/1.1 400"}
    assert sent(server, POST, b"Content-Length: 10\r\n", body[:9])[:12] in {b"", b"HTTP/1.1 400"}


@pytest.mark.parametrize("start", [bytes(range(256)) * 10, b"\x16\x03\x01\x02" + b"\0" * 300])
def test_bytes_that_are_no_http_are_refused(server: HttpServer, start: bytes) -> None:
    with connected(server) as connection:
        connection.sendall(start + b"\r\n\r\n")
        assert answered(connection)[:12] == b"HTTP/1.1 400"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"OPTIONS *", b"404"),
        (b"GET health", b"404"),
        (b"GET /%00", b"404"),
        (b"GET /%ff%fe", b"404"),
        (b"GET /" + b"a" * 60_000, b"404"),
        (b"TRACE /health", b"405"),
        (b"FLY /api/v1/memory_search", b"405"),
        (b"CONNECT elsewhere:80", b"404"),
    ],
)
def test_odd_methods_and_paths_are_answered(server: HttpServer, line: bytes, status: bytes) -> None:
    answer = sent(server, line + b" HTTP/1.1\r\n", b"Connection: close\r\n", leaves=False)
    assert answer.split(b" ")[1] == status
    assert b'"message":' in answer


@pytest.mark.parametrize(
    ("port", "status"), [("", b"421"), ("\xb2", b"421"), ("x", b"421"), ("99999999", b"200")]
)
def test_a_port_of_the_host_is_a_number(server: HttpServer, port: str, status: bytes) -> None:
    with connected(server) as connection:
        host = f"localhost:{port}".encode("latin-1")
        connection.sendall(b"GET /review HTTP/1.0\r\nHost: " + host + b"\r\n\r\n")
        assert answered(connection).split(b" ")[1] == status


@pytest.mark.parametrize("origin", ["http://[::1", "null", "", "http://", "\xe9://\xe9"])
def test_an_odd_origin_is_another_site(server: HttpServer, origin: str) -> None:
    headers = b"Origin: " + origin.encode("latin-1") + b"\r\nConnection: close\r\n"
    answer = sent(server, b"GET /health HTTP/1.1\r\n", headers)
    assert answer.split(b" ")[1] == b"403"


def test_no_path_ends_a_line_of_the_log(server: HttpServer) -> None:
    assert server.ask("GET", "/x%0aforged%0d%0aline").status == 404
    line = "/x%0aforged%0d%0aline 404"
    until(lambda: line in server.log.read_text(encoding="utf-8"), "the request's line", WAIT_S)
    log = server.log.read_text(encoding="utf-8")
    assert not [line for line in log.splitlines() if line.startswith(("forged", "line"))]


@pytest.mark.parametrize("headers", [b"Content-Length: 5000000\r\n", CHUNKED])
def test_a_body_that_is_too_long_is_refused_in_the_one_shape(
    server: HttpServer, headers: bytes
) -> None:
    body = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    answer = sent(server, POST, headers, body * 5)
    assert answer[:12] == b"HTTP/1.1 413"
    assert b'{"error":{"code":"body_too_long","message":' in answer


def test_a_body_that_comes_too_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_SLOWEST_S", 0.05)
    told: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def tell(message: Any) -> None:
        told.append(message)

    app = bodies.WholeBodies(
        PlainTextResponse("reached"), bodies.BodySizes(100), lambda _: ErrorShape()
    )
    request = {"type": "http", "headers": [], "method": "POST", "path": "/"}
    asyncio.run(app(request, never, tell))
    assert told[0]["status"] == 408
    assert b"body_too_slow" in told[1]["body"]


@pytest.mark.parametrize(
    "headers", [b"Content-Length: 5\r\n" + CHUNKED, CHUNKED + b"Content-Length: 44\r\n"]
)
@pytest.mark.parametrize("path", [b"/api/v1/memory_timeline", b"/mcp", b"/health", b"/nothing"])
def test_a_body_of_two_lengths_is_refused_and_nothing_behind_it_is_read(
    server: HttpServer, headers: bytes, path: bytes
) -> None:
    """Else a proxy that goes by the other length passes on a request that nobody made."""
    smuggled = b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = sent(server, b"POST " + path + b" HTTP/1.1\r\n", headers, smuggled, leaves=False)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer[:12] == b"HTTP/1.1 400"
    assert b"body_ambiguous" in answer


def test_a_chunked_body_is_not_of_the_first_http(server: HttpServer) -> None:
    answer = sent(server, b"POST /health HTTP/1.0\r\n", CHUNKED, b"0\r\n\r\n", leaves=False)
    assert answer.split(b" ")[1] == b"400"


def test_slow_and_half_closed_clients_keep_nobody_waiting(server: HttpServer) -> None:
    slow = [connected(server) for _ in range(100)]
    for number, connection in enumerate(slow):
        host = server.address.removeprefix("http://").encode()
        connection.sendall(POST + b"Host: " + host + b"\r\nContent-Length: 9\r\n")
        if number % 2:
            connection.sendall(b"\r\n{")
        if number % 3 == 0:
            connection.shutdown(socket.SHUT_WR)
    started = time.monotonic()
    written = server.ok("memory_write_fact", fact_text="Written among the slow.")
    assert written["written"]["branch"] == "main"
    assert time.monotonic() - started < WAIT_S / 2
    for connection in slow:
        connection.close()


def test_two_hundred_slow_clients_keep_nobody_waiting_and_are_let_go(server: HttpServer) -> None:
    """uvicorn waited for ever for a request's head: silent clients used up all connections."""
    host = server.address.removeprefix("http://").encode()
    endless = POST + b"Host: " + host + b"\r\n" + CHUNKED + b"\r\n1\r\n \r\n"
    silent, headers, endlessly = ([connected(server) for _ in range(n)] for n in (60, 80, 60))
    for connection in headers:
        connection.sendall(POST + b"Host: " + host + b"\r\nX-Slow: ")
    for connection in endlessly:
        connection.sendall(endless)
    written = server.ok("memory_write_fact", fact_text="Written among two hundred.")
    assert written["written"]["branch"] == "main"
    waiting, deadline = [*silent, *headers], time.monotonic() + 4 * WAIT_S
    while waiting and time.monotonic() < deadline:
        for connection in headers:
            with suppress(OSError):  # the server has closed it
                connection.sendall(b"x")
        assert server.post("memory_timeline").status == 200
        time.sleep(1)  # a byte a second is what is tried here
        waiting = [connection for connection in waiting if not is_closed(connection)]
    assert not waiting, "silent clients, or those that send a byte a second"
    for connection in (*silent, *headers, *endlessly):
        connection.close()


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection on which it answered nothing."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_a_thousand_dropped_connections_leave_nothing_behind(server: HttpServer) -> None:
    before = open_files(server)
    for number in range(CROWD):
        connection = connected(server)
        if number % 2:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.")
        if number % 3 == 0:  # dropped, not closed
            now = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
        connection.close()
    until(
        lambda: open_files(server) <= before + 5, "the server lets go of what was dropped", WAIT_S
    )


def open_files(server: HttpServer) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
