"""Clients of Kompanion over both wires, beside one of day1's own tools on the same store."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.wires.http_server import HTTP_DAILY, HttpServer, HttpSession
from tests.wires.mcp_session import Session

METAL = {"namespace": "project:metal"}
WOOD = {"namespace": "project:wood"}

_numbers = count(1)


class Both(NamedTuple):
    """Two clients of one store."""

    kompanion: Session
    day1: Session


def model() -> dict[str, str]:
    """The settings of a store that embeds; skipped where there is no model."""
    folder = os.environ.get("DAY1_EMBEDDER__MODEL_DIR")
    if not folder:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    return {"DAY1_EMBEDDER__KIND": "minilm", "DAY1_EMBEDDER__MODEL_DIR": folder}


@contextmanager
def clients(wire: str, folder: Path, **settings: str) -> Iterator[Both]:
    """Both over one wire: two processes over stdio, or one server."""
    with ExitStack() as opened:
        if wire == "stdio":
            own = Session(folder, toolsets="kompanion", **settings)
            day1 = Session(folder, toolsets="core,review,browse", **settings)
        else:
            server = opened.enter_context(HttpServer(folder, port=0, **settings))
            own, day1 = HttpSession(server, path="/mcp/kompanion"), HttpSession(server)
        yield Both(opened.enter_context(own), opened.enter_context(day1))


@contextmanager
def on_a_branch(both: Both) -> Iterator[Both]:
    """Both on a new branch of a store whose main is empty: a test need not start servers."""
    branch = f"alone/{next(_numbers)}"
    both.day1.ok("memory_branch_create", branch_name=branch, parent_branch="main")
    for client in both:
        client.meta = {"day1/branch": branch}
    yield both
    for client in both:
        client.meta = {}


def contents(client: Session, **wanted: Any) -> list[Any]:
    """What recalled contexts hold."""
    return [item["content"] for item in client.ok("recall_context", **wanted)["items"]]


def found(client: Session, text: str, /, **wanted: Any) -> list[str]:
    """The ids that a search by text finds."""
    namespace = wanted.pop("namespace", METAL["namespace"])
    answer = client.ok("search_memory", namespace=namespace, query={"text": text, **wanted})
    return [match["id"] for match in answer["matches"]]


@pytest.fixture(scope="module", params=HTTP_DAILY)
def shared(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Both]:
    with clients(request.param, tmp_path_factory.mktemp("shared") / "store") as both:
        yield both


@pytest.fixture
def both(shared: Both) -> Iterator[Both]:
    with on_a_branch(shared) as both:
        yield both
