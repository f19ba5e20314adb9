"""The chores of a process that serves a store: what they do, in which order, and when."""

import math
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.rows.change import ReadState, Ref
from day1.model.rows.kind import FACT
from day1.ports.lease import Lease
from day1.services.health.compacting import Compaction
from day1.services.redaction.redacting import forget
from day1.services.repository.repository import Repository
from day1.services.search.indexing import follow
from day1.services.search.known_entries import renew_tables
from day1.services.search.search_engine import SearchEngine
from day1.services.upkeep.chores import Chore, ChoreRunner, ChoreState, Clock, IsStopped, Report
from day1.services.upkeep.embedding import BackgroundEmbedding, LastCall, Moment

START_S: Final = 1.0
"""Seconds before the first chore, so that the client's first call need not wait."""
EVERY_S: Final = 2.0
"""Seconds between two runs of a chore."""
_LOOK_S: Final = 30.0
"""Seconds between checks of a store without writes, whose pending rows become due, and between two
times that freed memory is given back."""
_GROWTH: Final = 10
"""Tables of rows are renewed when a branch has one more row for each of so many."""


def _no_report(_: object) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class WorkerTasks:
    """Further work of a process, beside the chores on the store and its index."""

    ingest: Callable[[IsStopped], object] = bool
    """The function that ingests the events of hooks until told to stop."""
    renew: Callable[[Collection[str]], None] = _no_report
    """The function that renews the primes of the named branches, which moved."""
    compaction_s: float = 0.0
    """The longest compaction, in seconds, for which this process makes writers wait; 0: none."""
    lease: Lease | None = None
    """The lease of the chores that one process does for all workers of a server."""
    last_call: Moment | None = None
    """The time of the last call to a server with several workers; None: this process keeps it."""
    give_back: Callable[[], object] = bool
    """The function that gives memory that this process has freed back to the system."""


NO_TASKS: Final = WorkerTasks()


class BackgroundWorker:
    """Runs the chores of a store in a thread: rows are committed first, texts embedded last."""

    def __init__(
        self,
        repo: Repository,
        search: SearchEngine,
        tasks: WorkerTasks = NO_TASKS,
        clock: Clock | None = None,
        report: Report = _no_report,
    ) -> None:
        """Work on a store and its index; `report` is called when chores fail or recover."""
        clock = clock or Clock()
        self._call = LastCall(clock, search.running, tasks.last_call)
        memory_chores, lease = _MemoryChores(repo, search, tasks, clock), tasks.lease
        chores = [
            Chore("ingest", EVERY_S, lambda stopped: _no_more(tasks.ingest(stopped)), lease),
            Chore("commit", EVERY_S, memory_chores.commit, lease),
            Chore("prime", EVERY_S, memory_chores.renew_primes, lease),
            Chore("index", EVERY_S, memory_chores.index, lease),
            Chore("forget", EVERY_S, memory_chores.forget, lease),
            Chore("memory", _LOOK_S, lambda _: _no_more(tasks.give_back())),
        ]
        if tasks.compaction_s:
            compaction = Compaction(repo, clock.now, tasks.compaction_s)
            chores.append(Chore("compact", EVERY_S, lambda _: _no_more(compaction.run()), lease))
        if search.embedder is not None:  # processes take turns by a lock of the index
            embedding = BackgroundEmbedding(search.index, search.embedder, self._call, clock)
            chores.insert(0, Chore("warm up", math.inf, embedding.warm_up))
            chores.append(Chore("embed", EVERY_S, embedding.run))
        self._runner = ChoreRunner(chores, clock, report, START_S)

    def start(self) -> None:
        """Start the thread."""
        self._runner.start()

    def step(self) -> float:
        """Run the chores that are due; return how many seconds later the next one is."""
        return self._runner.step()

    @property
    def states(self) -> Mapping[str, ChoreState]:
        """The states of the chores that ran, by name."""
        return self._runner.states

    def called(self) -> None:
        """Record that a client's call begins, which postpones embedding."""
        self._call.begins()

    def stop(self) -> None:
        """End after the running chore; calling it twice is harmless.

        It waits for a running embedding, since the model's threads would abort an exiting process.
        """
        self._runner.stop()


def _no_more(_: object) -> bool:
    return False


class _MemoryChores:
    """The chores that commit, index and renew primes for branches changed since the last check."""

    def __init__(
        self, repo: Repository, search: SearchEngine, tasks: WorkerTasks, clock: Clock
    ) -> None:
        self._repo, self._search, self._tasks, self._clock = repo, search, tasks, clock
        self._stamp: Hashable = None
        self._looked = 0.0
        self._followed: dict[str, ReadState] = {}
        self._to_renew: set[str] | None = None
        self._to_index: list[tuple[Branch, ReadState]] = []
        self._tabled: dict[str, int] = {}
        """The number of facts of branches when their tables were renewed, by id."""
        self._mask = repo.ledger.mask
        self._forgotten: frozenset[str] = frozenset()

    def commit(self, stopped: IsStopped) -> bool:
        """Commit pending rows that are due, and find the branches that moved.

        All branches are checked if somebody wrote since the last check, or after `_LOOK_S` seconds.
        """
        stamps = (self._repo.store.stamp(), self._repo.ledger.stamp())
        now, is_first_check = self._clock.now(), self._stamp is None
        if stamps == self._stamp and now - self._looked < _LOOK_S:
            return False
        read_state_by_branch_name = self._repo.history.states(stamps[0])
        branches_with_state = [
            (branch, read_state_by_branch_name[branch.name])
            for branch in self._repo.ledger.branches()
            if branch.name in read_state_by_branch_name
        ]
        moved_branches = [
            (branch, read_state)
            for branch, read_state in branches_with_state
            if read_state != self._followed.get(branch.id)
        ]
        for branch, read_state in branches_with_state:
            if read_state.pending.count and not stopped():
                self._repo.store.commit_pending_if_due(branch.name, read_state.pending)
        self._to_renew = {
            *(self._to_renew or ()),
            *(branch.name for branch, _ in moved_branches if not is_first_check),
        }
        self._to_index = moved_branches
        self._stamp, self._looked, self._forgotten = stamps, now, frozenset()
        return False

    def renew_primes(self, _: IsStopped) -> bool:
        """Renew the primes of the branches that moved, after their due rows were committed."""
        branch_names, self._to_renew = self._to_renew, None
        if branch_names is not None:
            self._tasks.renew(sorted(branch_names))
        return False

    def index(self, stopped: IsStopped) -> bool:
        """Bring the index up to date with the branches; a branch that fails is retried."""
        store, history, index = self._repo.store, self._repo.history, self._search.index
        while self._to_index and not stopped():
            branch, read_state = self._to_index[0]
            follow(store, history, index, branch.name, branch.id)
            self._renew_tables(branch, stopped)
            self._followed[branch.id] = read_state
            self._forgotten = frozenset()
            del self._to_index[0]
        return False

    def _renew_tables(self, branch: Branch, stopped: IsStopped) -> None:
        """Renew the tables of many rows when a branch without a parent has grown by a tenth."""
        if branch.parent_id is not None:
            return
        search, counted_before = self._search, self._tabled.get(branch.id, 0)
        with self._repo.store.reading(Ref(branch=branch.name)) as reading:
            row_count = reading.count(FACT)
            if abs(row_count - counted_before) * _GROWTH > counted_before:
                limit = search.limits.exact_rows
                renew_tables(reading, self._repo.history, search.index, limit, stopped)
                self._tabled[branch.id] = row_count

    def forget(self, _: IsStopped) -> bool:
        """Remove redacted texts from this machine's index, whoever redacted them.

        Repeated after each look: a search that began earlier may have indexed one meanwhile.
        """
        hashes = frozenset() if self._search.index.read_only else self._mask().hashes
        if hashes != self._forgotten and forget(self._repo, hashes):
            self._forgotten = hashes
        return False
