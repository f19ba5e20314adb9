"""The worker's chores: what is committed, renewed, indexed, forgotten and embedded, and when."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from day1.errors import EmbedderUnavailable, StoreUnavailable
from day1.model.branches.branch import MAIN
from day1.ports.lease import Lease
from day1.services.search.candidates import SearchLimits
from day1.services.upkeep import embedding, worker
from day1.services.upkeep.embedding import BackgroundEmbedding, LastCall
from day1.services.upkeep.worker import BackgroundWorker, WorkerTasks
from tests.fakes.memory_index import MemoryIndex
from tests.fakes.stepped_clock import SteppedClock
from tests.unit.services.conftest import Bench


class Scene:
    """A worker of a memory, and what its chores did in their order."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self.clock, self.done = bench, SteppedClock(), list[tuple[str, Any]]()
        self.errors: dict[str, Exception] = {}
        self.hashes = frozenset[str]()
        self.index, self.forgets = MemoryIndex(), True
        bench.repo.ledger.mask = lambda: Mock(hashes=self.hashes)
        for module, name, place in (
            (bench.store, "commit_pending_if_due", 0),
            (worker, "follow", 3),
            (worker, "forget", 1),
        ):
            monkeypatch.setattr(module, name, self._noting(name, place))
        limits = SearchLimits(exact_rows=2)
        self.search: Any = Mock(index=self.index, embedder=None, running=set(), limits=limits)

    def _noting(self, name: str, place: int | None) -> Callable[..., Any]:
        def note(*given: Any) -> bool:
            self.done.append((name, None if place is None else given[place]))
            if name in self.errors:
                raise self.errors[name]
            return self.forgets

        return note

    def worker(self, *, compaction_s: float = 0.0, lease: Lease | None = None) -> BackgroundWorker:
        tasks = WorkerTasks(
            self._noting("ingest", None), self._noting("renew", 0), compaction_s, lease
        )
        return BackgroundWorker(self.bench.repo, self.search, tasks, self.clock)

    def write(self, branch: str) -> None:
        """Commit a new fact to a branch."""
        self.bench.add(f"fact_{branch}", branch, branch)
        self.bench.store.commit_pending(branch)

    def step(self, background: BackgroundWorker, after: float = 2.0) -> list[tuple[str, Any]]:
        """What one step does, so long after the last one; but for ingesting."""
        self.clock.at += after
        self.done.clear()
        background.step()
        return [(name, what) for name, what in self.done if name != "ingest"]


@pytest.fixture
def scene(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Scene:
    bench.fork("side")
    return Scene(bench, monkeypatch)


def test_rows_are_committed_before_primes_are_renewed_and_before_texts_are_indexed(
    scene: Scene,
) -> None:
    scene.bench.add("fact_a", "a")
    scene.bench.add("fact_b", "b", "side")
    assert scene.step(scene.worker()) == [
        ("commit_pending_if_due", MAIN),
        ("commit_pending_if_due", "side"),
        ("renew", []),
        ("follow", MAIN),
        ("follow", "side"),
    ]


def test_a_worker_without_the_lease_does_no_chore_of_the_store(scene: Scene) -> None:
    scene.bench.add("fact_a", "a")
    lease = Mock(acquire=Mock(return_value=False))
    background = scene.worker(lease=lease)
    scene.step(background)
    assert scene.done == []
    lease.acquire.return_value = True
    assert ("commit_pending_if_due", MAIN) in scene.step(background)


def test_only_branches_that_moved_are_looked_at_again(scene: Scene) -> None:
    background = scene.worker()
    scene.step(background)
    assert scene.step(background) == []
    scene.write("side")
    assert scene.step(background) == [("renew", ["side"]), ("follow", "side")]
    assert scene.step(background) == []


def test_only_branches_with_pending_rows_are_asked_whether_a_commit_is_due(scene: Scene) -> None:
    background = scene.worker()
    assert scene.step(background) == [("renew", []), ("follow", MAIN), ("follow", "side")]
    scene.bench.add("fact_a", "a", "side")
    moved = [("commit_pending_if_due", "side"), ("renew", ["side"]), ("follow", "side")]
    assert scene.step(background, 31) == moved
    assert scene.step(background) == []
    assert scene.step(background, 31) == [("commit_pending_if_due", "side"), ("renew", [])]


@pytest.mark.parametrize(("after", "looks"), [(29.0, False), (31.0, True)])
def test_pending_rows_of_a_quiet_store_are_looked_at_twice_a_minute(
    scene: Scene, after: float, looks: bool
) -> None:
    scene.bench.add("fact_a", "a")
    background = scene.worker()
    scene.step(background)
    assert (("commit_pending_if_due", MAIN) in scene.step(background, after)) == looks


def test_events_of_hooks_are_ingested_at_every_step(scene: Scene) -> None:
    background = scene.worker()
    for _ in range(3):
        scene.step(background)
        assert ("ingest", None) in scene.done


def test_a_branch_that_could_not_be_indexed_is_tried_again(scene: Scene) -> None:
    background = scene.worker()
    scene.errors["follow"] = StoreUnavailable("It is away.")
    assert ("follow", MAIN) in scene.step(background)
    assert scene.step(background) == [("follow", MAIN)]
    del scene.errors["follow"]
    assert scene.step(background) == [("follow", MAIN), ("follow", "side")]
    assert scene.step(background) == []


def test_a_commit_that_failed_is_tried_again_and_hinders_nothing_else(scene: Scene) -> None:
    scene.bench.add("fact_a", "a")
    background = scene.worker()
    scene.errors["commit_pending_if_due"] = StoreUnavailable("It is away.")
    for _ in range(2):
        assert scene.step(background) == [("commit_pending_if_due", MAIN)]
        assert ("ingest", None) in scene.done
    assert background.states["commit"].failures == 2
    del scene.errors["commit_pending_if_due"]
    assert ("follow", "side") in scene.step(background)


def test_primes_are_renewed_of_branches_that_moved_since_the_first_look(scene: Scene) -> None:
    background = scene.worker()
    scene.step(background)
    scene.write("side")
    scene.write(MAIN)
    assert ("renew", [MAIN, "side"]) in scene.step(background)


def test_redacted_texts_are_forgotten_once_and_once_more_after_each_look(scene: Scene) -> None:
    background = scene.worker()
    assert not any(name == "forget" for name, _ in scene.step(background))
    scene.hashes = frozenset({"h1"})
    assert scene.step(background) == [("forget", scene.hashes)]
    assert scene.step(background) == []
    assert ("forget", scene.hashes) in scene.step(background, 31)
    scene.hashes |= {"h2"}
    scene.forgets = False
    assert scene.step(background) == [("forget", scene.hashes)]
    assert scene.step(background) == [("forget", scene.hashes)], "it was not done yet"


def test_an_index_that_is_only_read_forgets_nothing(scene: Scene) -> None:
    scene.index.read_only = True
    scene.hashes = frozenset({"h1"})
    assert not any(name == "forget" for name, _ in scene.step(scene.worker()))


def test_a_worker_compacts_only_if_it_may(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[float] = []
    monkeypatch.setattr(
        worker,
        "Compaction",
        lambda _repo, _clock, longest_s: Mock(run=lambda: runs.append(longest_s)),
    )
    scene.step(scene.worker())
    assert runs == []
    background = scene.worker(compaction_s=5.0)
    scene.step(background)
    scene.step(background)
    assert runs == [5.0, 5.0]


def test_the_model_is_loaded_before_all_else_and_once(scene: Scene) -> None:
    texts: list[Any] = []
    scene.search.embedder = Mock(embed=lambda given: texts.append((given, list(scene.done))))
    background = scene.worker()
    scene.step(background)
    scene.step(background)
    assert texts[0] == (["warm up"], [])
    assert [given for given, _ in texts].count(["warm up"]) == 1


def test_a_model_that_is_missing_is_no_failure(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    scene.search.embedder = Mock(embed=Mock(side_effect=EmbedderUnavailable("None.")))
    background = scene.worker()
    scene.step(background)
    assert background.states["warm up"].error is None
    assert "background work waits: embedder_unavailable" in caplog.text


def test_a_worker_that_was_stopped_does_nothing_more(scene: Scene) -> None:
    background = scene.worker()
    background.stop()
    background.stop()
    assert scene.step(background) == []
    assert scene.done == []


# Embedding


class Texts:
    """Texts that wait for vectors; one is embedded in a tenth of a second, unless that is enough."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.clock, self.searches, self.waiting = SteppedClock(), set[str](), count
        self.call = LastCall(self.clock, self.searches)
        self.during: Callable[[], object] = lambda: None
        self.neighbours: list[int] = []
        self.unfed = 0
        self.begun: list[float] = []
        monkeypatch.setattr(embedding, "embed_pending", self._embed)
        index: Any = Mock(update_neighbours=self._update)
        self.work = BackgroundEmbedding(index, Mock(), self.call, self.clock)

    def _embed(self, *_: Any, enough: Callable[[], bool]) -> int:
        self.begun.append(self.clock.at)
        while self.waiting:
            self.clock.at += 0.1
            self.waiting -= 1
            self.during()
            if enough():
                break
        return self.waiting

    def _update(self, enough: Callable[[], bool]) -> bool:
        """Feed a row in a tenth of a second, until that is enough."""
        self.neighbours.append(self.waiting)
        while self.unfed:
            self.clock.at += 0.1
            self.unfed -= 1
            self.during()
            if enough():
                break
        return self.unfed > 0

    def run(self) -> bool:
        return self.work.run(self.clock.is_stopped)


@pytest.mark.parametrize(
    ("count", "left", "more"),
    [(0, 0, False), (5, 0, False), (20, 0, False), (21, 1, True), (40, 20, True)],
)
def test_texts_are_embedded_for_two_seconds_at_a_time(
    monkeypatch: pytest.MonkeyPatch, count: int, left: int, more: bool
) -> None:
    texts = Texts(monkeypatch, count)
    assert texts.run() == more
    assert texts.waiting == left
    assert texts.neighbours == [left]


def test_a_batch_ends_before_it_takes_a_fifth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Texts(monkeypatch, 4)
    texts.run()
    assert len(texts.begun) in {2, 4}


@pytest.mark.parametrize("how", ["call", "search"])
def test_a_batch_gives_way_and_the_next_waits_for_a_pause(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    texts = Texts(monkeypatch, 9)

    def during() -> None:
        texts.during = lambda: None
        texts.call.begins() if how == "call" else texts.searches.add("s")
        ended.append(texts.clock.at)

    def on_wait() -> None:
        if texts.searches and texts.clock.at > ended[0] + 0.5:
            texts.searches.clear()
            ended[0] = texts.clock.at

    ended: list[float] = []
    texts.during, texts.clock.on_wait = during, on_wait
    texts.run()
    first, second = texts.begun[:2]
    assert first == 1_000.0
    assert ended[0] + (0.04 if how == "call" else 0) <= second <= ended[0] + 0.11


@pytest.mark.parametrize(("after", "embeds"), [(9.0, False), (11.0, True)])
def test_calls_without_a_pause_put_texts_off_for_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, after: float, embeds: bool
) -> None:
    texts = Texts(monkeypatch, 5)
    texts.clock.on_wait = texts.during = texts.call.begins
    texts.clock.at += after - 2.0 if not embeds else after
    texts.call.begins()
    texts.run()
    assert bool(texts.begun) == embeds


def test_without_a_pause_there_is_none_for_neighbours_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = Texts(monkeypatch, 5)
    texts.searches.add("s")
    assert texts.run(), "texts may wait"
    assert texts.neighbours == []


@pytest.mark.parametrize(("how", "left"), [("nothing", 0), ("call", 8), ("search", 8), ("stop", 8)])
def test_neighbours_give_way_to_calls(monkeypatch: pytest.MonkeyPatch, how: str, left: int) -> None:
    texts = Texts(monkeypatch, 0)
    texts.unfed = 9

    def during() -> None:
        match how:
            case "call":
                texts.call.begins()
            case "search":
                texts.searches.add("s")
            case "stop":
                texts.clock.stop()

    texts.during = during
    assert texts.run() == bool(left)
    assert texts.unfed == left


def test_a_process_that_leaves_embeds_no_further_text(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Texts(monkeypatch, 5)
    texts.during = texts.clock.stop
    assert not texts.run()
    assert (texts.waiting, texts.neighbours) == (4, [])


def test_a_model_that_goes_away_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Texts(monkeypatch, 5)
    texts.during = Mock(side_effect=EmbedderUnavailable("None."))
    assert not texts.run()


def test_freed_memory_is_given_back_every_half_minute_with_and_without_the_lease(
    bench: Bench,
) -> None:
    clock, given = SteppedClock(), list[float]()
    tasks = WorkerTasks(
        lease=Mock(acquire=Mock(return_value=False)), give_back=lambda: given.append(clock.at)
    )
    search: Any = Mock(index=MemoryIndex(), embedder=None, running=set())
    background = BackgroundWorker(bench.repo, search, tasks, clock)
    begun = clock.at
    for _ in range(45):
        clock.at += 2.0
        background.step()
    assert [at - begun for at in given] == [2.0, 32.0, 62.0]
