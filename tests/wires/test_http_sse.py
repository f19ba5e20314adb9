"""MCP's older transport: a stream of events, and messages posted beside it; served if asked for."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client.sse import sse_client

from tests.wires.http_server import HttpServer, HttpSession


class SseSession(HttpSession):
    """The official client over the older transport."""

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            self._portal = entered.enter_context(start_blocking_portal())
            client = self._made(sse_client(self.url, headers=self._headers))
            self._client = entered.enter_context(self._portal.wrap_async_context_manager(client))
            self._leaving = entered.pop_all()
        self._introduce()
        return self


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("sse") / "store"
    with HttpServer(folder, "--sse", DAY1_HTTP__RATE="0") as served:
        yield served


@pytest.fixture(scope="module")
def admin(server: HttpServer) -> str:
    return server.token("root")


@pytest.mark.line("S1-006")
def test_the_core_tools_are_served_by_events(server: HttpServer, admin: str) -> None:
    token = server.token("events", "write", admin)
    with SseSession(server, path="/sse", mode="legacy", token=token) as agent:
        assert "memory_task_join" in agent.tools
        assert "memory_held" not in agent.tools
        agent.ok("memory_branch_create", branch_name="by/events")
        written = agent.ok("memory_write_fact", fact_text="Told by events.", branch="by/events")
        found = agent.found("memory_search", query="events", branch="by/events")
        assert [hit["id"] for hit in found] == [written["id"]]


def test_another_token_cannot_post_into_a_stream(server: HttpServer, admin: str) -> None:
    hers, his = server.token("hers", "write", admin), server.token("his", "write", admin)
    bearer = {"Authorization": f"Bearer {hers}"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with httpx2.stream("GET", f"{server.address}/sse", headers=bearer, timeout=30) as events:
        lines = events.iter_lines()
        where = next(line for line in lines if line.startswith("data: ")).removeprefix("data: ")
        assert server.ask("POST", where, None, json=ping).status == 401
        assert server.ask("POST", where, his, json=ping).status == 404
        assert server.ask("POST", where, hers, json=ping).status == 202


def test_the_older_transport_is_not_served_unless_asked_for(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as plain:
        assert plain.ask("GET", "/sse").status == 404
        assert plain.ask("POST", "/sse/messages/").status == 404
