"""An idle server gives unused space back, where there is much of it and it is brief."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from day1.adapters.shared_counters import SharedCounters, SharedMoment
from day1.services.health import compacting
from day1.services.health.compacting import compact_if_brief, is_wasteful
from day1.services.upkeep import worker
from day1.services.upkeep.worker import BackgroundWorker, WorkerTasks
from tests.fakes.stepped_clock import SteppedClock
from tests.suites.engine_memory import EngineMemory

SEARCH: Any = Mock(embedder=None, running=set())


@pytest.fixture
def memory(tmp_path: Path):
    """Many commits of a few rows: most of the file is of the past."""
    memory = EngineMemory(tmp_path)
    for number in range(30):
        memory.add_fact("main", f"fact_{number:04}", fact_text=f"Fact {number}.")
        memory.update_fact("main", f"fact_{number:04}", category="seen")
    yield memory
    memory.close()


def test_a_small_store_is_left_alone(memory):
    assert not is_wasteful(memory.repo, memory.store.size())
    assert not compact_if_brief(memory.repo)


def test_a_wasteful_store_shrinks_and_keeps_every_row(memory, monkeypatch):
    monkeypatch.setattr(compacting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(compacting, "_WASTEFUL_RATIO", 0.01)
    before, size = memory.state("main"), memory.store.size()
    assert compact_if_brief(memory.repo)
    assert memory.store.size() < size
    assert memory.state("main") == before


def test_a_store_whose_compaction_is_long_is_left_to_people(memory, monkeypatch):
    monkeypatch.setattr(compacting, "_SMALL_BYTES", 0)
    monkeypatch.setattr(compacting, "_WASTEFUL_RATIO", 0.01)
    monkeypatch.setattr(compacting, "_MAX_LIVE_BYTES", 0)
    size = memory.store.size()
    assert not compact_if_brief(memory.repo)
    assert memory.store.size() == size


@pytest.mark.parametrize(
    ("idle_s", "since_s", "compacts"),
    [(61, 601, True), (59, 601, False), (61, 599, False)],
    ids=["idle", "called just now", "compacted just now"],
)
def test_a_server_compacts_seldom_and_only_when_nobody_calls(
    memory, monkeypatch, idle_s, since_s, compacts
):
    done: list[Any] = []
    monkeypatch.setattr(worker, "compact_if_brief", done.append)
    clock = SteppedClock()
    background = BackgroundWorker(memory.repo, SEARCH, WorkerTasks(compacts=True), clock)
    clock.at += since_s - idle_s
    background.called()
    clock.at += idle_s
    background.step()
    assert bool(done) == compacts


def test_a_server_whose_other_worker_was_called_does_not_compact(memory, monkeypatch, tmp_path):
    done: list[Any] = []
    monkeypatch.setattr(worker, "compact_if_brief", done.append)
    clock, calls = SteppedClock(), SharedCounters(tmp_path / "last-call")
    mine, others = (SharedMoment(calls, "call") for _ in range(2))
    background = BackgroundWorker(
        memory.repo, SEARCH, WorkerTasks(compacts=True, last_call=mine), clock
    )
    clock.at += 601
    others.at = clock.at - 1
    background.step()
    assert not done
    clock.at += 60
    background.step()
    assert done


def test_what_nobody_wrote_to_is_not_looked_through_again(memory, monkeypatch):
    followed: list[str] = []
    monkeypatch.setattr(worker, "follow", lambda *given: followed.append(given[3]))
    clock = SteppedClock()
    background = BackgroundWorker(memory.repo, SEARCH, clock=clock)
    clock.wait(background.step())
    clock.wait(background.step())
    assert followed == ["main"]
    memory.add_fact("main", "fact_new", fact_text="New.")
    clock.wait(background.step())
    assert followed == ["main", "main"]
