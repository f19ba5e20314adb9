"""The background work of a long-running process: commit pending rows, update the index."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Hashable

from day1.errors import Day1Error, EmbedderUnavailable
from day1.logs import note_failure
from day1.model.branches.branch import Branch
from day1.model.rows.change import CommitId
from day1.ports.embedder import Embedder
from day1.services.health.compacting import compact_if_brief
from day1.services.redaction.redacting import forget
from day1.services.repository.repository import Repository
from day1.services.search.indexing import TimeBudget, embed_pending, follow
from day1.services.search.search_engine import SearchEngine

log = logging.getLogger(__name__)

_START_S = 1.0
_PAUSE_S, _LONGEST_PAUSE_S = 2.0, 60.0
"""Between two steps; each of those that fail for a reason unknown to day1 doubles it."""
_BATCH, _BATCH_S = 64, 0.2
"""Passages in one batch, which are written together, and how long it may take."""
_QUIET_S = 0.05
"""Nothing is embedded for so long after a call has begun, or after a search has ended."""
_LOOK_S = 30.0
"""How often a store that nobody writes to is looked through, since pending rows become due."""
_IDLE_S, _COMPACT_S = 60.0, 600.0
"""Compaction is thought of after so long without a call, and so often."""
_LEAVE_S = 3.0
"""Longer than a batch takes."""
_PUT_OFF_S = 10.0
"""Vectors wait for a pause between calls, but at most so long."""


def _nothing(_: Collection[str]) -> None:
    """Nothing is to be renewed."""


class BackgroundWorker:
    """A background thread. A step that fails is tried again at the next step."""

    def __init__(
        self,
        repo: Repository,
        search: SearchEngine,
        *,
        compacts: bool = False,
        ingest: Callable[[Callable[[], bool]], object] = bool,
        renew: Callable[[Collection[str]], None] = _nothing,
    ) -> None:
        """Work on a memory and its index; with `compacts` also on the size of the store.

        `ingest` ingests what hooks have heard, until what it is given says that it is enough.
        `renew` is told the branches that moved, once what is due on them is committed.
        """
        self._ingest, self._renew = ingest, renew
        self._repo, self._search, self._compacts = repo, search, compacts
        self._stopped = threading.Event()
        self._pause_s = _PAUSE_S
        self._called = self._embedded = self._looked = 0.0
        self._compacted = time.monotonic()
        self._stamp: Hashable = None
        self._followed: dict[str, CommitId] = {}
        self._mask = repo.ledger.mask
        self._forgotten: frozenset[str] = frozenset()
        self._thread = threading.Thread(target=self.run, name="day1-worker", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def run(self) -> None:
        """Work until stopped; the first second is left to the client's first call."""
        self._stopped.wait(_START_S)
        self._try(self._warm_up)
        self._embedded = time.monotonic()
        while not self._stopped.is_set():
            if not self._try(self._step):
                self._stopped.wait(self._pause_s)

    def _commit(self, moved: list[Branch]) -> None:
        """Commit pending rows that are due: before all else, so that nothing delays it."""
        for branch in moved:
            if not self._stopped.is_set():
                self._repo.store.commit_pending_if_due(branch.name)

    def _index(self, moved: list[tuple[Branch, CommitId]]) -> None:
        """Bring the index to where the branches are."""
        store, history, index = self._repo.store, self._repo.history, self._search.index
        for branch, tip in moved:
            if not self._stopped.is_set():
                follow(store, history, index, branch.name, branch.id)
                self._followed[branch.id] = tip

    def _try(self, step: Callable[[], bool]) -> bool:
        """Do a step and survive its failure; returns whether more is to be done."""
        try:
            more = step()
        except BaseException as exc:  # noqa: BLE001 - a panic of a library's is no Exception
            note_failure(log, "background work", exc)
            known = isinstance(exc, Day1Error)
            self._pause_s = _PAUSE_S if known else min(self._pause_s * 2, _LONGEST_PAUSE_S)
            return False
        self._pause_s = _PAUSE_S
        return more

    def _warm_up(self) -> bool:
        """Load the model before somebody waits for it."""
        if self._search.embedder is not None and not self._stopped.is_set():
            self._search.embedder.embed(["warm up"])
        return False

    def called(self) -> None:
        """Note that a client's call begins; embedding is put off then."""
        self._called = time.monotonic()

    def stop(self) -> None:
        """End after the present step; doing it twice is harmless.

        What is being embedded ends first: the model's threads abort an exiting process.
        """
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_LEAVE_S)

    def _step(self) -> bool:
        """Commit what is due, index new texts, embed some; returns whether more is left."""
        self._ingest(self._stopped.is_set)
        self._look()
        self._forget()
        self._compact()
        if self._search.embedder is None:
            return False
        try:
            return self._embed(self._search.embedder)
        except EmbedderUnavailable:
            return False

    def _embed(self, embedder: Embedder) -> bool:
        """Embed in the pauses between calls until the next look is due, or nothing waits."""
        waiting = None
        until = time.monotonic() + _PAUSE_S
        while waiting != 0 and (now := time.monotonic()) < until and not self._stopped.is_set():
            overdue = now - self._embedded > _PUT_OFF_S
            if self._busy(now - _QUIET_S) and not overdue:
                self._stopped.wait(min(_QUIET_S, until - now))
                continue
            waiting = embed_pending(
                self._search.index, embedder, _BATCH, enough=self._enough(now, overdue=overdue)
            )
            self._embedded = time.monotonic()
        if waiting is None or self._stopped.is_set():  # no pause, so none for neighbours either
            return not self._stopped.is_set()
        return self._search.index.update_neighbours() or waiting > 0

    def _busy(self, since: float) -> bool:
        """Whether a search ran or a call began after that time."""
        if self._search.running:
            self._called = time.monotonic()  # the pause begins when it ends
        return self._called > since

    def _enough(self, begun: float, *, overdue: bool) -> Callable[[], bool]:
        """Ends a batch when its time is over, or when a call comes, unless it is overdue."""
        time_is_over = TimeBudget(_BATCH_S)

        def enough() -> bool:
            gives_way = self._busy(begun) and not overdue
            return time_is_over() or gives_way or self._stopped.is_set()

        return enough

    def _forget(self) -> None:
        """Take out of this node's index what any node has redacted.

        Once more after each look: a search that began before may have learned it meanwhile.
        """
        hashes = frozenset() if self._search.index.read_only else self._mask().hashes
        if hashes != self._forgotten and forget(self._repo, hashes):
            self._forgotten = hashes

    def _compact(self) -> None:
        now = time.monotonic()
        idle = now - self._called > _IDLE_S and now - self._compacted > _COMPACT_S
        if self._compacts and idle and not self._stopped.is_set():
            self._compacted = now
            compact_if_brief(self._repo)

    def _look(self) -> None:
        """Look through the branches, if anybody wrote since the last time or that is long ago."""
        stamp = (self._repo.store.stamp(), self._repo.ledger.stamp())
        now, first = time.monotonic(), self._stamp is None
        if stamp == self._stamp and now - self._looked < _LOOK_S:
            return
        tips, dirty = self._repo.history.branches(), self._repo.history.dirty_branches()
        branches = [(b, tips[b.name]) for b in self._repo.ledger.branches() if b.name in tips]
        moved = [(b, t) for b, t in branches if t != self._followed.get(b.id) or b.name in dirty]
        self._commit([branch for branch, _ in moved])
        self._renew([] if first else [branch.name for branch, _ in moved])
        self._index(moved)
        self._stamp, self._looked, self._forgotten = stamp, now, frozenset()
