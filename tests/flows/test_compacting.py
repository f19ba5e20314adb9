"""A server gives unused space back while it works, if there is much of it and that is quick."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from day1.adapters.flock import PAUSE_FILE
from day1.app.engines import obstacles_in
from day1.errors import StoreFull, StoreUnavailable
from day1.services.health import compacting
from day1.services.health.compacting import Compaction, is_wasteful
from day1.services.upkeep import worker
from day1.services.upkeep.worker import BackgroundWorker
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


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


def test_a_small_store_is_left_alone(memory, clock):
    assert not is_wasteful(memory.repo, memory.store.size())
    assert not Compaction(memory.repo, clock.now, 5.0).run()


@pytest.fixture
def no_small_store(monkeypatch):
    """Without the size up to which stores are left alone; four times the estimate is never met."""
    monkeypatch.setattr(compacting, "_SMALL_BYTES", 0)


def test_a_wasteful_store_shrinks_and_keeps_every_row(memory, clock, no_small_store, monkeypatch):
    monkeypatch.setattr(compacting, "_ESTIMATED_GROWTH", 0.01)
    before, size = memory.state("main"), memory.store.size()
    assert Compaction(memory.repo, clock.now, 5.0).run()
    assert memory.store.size() < size
    assert memory.state("main") == before


def test_a_store_whose_compaction_is_long_is_left_to_people(
    memory, clock, no_small_store, monkeypatch
):
    monkeypatch.setattr(compacting, "_ESTIMATED_GROWTH", 0.01)
    size = memory.store.size()
    compaction = Compaction(memory.repo, clock.now, 0.9 * size / compacting._BYTES_PER_S)
    assert not compaction.run()
    assert memory.store.size() == size


def test_a_compaction_that_a_busy_machine_slowed_is_tried_again(
    memory, clock, no_small_store, monkeypatch
):
    compaction = Compaction(memory.repo, clock.now, 5.0)
    monkeypatch.setattr(memory.store, "compact_size", lambda: 1)
    compaction._bytes_per_s = 1.0  # a compaction took very long
    assert not compaction.run()
    clock.at += 59
    assert not compaction.run()
    clock.at += 2
    assert compaction.run()


def test_a_compacted_store_is_compacted_again_at_twice_its_size(
    memory, clock, no_small_store, monkeypatch
):
    monkeypatch.setattr(compacting, "_ESTIMATED_GROWTH", 0.01)
    compaction = Compaction(memory.repo, clock.now, 5.0)
    assert compaction.run()
    monkeypatch.setattr(compacting, "live_bytes", _no_estimate)  # it knows the size by now
    for _ in range(2):
        compact_size = memory.store.size()
        while not compaction.run():
            assert memory.store.size() <= 2 * compact_size
            memory.update_fact("main", "fact_0000", category=f"seen {memory.store.size()}")
        assert memory.store.size() < 2 * compact_size


def test_a_compaction_by_another_process_counts(memory, clock, no_small_store, monkeypatch):
    monkeypatch.setattr(compacting, "_ESTIMATED_GROWTH", 1_000)
    compaction = Compaction(memory.repo, clock.now, 5.0)
    assert not compaction.run()
    memory.store.compact()
    monkeypatch.setattr(compacting, "live_bytes", _no_estimate)
    assert not compaction.run()
    size = memory.store.size()
    while memory.store.size() <= 2 * size:
        memory.update_fact("main", "fact_0001", category=f"seen {memory.store.size()}")
    assert compaction.run()


def test_a_process_that_starts_knows_the_size_after_the_last_compaction(
    memory, clock, no_small_store, monkeypatch
):
    memory.store.compact()
    monkeypatch.setattr(compacting, "live_bytes", _no_estimate)
    with closing(EngineMemory(memory.store._connections.path.parent)) as other:
        assert other.store.compact_size() == memory.store.size()
        assert not Compaction(other.repo, clock.now, 5.0).run()
        assert not is_wasteful(other.repo, 2 * memory.store.size())
        assert is_wasteful(other.repo, 2 * memory.store.size() + 1)


@pytest.mark.parametrize("noted", ["", "not a size", "99999999999"])
def test_a_size_that_cannot_be_of_this_file_is_estimated(
    memory, clock, no_small_store, monkeypatch, noted
):
    memory.store.compact()
    memory.store._pause_file.write_text(noted)
    monkeypatch.setattr(compacting, "_ESTIMATED_GROWTH", 0.01)
    assert Compaction(memory.repo, clock.now, 5.0).run()


def test_of_two_servers_that_see_a_large_store_one_compacts_it(memory):
    size = memory.store.size()
    first = memory.store.compact(above=size - 1)
    second = memory.store.compact(above=size - 1)
    assert first["bytes_after"] < first["bytes_before"] == size
    assert second["bytes_before"] == second["bytes_after"] == first["bytes_after"]


def test_writers_wait_for_a_compaction_that_takes_longer_than_for_each_other(tmp_path):
    compacts, written = threading.Event(), threading.Event()

    def pause(name: str) -> None:
        if name == "compact.before":
            compacts.set()
            assert not written.wait(1.0)

    with closing(EngineMemory(tmp_path)) as server, ThreadPoolExecutor(1) as thread:
        with closing(EngineMemory(tmp_path, wait_s=0.5)) as writer:
            server.store.point = pause
            compaction = thread.submit(server.store.compact)
            assert compacts.wait(10)
            writer.add_fact("main", "fact_1", fact_text="It waited.")
            written.set()
            compaction.result(10)
        assert server.state("main")["facts"].keys() == {"fact_1"}


def test_a_failed_compaction_is_tried_again_after_ten_minutes(memory, clock, no_small_store):
    full = Mock(side_effect=StoreFull("full"))
    store = Mock(size=lambda: 1_000, compact_size=lambda: 1, compact=full)
    compaction = Compaction(Mock(store=store), clock.now, 5.0)
    with pytest.raises(StoreFull):
        compaction.run()
    for seconds in (599, 2):  # it is known to fail until then
        clock.at += seconds
        with pytest.raises(StoreFull):
            compaction.run()
    assert full.call_count == 2


def test_a_compaction_that_succeeds_after_a_failure_fails_no_more(memory, clock, no_small_store):
    compact = Mock(side_effect=[StoreFull("full"), None])
    store = Mock(size=lambda: 1_000, compact_size=lambda: 1, compact=compact)
    compaction = Compaction(Mock(store=store), clock.now, 5.0)
    with pytest.raises(StoreFull):
        compaction.run()
    clock.at += 601
    assert compaction.run()
    store.compact_size = lambda: 1_000
    clock.at += 1
    assert not compaction.run()


LINKS = ["symbolic", "to nothing", "hard"]


@pytest.mark.parametrize("link", LINKS)
def test_no_other_file_is_written_by_a_link_in_place_of_the_lock(tmp_path, link):
    outside = tmp_path / "outside"
    outside.write_text("words of somebody")
    with closing(EngineMemory(tmp_path / "store")) as memory:
        file = tmp_path / "store" / PAUSE_FILE
        file.unlink(missing_ok=True)
        match link:
            case "symbolic":
                file.symlink_to(outside)
            case "to nothing":
                file.symlink_to(tmp_path / "nothing")
            case _:
                file.hardlink_to(outside)
        if link == "hard":
            memory.store.compact()
        else:
            with pytest.raises(StoreUnavailable, match="move it away"):
                memory.store.compact()
        memory.add_fact("main", "fact_1", fact_text="Writes go on.")
        assert memory.store.compact_size() is None
    assert outside.read_text() == "words of somebody"
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_in_place_of_the_lock_is_named_and_keeps_nobody_waiting(tmp_path, make):
    with closing(EngineMemory(tmp_path)) as memory:
        (tmp_path / PAUSE_FILE).unlink(missing_ok=True)
        make(tmp_path / PAUSE_FILE)
        assert memory.store.compact_size() is None
        with pytest.raises(StoreUnavailable, match="is a folder or a link"):
            memory.store.compact()
        assert [problem.code for problem in obstacles_in(tmp_path)] == ["store_unavailable"]


def _no_estimate(_):
    raise AssertionError("the size after the last compaction is known")


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
