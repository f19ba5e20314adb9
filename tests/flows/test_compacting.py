"""An idle server gives unused space back, where there is much of it and it is brief."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from day1.services.health import compacting
from day1.services.health.compacting import compact_if_brief, is_wasteful
from day1.services.upkeep import worker
from day1.services.upkeep.worker import BackgroundWorker
from tests.suites.engine_memory import EngineMemory


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
    monkeypatch.setattr(compacting, "_SMALL", 0)
    monkeypatch.setattr(compacting, "_TIMES", 0.01)
    before, size = memory.state("main"), memory.store.size()
    assert compact_if_brief(memory.repo)
    assert memory.store.size() < size
    assert memory.state("main") == before


def test_a_store_whose_compaction_is_long_is_left_to_people(memory, monkeypatch):
    monkeypatch.setattr(compacting, "_SMALL", 0)
    monkeypatch.setattr(compacting, "_TIMES", 0.01)
    monkeypatch.setattr(compacting, "_BRIEF", 0)
    size = memory.store.size()
    assert not compact_if_brief(memory.repo)
    assert memory.store.size() == size


@pytest.mark.parametrize(("idle_s", "compacts"), [(0.0, True), (1e9, False)])
def test_a_server_compacts_only_when_nobody_calls(memory, monkeypatch, idle_s, compacts):
    done: list[Any] = []
    monkeypatch.setattr(worker, "compact_if_brief", done.append)
    monkeypatch.setattr(worker, "_IDLE_S", idle_s)
    monkeypatch.setattr(worker, "_COMPACT_S", -1.0)
    background = BackgroundWorker(memory.repo, Mock(), compacts=True)
    background._compact()
    assert bool(done) == compacts


def test_what_nobody_wrote_to_is_not_looked_through_again(memory):
    seen: list[str] = []
    background = BackgroundWorker(memory.repo, Mock())
    background._index = lambda moved: seen.extend(branch.name for branch, _ in moved)
    background._look()
    background._look()
    assert seen == ["main"]
    memory.add_fact("main", "fact_new", fact_text="New.")
    background._look()
    assert seen == ["main", "main"]
