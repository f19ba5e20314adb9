"""Two apps that pass sessions on to each other, as two workers of a server do."""

import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
import uvicorn

from day1.interfaces.http.app import Served, build_app
from day1.interfaces.http.relay import Peers
from day1.interfaces.http.serving import config_of
from day1.interfaces.open_store import OpenStore
from day1.services.access.authentication import Authenticator, Wanted, create_token
from tests.flows.opened_store import opened
from tests.waiting import until

ACCEPTED = {"Accept": "application/json, text/event-stream"}
BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    with opened(tmp_path_factory.mktemp("relay") / "store", create=True) as store:
        yield store


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of sockets, whose names have a short limit."""
    with tempfile.TemporaryDirectory(prefix="day1-") as folder:
        yield Path(folder)


@contextmanager
def worker(store: OpenStore, folder: Path, number: int) -> Iterator[httpx2.Client]:
    """Serve as one of several workers, from a thread."""
    peers = Peers(folder, number)
    authenticator = Authenticator(store.repo, closed=False)
    app = build_app(Served(store, authenticator, lambda: None, peers=peers))
    config = config_of(app, store.settings.http)
    config.port = 0
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started and (folder / f"{number}.sock").exists(), "the worker")
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, verify=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def begin(http: httpx2.Client, **headers: str) -> dict[str, str]:
    """Begin a session; answers the headers of its requests."""
    answer = http.post("/mcp", json=BEGIN, headers={**ACCEPTED, **headers})
    assert answer.status_code == 200, answer.text
    return {**ACCEPTED, **headers, "Mcp-Session-Id": answer.headers["mcp-session-id"]}


def test_only_the_token_of_a_session_may_use_it_wherever_it_asks(
    store: OpenStore, folder: Path
) -> None:
    now = store.clock()
    hers, his = (
        create_token(store.repo, Wanted(name, "write"), now)[1] for name in ("hers", "his")
    )
    with worker(store, folder, 0) as one, worker(store, folder, 1) as other:
        session = begin(one, Authorization=f"Bearer {hers}")
        assert other.post("/mcp", json=PING, headers=session).status_code == 200
        stolen = {**session, "Authorization": f"Bearer {his}"}
        assert one.post("/mcp", json=PING, headers=stolen).status_code == 404
        assert other.post("/mcp", json=PING, headers=stolen).status_code == 404
        nobody = {**session, "Authorization": ""}
        assert other.post("/mcp", json=PING, headers=nobody).status_code == 401
        assert other.post("/mcp", json=PING, headers=session).status_code == 200


def test_an_unknown_session_gets_the_answer_of_one_process(store: OpenStore, folder: Path) -> None:
    """A socket that nobody listens at is one of a killed worker."""
    token = create_token(store.repo, Wanted("unknown", "write"), store.clock())[1]
    headers = {**ACCEPTED, "Authorization": f"Bearer {token}", "Mcp-Session-Id": "0" * 32}
    with worker(store, folder, 0) as one:
        alone = one.post("/mcp", json=PING, headers=headers)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(folder / "7.sock"))
        with worker(store, folder, 1) as other:
            answer = other.post("/mcp", json=PING, headers=headers)
            assert (answer.status_code, answer.json()) == (404, alone.json())


def test_a_worker_that_ends_before_its_answer_leaves_the_call_in_doubt(
    store: OpenStore, folder: Path
) -> None:
    """The call may have been carried out, so the client is not told that it was not."""
    token = create_token(store.repo, Wanted("doubt", "write"), store.clock())[1]
    headers = {**ACCEPTED, "Authorization": f"Bearer {token}", "Mcp-Session-Id": "1" * 32}
    received: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as ending, worker(store, folder, 1) as other:
        ending.bind(str(folder / "0.sock"))
        ending.listen()

        def end_after_reading() -> None:
            connection, _ = ending.accept()
            received.append(connection.recv(100_000))
            connection.close()

        thread = Thread(target=end_after_reading)
        thread.start()
        answer = other.post("/mcp", json=PING, headers=headers)
        thread.join(60)
    assert answer.status_code == 503
    assert answer.json()["error"]["data"]["code"] == "store_unavailable"
    assert "request_id" in answer.json()["error"]["message"]
    assert token.encode() in received[0], "the request was passed on whole"
    assert json.dumps(PING).replace(" ", "").encode() in received[0].replace(b" ", b"")


def test_a_long_answer_comes_back_whole(store: OpenStore, folder: Path) -> None:
    token = create_token(store.repo, Wanted("long", "write"), store.clock())[1]
    with worker(store, folder, 0) as one, worker(store, folder, 1) as other:
        session = begin(one, Authorization=f"Bearer {token}")
        text = "Ein langer Text über Käse. " * 1_000
        write: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": {"name": "memory_write_fact", "arguments": {"fact_text": text}},
        }
        assert other.post("/mcp", json=write, headers=session).status_code == 200
        read = {
            **write,
            "params": {"name": "memory_timeline", "arguments": {}},
        }
        answers = [http.post("/mcp", json=read, headers=session).text for http in (one, other)]
        assert answers[0] == answers[1]
        assert "Käse" in answers[0]
