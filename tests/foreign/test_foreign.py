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

from tests.fetching import node_with, python_with
from tests.foreign.story import BRANCH, story
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import Session, environment, server_arguments

PINS = {
    "fastmcp": "fastmcp==4.1.2",
    "langchain": "langchain-mcp-adapters==0.3.2",
    "openai_agents": "openai-agents==0.24.0",
    "pydantic_ai": "pydantic-ai-slim[mcp]==2.68.0",
}
LIMIT_S = 120


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    with HttpServer(tmp_path / "store", DAY1_HTTP__RATE="0") as served:
        yield served


@pytest.mark.parametrize("client", PINS)
def test_a_foreign_client_works_over_http_with_a_token(client: str, server: HttpServer) -> None:
    interpreter = python_with(PINS[client])
    token = server.token("team", "merge", server.token("root"))
    reached = {"url": f"{server.address}/mcp/all", "token": token}
    check(told(interpreter, client, reached), server.folder)


@pytest.mark.parametrize("client", PINS)
def test_a_foreign_client_works_over_stdio(client: str, tmp_path: Path) -> None:
    interpreter = python_with(PINS[client])
    store = tmp_path / "store"
    arguments = server_arguments("core,review")
    reached = {"command": sys.executable, "args": arguments, "env": environment(store)}
    check(told(interpreter, client, reached), store)


def told(interpreter: Path, client: str, reached: dict[str, Any]) -> dict[str, Any]:
    """What a client saw, run by its own interpreter."""
    script = Path(__file__).with_name(f"over_{client}.py")
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("DAY1_", "PYTHON"))}
    # None of them tells anybody of what it runs.
    surroundings |= {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false"}
    done = subprocess.run(
        [interpreter, script, json.dumps(reached)],
        capture_output=True,
        text=True,
        check=False,
        env=surroundings,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def check(seen: dict[str, Any], store: Path) -> None:
    """Hold what a client saw against what our own finds in the store."""
    assert seen["merged"] == 1
    assert seen["new"] not in seen["before"], "another branch's, before the merge"
    assert seen["new"] in seen["after"]
    with Session(store) as ours:
        there = ours.found("memory_timeline", branch="main")
        assert {seen["kept"], seen["new"]} <= {row["id"] for row in there}
        branches = {one["branch_name"]: one for one in ours.found("memory_branch_list")}
        assert branches[BRANCH]["status"] == "merged"


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
        done = subprocess.run(
            [*self._command, *self._target, "--protocol-era", era, "--format", "json", *what],
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
            cwd=self._folder,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stdout[-1_000:] + done.stderr[-3_000:]
        return json.loads(done.stdout)

    def tell(self, era: str) -> dict[str, Any]:
        """Go through the story."""
        steps, answer = story(), None
        while True:
            try:
                tool, arguments = steps.send(answer)
            except StopIteration as end:
                seen: dict[str, Any] = end.value
                return seen
            given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
            answer = self.ask(era, "-q", "--method", "tools/call", *given)["structuredContent"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_works_over_http_with_a_token(
    era: str, server: HttpServer, tmp_path: Path
) -> None:
    token = server.token("team", "merge", server.token("root"))
    bearer = ("--header", f"Authorization: Bearer {token}")
    target = (f"{server.address}/mcp/all", "--transport", "http", *bearer)
    check(Inspector(tmp_path, *target).tell(era), server.folder)


def test_the_inspector_works_over_stdio_and_finds_the_schemas_portable(tmp_path: Path) -> None:
    store = tmp_path / "store"
    said = [f"{key}={value}" for key, value in environment(store).items()]
    named = [word for one in said for word in ("-e", one)]
    target = (*named, sys.executable, *server_arguments("core,review"))
    inspector = Inspector(tmp_path, *target)
    listed = inspector.ask("modern", "--method", "tools/list", "--strict")
    assert "memory_write_fact" in json.dumps(listed)
    check(inspector.tell("modern"), store)
