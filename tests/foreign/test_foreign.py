"""Clients that others wrote: each writes, branches, merges and searches, over HTTP and stdio.

Every Python client has an environment of its own, since they stand on different versions of MCP's
SDK (`tests/fetching.py`); the Inspector comes from npm.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.services.branches.lookup import find
from tests.fetching import node_with, python_with
from tests.flows.kill_scenarios import facts_on
from tests.flows.killed_process import opened
from tests.foreign.story import story
from tests.forkserver import python
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import environment, server_arguments

PINS = {
    "fastmcp": "fastmcp==4.1.2",
    "langchain": "langchain-mcp-adapters==0.3.2",
    "openai_agents": "openai-agents==0.24.0",
    "pydantic_ai": "pydantic-ai-slim[mcp]==2.68.0",
}
CLIENTS = [
    *("langchain", "pydantic_ai"),  # the SDK's version 1, and an agent over fastmcp's client
    *(pytest.param(client, marks=pytest.mark.weekly) for client in ("fastmcp", "openai_agents")),
]
LIMIT_S = 120
PLAIN = ("--format", "json", "--connect-timeout", str(LIMIT_S * 1_000))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("foreign") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as served:
        yield served


@pytest.fixture(scope="module")
def token(server: HttpServer) -> str:
    return server.token("team", "merge", server.token("root"))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_foreign_client_works_over_http_with_a_token(
    client: str, server: HttpServer, token: str
) -> None:
    reached = {"url": f"{server.address}/mcp/all", "token": token}
    check(told(client, reached), server.folder, client)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_foreign_client_works_over_stdio(client: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    command, *arguments = [*python(), *server_arguments("core,review")]
    reached = {"command": command, "args": arguments, "env": environment(store)}
    check(told(client, reached), store, client)


def told(client: str, reached: dict[str, Any]) -> dict[str, Any]:
    """What a client saw, run by its own interpreter; its branch has its name."""
    interpreter = python_with(PINS[client])
    script = Path(__file__).with_name(f"over_{client}.py")
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("DAY1_", "PYTHON"))}
    # None of them tells anybody of what it runs.
    surroundings |= {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false"}
    done = subprocess.run(
        [interpreter, script, json.dumps(reached), client],
        capture_output=True,
        text=True,
        check=False,
        env=surroundings,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def check(seen: dict[str, Any], store: Path, branch: str) -> None:
    """Hold what a client saw against what is in the store."""
    assert seen["merged"] == 1
    assert seen["new"] not in seen["before"], "another branch's, before the merge"
    assert seen["new"] in seen["after"]
    opened_store = opened(store)
    try:
        assert {seen["kept"], seen["new"]} <= facts_on(opened_store, "main").keys()
        assert seen["kept"] in facts_on(opened_store, branch)
        assert find(opened_store.repo, branch).merged_tip is not None
    finally:
        opened_store.close()


class Inspector:
    """The Inspector's command line: each call is a process."""

    def __init__(self, folder: Path, *target: str | Path) -> None:
        program = "clients/launcher/build/index.js"
        self._command = [*node_with("@modelcontextprotocol/inspector", "2.12.0", program), "--cli"]
        self._target = target
        self._folder = folder
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("DAY1_")},
            "HOME": str(folder),
            "MCP_CATALOG_PATH": str(folder / "catalog.json"),
        }

    def ask(self, era: str, *what: str) -> Any:
        """Ask one thing; gives its answer."""
        return json.loads(self._said(era, *PLAIN, *what))["result"]

    def reports(self, era: str, *what: str) -> list[Any]:
        """Let it examine something; gives what it says of each."""
        return [json.loads(line) for line in self._said(era, "-q", *what).splitlines()]

    def _said(self, era: str, *what: str) -> str:
        done = subprocess.run(
            [*self._command, *self._target, "--protocol-era", era, *what],
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
            cwd=self._folder,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stdout[-1_000:] + done.stderr[-3_000:]
        return done.stdout

    def tell(self, era: str, branch: str) -> dict[str, Any]:
        """Go through the story."""
        steps, answer = story(branch), None
        while True:
            try:
                tool, arguments = steps.send(answer)
            except StopIteration as end:
                seen: dict[str, Any] = end.value
                return seen
            given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
            answer = self.ask(era, "-q", "--method", "tools/call", *given)["structuredContent"]


@pytest.mark.weekly
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_works_over_http_with_a_token(
    era: str, server: HttpServer, token: str, tmp_path: Path
) -> None:
    bearer = ("--header", f"Authorization: Bearer {token}")
    inspector = Inspector(tmp_path, f"{server.address}/mcp/all", "--transport", "http", *bearer)
    check(inspector.tell(era, era), server.folder, era)


def over_stdio(folder: Path) -> Inspector:
    """The Inspector on a server on a store in this folder."""
    said = [f"{key}={value}" for key, value in environment(folder / "store").items()]
    named = [word for one in said for word in ("-e", one)]
    return Inspector(folder, *named, sys.executable, *server_arguments("core,review"))


@pytest.mark.weekly
def test_the_inspector_verifies_the_skills_and_finds_the_view(tmp_path: Path) -> None:
    inspector = over_stdio(tmp_path)
    skills = inspector.reports("modern", "--method", "skills/list", "--verify", "--require-digests")
    assert [skill["outcome"] for skill in skills] == ["verified"] * 3
    for era in ("modern", "legacy"):
        shown = ("--method", "tools/list", "--app-info", "--advertise-apps")
        views = [tool for tool in inspector.reports(era, *shown) if tool["hasApp"]]
        assert {view["toolName"] for view in views} == {"review_open", "review_show"}
        for view in views:
            assert view["resourceMimeType"] == "text/html;profile=mcp-app"
            assert not any(view["csp"].values())


@pytest.mark.weekly
def test_the_inspector_works_over_stdio_and_finds_the_schemas_portable(tmp_path: Path) -> None:
    store, inspector = tmp_path / "store", over_stdio(tmp_path)
    listed = inspector.ask("modern", "--method", "tools/list", "--strict")
    assert "memory_write_fact" in {tool["name"] for tool in listed["tools"]}
    check(inspector.tell("modern", "by-hand"), store, "by-hand")
