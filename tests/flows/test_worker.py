"""The worker of a process that stays: no failure is its last, and none tells what is remembered."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any
from unittest.mock import Mock

import pytest

from day1.adapters.index.index import LocalIndex
from day1.ports.index import IndexBehind
from day1.services.branches.lookup import find
from day1.services.search.indexing import follow
from day1.services.upkeep.embedding import BackgroundEmbedding, LastCall
from day1.services.upkeep.worker import BackgroundWorker
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.fakes.stepped_clock import SteppedClock
from tests.flows.opened_store import make, opened, write
from tests.suites.engine_memory import EngineMemory
from tests.waiting import until
from tests.wires.mcp_session import Session


def followed(folder):
    """How far the index of a store has followed its branches."""
    with closing(sqlite3.connect(f"file:{folder / 'index.db'}?mode=ro", uri=True)) as index:
        return set(index.execute('SELECT key, "commit", newest FROM cursors'))


def test_the_worker_goes_on_when_a_memory_that_was_away_is_back(tmp_path):
    """B2: the file's stat() fails, and what is written afterwards is followed all the same."""
    store = tmp_path / "store"
    make(store)
    with Session(store) as session:
        (store / "memory.db").rename(tmp_path / "away")
        until(
            lambda: "background work waits: store_unavailable" in session.log.read_text(),
            "the worker met it",
        )
        (tmp_path / "away").rename(store / "memory.db")
        before = followed(store)
        with opened(store) as other:
            write(other, "afterwards")
        until(lambda: followed(store) != before, "the worker follows")
        assert "Traceback" not in session.log.read_text()


def test_an_index_that_fails_keeps_no_branch_from_being_committed(tmp_path, monkeypatch):
    """B2: the rows of every branch are committed before the first one is followed."""
    memory, clock = EngineMemory(tmp_path), SteppedClock()
    memory.fork("side", "main")
    committed: list[str] = []
    for branch in ("main", "side"):
        memory.add_fact(branch, f"fact_{branch:0>26}", fact_text=f"{branch} is pending.")
    monkeypatch.setattr(
        memory.store, "commit_pending_if_due", lambda branch, _: committed.append(branch)
    )
    index = Mock(words=Mock(cursor=Mock(side_effect=IndexBehind("It is away."))))
    search: Any = Mock(index=index, embedder=None, running=set())
    background = BackgroundWorker(memory.repo, search, clock=clock)
    background.step()
    clock.at += 31
    background.step()
    memory.close()
    assert committed == ["main", "side"] * 2
    assert background.states["index"].failures == 2
    assert background.states["commit"].error is None


class _Embedder(HashingEmbedder):
    """Takes a hundredth of a second for a text, and does something before the second one."""

    def __init__(self, clock: SteppedClock) -> None:
        super().__init__()
        self._clock = clock
        self.comes: Callable[[], object] = lambda: None
        self.began: list[float] = []

    def embed(self, texts):
        self.began.append(self._clock.at)
        self._clock.at += 0.01
        if len(self.began) == 2:
            self.comes()
        return super().embed(texts)


class Embedding:
    """Background embedding of the texts of an index, and the calls to which it gives way."""

    def __init__(self, index: LocalIndex, clock: SteppedClock) -> None:
        self._index, self._clock = index, clock
        self.searches: set[str] = set()
        self.call = LastCall(clock, self.searches)
        self.embedder = _Embedder(clock)
        self._work = BackgroundEmbedding(index, self.embedder, self.call, clock)

    def run(self) -> bool:
        return self._work.run(self._clock.is_stopped)

    @property
    def left(self) -> int:
        return self._index.vectors.pending(self.embedder)


@pytest.fixture
def clock():
    return SteppedClock()


@pytest.fixture
def embedding(tmp_path, clock):
    """Ten texts wait for their vectors."""
    memory, index = EngineMemory(tmp_path), LocalIndex(tmp_path)
    for number in range(10):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    follow(memory.store, memory.store.history, index, "main", find(memory.repo, "main").id)
    yield Embedding(index, clock)
    index.close()
    memory.close()


def test_embedding_stops_while_a_search_runs_and_goes_on_afterwards(embedding):
    embedding.embedder.comes = lambda: embedding.searches.add("search")
    assert embedding.run()
    assert embedding.left == 8, "it stops when the text in work is done, and keeps what is done"
    assert embedding.run()
    assert embedding.left == 8
    embedding.searches.clear()
    assert not embedding.run()
    assert embedding.left == 0


def test_embedding_begins_when_a_search_has_ended_for_a_while(embedding, clock):
    embedding.searches.add("search")
    ends = clock.at + 1
    clock.on_wait = lambda: clock.at < ends or embedding.searches.clear()
    embedding.run()
    assert embedding.embedder.began[0] >= ends + 0.04


def test_embedding_stops_when_a_call_comes(embedding, clock):
    embedding.embedder.comes = clock.on_wait = embedding.call.begins
    assert embedding.run()
    assert embedding.left == 8
    assert embedding.run()
    assert embedding.left == 8, "there was no pause between calls"


@pytest.mark.parametrize(("waited_s", "left"), [(7.0, 10), (11.0, 0)])
def test_texts_are_embedded_at_last_although_calls_never_pause(embedding, clock, waited_s, left):
    embedding.searches.add("search")
    clock.at += waited_s
    embedding.run()
    assert embedding.left == left
