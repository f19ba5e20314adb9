"""What belongs to a token: the HEADs of its sessions, its streams, and no more than it may see."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple
from unittest.mock import AsyncMock, Mock

import anyio
import pytest
from starlette.requests import HTTPConnection

from day1.interfaces.http.callers import ACCESS, Callers
from day1.interfaces.web.events import Events
from day1.model.access.permissions import EVERYTHING
from day1.services.upkeep.poller import Moved
from tests.engine import needs_files
from tests.forkserver import python
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import environment
from tests.wires.scriptless_browser import Browser


class Guarded(NamedTuple):
    server: HttpServer
    admin: str
    limited: str
    """May do anything on branches `mine/*`."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("tokens") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:
        admin = server.token("root")
        limited = server.token("limited", "admin", admin, branches=["mine/*"])
        server.ok("memory_branch_create", admin, branch_name="mine/work")
        yield Guarded(server, admin, limited)


def test_a_head_is_moved_by_the_token_of_its_session_only(guarded: Guarded) -> None:
    server, said = guarded.server, {"Mcp-Session-Id": "the same"}
    other = server.token("thief", "write", guarded.admin)
    path = "/api/v1/memory_branch_switch"
    for token, branch in ((guarded.admin, "mine/work"), (other, "main")):
        there = {"branch_name": branch}
        assert server.ask("POST", path, token, headers=said, json=there).status == 200
    found = server.ask("POST", "/api/v1/memory_timeline", guarded.admin, headers=said, json={})
    assert found.body["read"]["branch"] == "mine/work"


def test_calls_of_a_session_at_once_share_its_head() -> None:
    """A call that began a HEAD of its own would forget where another one of the session went."""
    together = Barrier(4)
    store = Mock()
    store.settings.space = None
    store.repo.ledger.branch.side_effect = lambda _: together.wait(20)
    store.context.side_effect = lambda caller: caller
    callers: Any = Callers(store, Mock())
    headers = [(b"mcp-session-id", b"one")]
    request = HTTPConnection({"type": "http", "headers": headers, ACCESS: EVERYTHING})
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: callers.context(request), range(4)))
    assert len({id(caller.head) for caller in made}) == 1


def test_a_session_starts_on_the_one_branch_of_its_token(guarded: Guarded) -> None:
    token = guarded.server.token("at home", "read", guarded.admin, branches=["mine/work"])
    with HttpSession(guarded.server, token=token, mode="legacy") as session:
        assert session.ok("memory_timeline")["read"]["branch"] == "mine/work"


def test_a_stream_ends_with_its_token(guarded: Guarded) -> None:
    server = guarded.server
    token = server.token("of a stream", "read", guarded.admin)
    bearer = {"Authorization": f"Bearer {token}"}
    with server.http.stream("GET", "/review/events", headers=bearer) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry")
        time.sleep(1.1)  # as long as one call is trusted to the end
        server.ok("token_revoke", guarded.admin, name="of a stream")
        server.ok("memory_write_fact", guarded.admin, fact_text="Untold.", branch="main")
        assert not any(line.startswith("data") for line in lines)


def test_a_token_that_is_bound_makes_none_that_is_free(guarded: Guarded) -> None:
    bound = guarded.server.token("bound", "admin", guarded.admin, agent_id="ada")
    assert guarded.server.post("token_create", bound, name="free").code == "forbidden"


def test_numbers_of_the_whole_memory_are_not_for_a_limited_token(guarded: Guarded) -> None:
    assert guarded.server.ask("GET", "/metrics", guarded.limited).code == "forbidden"
    assert guarded.server.ask("GET", "/metrics", guarded.admin).status == 200


def test_news_while_the_server_leaves_break_nothing() -> None:
    feed: Any = Mock(subscribe=AsyncMock(return_value=Mock()))

    async def leave() -> None:
        events = Events(feed, lambda _: EVERYTHING)
        stream = await events.stream(Mock())
        told = aiter(stream.body_iterator)
        await anext(told)
        events.close()
        (take,) = feed.subscribe.call_args.args
        take(Moved("main", None))
        assert [line async for line in told] == []

    anyio.run(leave)


def test_the_name_of_a_client_or_its_session_tells_it_from_others() -> None:
    store = Mock()
    store.settings.space = None
    store.context.side_effect = lambda caller: caller
    callers: Any = Callers(store, Mock())
    for headers, meta, client in (
        ([], None, None),
        ([(b"day1-client", b"laptop")], None, "laptop"),
        ([(b"day1-client", b"laptop")], {"day1/client": "desktop"}, "desktop"),
        ([(b"mcp-session-id", b"one")], None, "one"),
        ([(b"mcp-session-id", b"one"), (b"day1-client", b"laptop")], None, "laptop"),
    ):
        request = HTTPConnection({"type": "http", "headers": headers, ACCESS: EVERYTHING})
        assert callers.context(request, meta).client == client


def test_a_server_whose_ledger_was_lost_says_on_every_path_what_to_do(tmp_path: Path) -> None:
    needs_files()
    folder = tmp_path / "store"
    with HttpServer(folder) as server:
        server.token("root")
    for file in folder.glob("ledger.db*"):
        file.unlink()
    with HttpServer(folder) as server:
        called = ("/api/v1/memory_timeline", "/mcp", "/mcp/all")
        for path in (*called, "/metrics", "/api/v1/openapi.json", "/nothing"):
            for token in (None, "day1_guessed"):
                method = "POST" if path in called else "GET"
                answer = server.ask(method, path, token, json={} if method == "POST" else None)
                assert (answer.status, answer.code) == (401, "token_required"), path
                assert "day1 token create" in str(answer.body), path
        for path in ("/api/kompanion/v1/memory:search", "/api/engram/v1/status"):
            answer = server.ask("POST", path, json={})
            assert answer.status == 401
            assert "day1 token create" in str(answer.body), path
        browser = Browser(server)
        refused = browser.send(browser.get("/review").form("/review/login"), 401, token="day1_x")
        assert "day1 token create" in refused.text
        assert server.ask("GET", "/ready").status == 200
        made = subprocess.run(
            [*python(), "-m", "day1", "token", "create", "root", "--scope", "admin", "--json"],
            env={**os.environ, **environment(folder)},
            cwd=folder.parent,
            capture_output=True,
            check=True,
        )
        secret = json.loads(made.stdout)["secret"]
        assert server.post("memory_timeline", secret).status == 200
