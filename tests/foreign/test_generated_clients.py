"""Clients that public generators make of the served document run the loop of Compose Memory."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fetching import python_with
from tests.wires.http_server import HttpServer

PYTHON = "openapi-python-client==0.29.1"
LIMIT_S = 120


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("generated") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as served:
        yield served


@pytest.fixture(scope="module")
def token(server: HttpServer) -> str:
    return server.token("client", "merge", server.token("root"))


@pytest.fixture
def document(server: HttpServer, token: str, tmp_path: Path) -> Path:
    """The file of the document as the server gives it."""
    answer = server.ask("GET", "/openapi/compose.json", token)
    file = tmp_path / "compose.json"
    file.write_text(json.dumps(answer.body), encoding="utf-8")
    return file


def said(*command: str | Path) -> str:
    """What a program prints; it must succeed, and sees no setting of day1's."""
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("DAY1_", "PYTHON"))}
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        env=surroundings,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    return done.stdout


@pytest.mark.weekly
def test_a_generated_python_client_runs_the_loop(
    server: HttpServer, token: str, document: Path, tmp_path: Path
) -> None:
    interpreter = python_with(PYTHON)
    generator = interpreter.with_name("openapi-python-client")
    made = ("--meta", "none", "--output-path", tmp_path / "memory_client", "--fail-on-warning")
    said(generator, "generate", "--path", document, *made)
    script = Path(__file__).with_name("over_openapi_python.py")
    reached = json.dumps({"url": server.address, "token": token})
    check(json.loads(said(interpreter, script, reached, tmp_path)))


def check(seen: dict[str, Any]) -> None:
    """Hold what a client understood against what it did."""
    assert (seen["before"], seen["patterns"]) == ([], [])
    assert seen["turns"] == ["turn-1", "turn-2"]
    assert seen["kept"] == "The kettle whistles."
    assert "The kettle whistles." in seen["prompt"]
    assert seen["refused"] == 400
