"""A memory with an index, and searches of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.adapters.index.index import LocalIndex
from day1.model.rows.change import Ref
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.engine_memory import EngineMemory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[EngineMemory]:
    opened = EngineMemory(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def search_engine(memory: EngineMemory, tmp_path: Path) -> Iterator[SearchEngine]:
    index = LocalIndex(tmp_path)
    yield SearchEngine(memory.store, memory.store.history, index, HashingEmbedder(), now)
    index.close()


class Asking:
    """Searches of one memory."""

    def __init__(self, memory: EngineMemory, search_engine: SearchEngine) -> None:
        self.memory, self.search_engine = memory, search_engine

    def __call__(
        self, query: str, branch: str = "main", until: int | None = None, **request
    ) -> SearchAnswer:
        branch_id = find(self.memory.repo, branch).id
        ref = Ref(branch=branch, until=until)
        return search(self.search_engine, ref, branch_id, SearchRequest(query, **request))

    def ids(self, query: str, branch: str = "main", until: int | None = None, **request):
        return [hit.row["id"] for hit in self(query, branch, until, **request).hits]


@pytest.fixture
def ask(memory: EngineMemory, search_engine: SearchEngine) -> Asking:
    return Asking(memory, search_engine)
