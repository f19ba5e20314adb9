"""Where the tests of the Python library have their memory, each test on a branch of its own.

In a folder and behind a server; with `pytest --engine`, in a database and behind a server on one.
"""

import itertools
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

import day1
from tests.engine import url_of
from tests.wires.http_server import HttpServer

QUIET = {"embedder": {"kind": "none"}}
"""Settings of tests: search by words, so no model is loaded."""
ANSWER_BYTES = 8_388_608
"""The limit of the values that one answer of `limited` has."""
_numbers = itertools.count(1)


class Connect(Protocol):
    """Connect to the place that the tests of a module share."""

    def __call__(self, **options: Any) -> day1.Memory:
        """Connect there."""


@pytest.fixture(scope="module", params=["folder", "http"])
def connect(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Connect]:
    folder = tmp_path_factory.mktemp(request.param) / "store"

    def local(**options: Any) -> day1.Memory:
        return day1.connect(url_of(folder) or folder, settings={**QUIET, "home": folder}, **options)

    if request.param == "folder":
        yield local
        return
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:  # one token has all tests of a module
        secret = server.token("library")

        def remote(**options: Any) -> day1.Memory:
            return day1.connect(server.address, token=secret, **options)

        yield remote


@pytest.fixture(scope="module")
def shared_memory(connect: Connect) -> Iterator[day1.Memory]:
    with connect(agent="writer") as memory:
        yield memory


@pytest.fixture
def memory(shared_memory: day1.Memory, connect: Connect) -> Iterator[day1.Memory]:
    """A memory on an empty branch of the test's own."""
    name = f"test/{next(_numbers)}"
    shared_memory.create_branch(name, source="main")
    with connect(agent="writer", branch=name) as memory:
        yield memory


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[day1.Memory]:
    """A memory in a folder whose answers have few bytes of values, for all tests of a module."""
    settings = {**QUIET, "store": {"answer_bytes": ANSWER_BYTES}}
    folder = tmp_path_factory.mktemp("limited") / "store"
    with day1.connect(folder, settings=settings) as memory:
        yield memory
