"""docs/http.md: its commands answer what it says, its configuration connects, its tables are true."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.interfaces.http.failures import STATUS
from day1.toolsets import LISTS, TOOLSETS
from tests.wires.http_server import HttpServer, HttpSession

GUIDE = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
WRITTEN = "http://127.0.0.1:8420"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    with HttpServer(tmp_path / "store", "--sse") as server:
        yield server


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    return str(found)


def plain(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r"\b(fact|merge)_[0-9A-Z]{26}\b", r"\1_ID", text)
    text = re.sub(r"\b[0-9a-f]{40}\b", "COMMIT", text)
    text = re.sub(r"\b[0-9a-f]{32,64}\b", "HASH", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "TIME", text)


def test_the_commands_answer_what_the_guide_says(server: HttpServer) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    printed = []
    for line in block("console").splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                ["bash", "-c", line[2:].replace(WRITTEN, server.address)],
                capture_output=True,
                text=True,
                check=True,
                env={"PATH": os.environ["PATH"]},
            )
            printed += [line, *done.stdout.splitlines()]
    assert plain("\n".join(printed)) == plain(block("console").strip())


def test_the_configuration_connects_as_it_stands(server: HttpServer) -> None:
    configured = json.loads(block("json"))["mcpServers"]["day1"]
    headers = configured["headers"]
    secret = server.token("ada", "write")
    headers["Authorization"] = headers["Authorization"].replace("day1_…", secret)
    path = configured["url"].removeprefix(WRITTEN)
    with HttpSession(server, path=path, headers=headers) as agent:
        agent.ok("memory_branch_create", branch_name="mine")
        agent.ok("memory_branch_switch", branch_name="mine")
        made = agent.ok("memory_write_fact", fact_text="Connected.")
        assert made["written"]["branch"] == "mine"
    with HttpSession(server, path=path, headers=headers) as again:
        assert again.ok("memory_timeline")["read"]["branch"] == "mine"
    (row,) = server.ok("memory_list", secret, type="fact", branch="mine")["rows"]
    assert row["agent_id"] == "ada"


def test_every_path_of_the_guide_is_there(server: HttpServer) -> None:
    named = re.findall(r"`(/[\w/.]+)`", GUIDE.partition("## Connect")[0])
    assert {"/mcp", "/mcp/all", "/sse", "/review", "/api/v1/openapi.json"} <= set(named)
    for path in named:
        if path.isupper() or "NAME" in path or "OPERATION" in path or path == "/sse":
            continue
        assert server.ask("GET", path).status != 404, path
    for name in (*TOOLSETS, *LISTS):
        assert f"`{name}`" in GUIDE
        assert server.ask("GET", f"/mcp/{name}").status != 404


def test_headers_of_the_guide_are_heard(server: HttpServer) -> None:
    server.ok("memory_branch_create", branch_name="heard")
    headers = dict(re.findall(r"\| `(Day1-[\w-]+)` \| `(day1/\w+)` \|", GUIDE))
    assert len(headers) == 6
    said = dict.fromkeys(headers, "heard")
    body = {"fact_text": "Heard."}
    assert server.ask("POST", "/api/v1/memory_write_fact", headers=said, json=body).status == 200
    (row,) = server.ok("memory_list", type="fact", branch="heard", limit=1)["rows"]
    found = server.ok("memory_get", id=row["id"], branch="heard")["row"]
    assert {found["agent_id"], found["session_id"], found["task_id"]} == {"heard"}


def test_every_status_is_explained() -> None:
    explained = {int(status) for status in re.findall(r"^\| (\d{3}) \|", GUIDE, re.MULTILINE)}
    assert explained == {*STATUS.values(), 307, 405, 413, 421, 500}


def test_a_path_that_ends_with_a_slash_leads_to_the_one_without(server: HttpServer) -> None:
    answered = server.ask("GET", "/api/v1/openapi.json/")
    assert answered.status == 307
    assert answered.headers["location"].endswith("/api/v1/openapi.json")
