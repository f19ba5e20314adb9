"""The worker of a process that stays: no failure is its last, and none tells what is remembered."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from day1.adapters.index.index import LocalIndex
from day1.ports.index import IndexBehind
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.search.indexing import follow
from day1.services.search.search_engine import SearchEngine
from day1.services.upkeep import worker
from day1.services.upkeep.worker import BackgroundWorker
from tests.fakes.hashing_embedder import HashingEmbedder
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


def test_the_worker_survives_what_nobody_foresaw(tmp_path, monkeypatch, caplog):
    """B2: any exception is logged by class and place, without the text that it may quote."""
    monkeypatch.setattr(worker, "_START_S", 0.0)
    monkeypatch.setattr(worker, "_PAUSE_S", 0.01)
    memory = EngineMemory(tmp_path)
    background = BackgroundWorker(memory.repo, Mock())
    paused: list[float] = []
    remembered = "The cellar key is under the mat."

    def step() -> bool:
        paused.append(background._pause_s)
        if len(paused) == 5:
            background._stopped.set()
            return False
        raise LookupError(remembered)

    monkeypatch.setattr(background, "_warm_up", step)
    monkeypatch.setattr(background, "_step", step)
    background.run()
    memory.close()
    assert paused == sorted(set(paused)), "each failure lets it wait for longer"
    assert "background work failed with LookupError" in caplog.text
    assert "in step" in caplog.text
    assert remembered not in caplog.text


def test_an_index_that_fails_keeps_no_branch_from_being_cut(tmp_path, monkeypatch):
    """B2: the rows of every branch are committed before the first one is followed."""
    memory = EngineMemory(tmp_path)
    memory.fork("side", "main")
    committed: list[str] = []
    monkeypatch.setattr(memory.store, "commit_pending_if_due", committed.append)
    background = BackgroundWorker(memory.repo, cast("Any", _Broken()))
    for _ in range(2):
        try:
            background._look()
        except IndexBehind:
            continue
    memory.close()
    assert committed == ["main", "side"] * 2


class _Interrupted(HashingEmbedder):
    """A call comes while the second text is embedded."""

    def __init__(self, comes: Callable[[], None]) -> None:
        super().__init__()
        self._comes = comes

    def embed(self, texts):
        if self.embedded == 1:
            self._comes()
        return super().embed(texts)


@pytest.fixture
def waiting(tmp_path):
    """A memory with ten texts that wait for their vectors, and search_engine to search it."""
    memory, index = EngineMemory(tmp_path), LocalIndex(tmp_path)
    for number in range(10):
        memory.add_fact("main", f"fact_{number}", fact_text=f"gateway number {number}")
    follow(memory.store, memory.store.history, index, "main", find(memory.repo, "main").id)
    yield memory, SearchEngine(memory.store, memory.store.history, index, HashingEmbedder(), now)
    index.close()
    memory.close()


@pytest.fixture
def rested(waiting, monkeypatch):
    """A worker that nobody has called for long, and whose last vectors are fresh; its search_engine."""
    memory, search_engine = waiting
    monkeypatch.setattr(worker, "_PAUSE_S", 0.1)
    monkeypatch.setattr(worker, "_QUIET_S", 60.0)
    background = BackgroundWorker(memory.repo, search_engine)
    background._called, background._embedded = -1e9, time.monotonic()
    return background, search_engine


def left(search_engine):
    return search_engine.index.vectors.pending(search_engine.embedder)


def test_the_worker_stops_embedding_while_a_search_runs_and_goes_on_afterwards(
    waiting, monkeypatch
):
    memory, search_engine = waiting
    monkeypatch.setattr(worker, "_PAUSE_S", 0.1)
    monkeypatch.setattr(worker, "_QUIET_S", 0.0)
    search_engine = replace(
        search_engine, embedder=_Interrupted(lambda: search_engine.running.add("search"))
    )
    background = BackgroundWorker(memory.repo, search_engine)
    background._embedded = time.monotonic()  # nothing is overdue
    assert background._embed(search_engine.embedder)
    assert left(search_engine) == 8, (
        "it stops when the text in work is done, and keeps what is done"
    )
    assert background._embed(search_engine.embedder)
    assert left(search_engine) == 8
    search_engine.running.clear()
    assert not background._embed(search_engine.embedder)
    assert left(search_engine) == 0


def test_the_worker_begins_when_a_search_has_ended_for_a_while(rested):
    background, search_engine = rested
    search_engine.running.add("search")
    assert background._embed(search_engine.embedder)
    search_engine.running.clear()
    assert background._embed(search_engine.embedder)
    assert left(search_engine) == 10


def test_the_worker_stops_embedding_when_a_call_comes(rested):
    background, search_engine = rested
    embedder = _Interrupted(background.called)
    assert background._embed(embedder)
    assert left(search_engine) == 8
    assert background._embed(embedder)
    assert left(search_engine) == 8, "there was no pause between calls"


def test_the_worker_embeds_at_last_although_calls_never_pause(waiting, monkeypatch):
    memory, search_engine = waiting
    monkeypatch.setattr(worker, "_BATCH_S", 60.0)
    search_engine.running.add("search")
    background = BackgroundWorker(memory.repo, search_engine)
    background._embedded = time.monotonic() - worker._PUT_OFF_S - 1
    assert not background._embed(search_engine.embedder)
    assert left(search_engine) == 0


class _Broken:
    """Search search_engine whose index cannot be used."""

    @property
    def index(self):
        return self

    @property
    def words(self):
        raise IndexBehind("It is away.")
