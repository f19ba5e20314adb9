"""A search on a store and an index in memory, for the tests of its rules."""

from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, OBSERVATION
from day1.services.rows.recording import NewFact, NewObservation, fact_row, observation_row
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.fakes.memory_index import MemoryIndex
from tests.unit.services.conftest import ADA, Bench


def _memory_index() -> Any:
    return MemoryIndex()


class Searching:
    """A bench, and searches of its main branch."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.index = _memory_index()
        self.engine = SearchEngine(
            bench.store, bench.store.history, self.index, HashingEmbedder(), lambda: bench.now
        )

    def fact(self, name: str, text: str, **columns: Any) -> None:
        """Add a fact with some columns."""
        self.bench.now += 1
        with self.bench.store.adding(MAIN) as work:
            row = fact_row(f"fact_{name}", NewFact(text), ADA, work.now)
            work.add(FACT, [row | columns])

    def observation(self, name: str, text: str, **columns: Any) -> None:
        """Add an observation with some columns."""
        self.bench.now += 1
        with self.bench.store.adding(MAIN) as work:
            row = observation_row(f"obs_{name}", NewObservation("note", text), ADA, work.now)
            work.add(OBSERVATION, [row | columns])

    def message(self, name: str, text: str, conversation: str) -> None:
        """Add a message of a conversation."""
        self.bench.now += 1
        with self.bench.store.adding(MAIN) as work:
            row = dict.fromkeys(MESSAGE.columns)
            row |= {"id": f"msg_{name}", "content": text, "conversation_id": conversation}
            work.add(MESSAGE, [row | {"content_hash": text, "created_at": work.now}])

    def conversation(self, name: str, space: str | None) -> None:
        """Add a conversation in a space."""
        with self.bench.store.adding(MAIN) as work:
            row = dict.fromkeys(CONVERSATION.columns)
            work.add(CONVERSATION, [row | {"id": name, "space": space, "created_at": work.now}])

    def __call__(self, query: str, ref: Ref | None = None, **request: Any) -> SearchAnswer:
        ref = Ref(branch=MAIN) if ref is None else ref
        return search(self.engine, ref, self.bench.branch().id, SearchRequest(query, **request))

    def ids(self, query: str, **request: Any) -> list[str]:
        """The ids of the hits, best first."""
        return [str(hit.row["id"]) for hit in self(query, **request).hits]


@pytest.fixture
def searching(bench: Bench) -> Searching:
    return Searching(bench)
