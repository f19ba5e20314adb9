"""A memory with an index, and searches of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.adapters.index.index import LocalIndex
from day1.model.rows.change import Ref
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.search.request import SearchAnswer, SearchPorts, SearchRequest
from day1.services.search.searching import search
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.engine_memory import EngineMemory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[EngineMemory]:
    opened = EngineMemory(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def ports(memory: EngineMemory, tmp_path: Path) -> Iterator[SearchPorts]:
    index = LocalIndex(tmp_path)
    yield SearchPorts(memory.store, memory.store.history, index, HashingEmbedder(), now)
    index.close()


class Asking:
    """Searches of one memory."""

    def __init__(self, memory: EngineMemory, ports: SearchPorts) -> None:
        self.memory, self.ports = memory, ports

    def __call__(
        self, query: str, branch: str = "main", until: int | None = None, **request
    ) -> SearchAnswer:
        branch_id = find(self.memory.repo, branch).id
        ref = Ref(branch=branch, until=until)
        return search(self.ports, ref, branch_id, SearchRequest(query, **request))

    def ids(self, query: str, branch: str = "main", until: int | None = None, **request):
        return [hit.row["id"] for hit in self(query, branch, until, **request).hits]


@pytest.fixture
def ask(memory: EngineMemory, ports: SearchPorts) -> Asking:
    return Asking(memory, ports)
