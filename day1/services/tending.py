"""What a process that stays does between calls: warm up, cut old rows, keep the index up."""

import contextlib
import logging
import threading
import time
from collections.abc import Hashable

from day1.errors import Day1Error, EmbedderUnavailable
from day1.model.branch import Branch
from day1.model.change import CommitId
from day1.services.compacting import compact_if_brief
from day1.services.deeds import Repository, forget
from day1.services.following import embed_pending, follow
from day1.services.masking import Masking
from day1.services.searching import SearchPorts

log = logging.getLogger(__name__)

_START_S = 1.0
_PAUSE_S = 2.0
_BATCH = 64
"""Passages embedded at once: 0.2 s in which both cores are busy."""
_QUIET_S = 0.5
_LOOK_S = 30.0
"""A store that nobody writes to is looked through so often: waiting rows grow old."""
_IDLE_S, _COMPACT_S = 60.0, 600.0
"""Compaction is thought of after so long without a call, and so often."""
_LEAVE_S = 3.0
"""Longer than a batch takes."""
_PUT_OFF_S = 10.0
"""Vectors wait for a pause between calls, but at most so long; a search embeds the newest 16."""


class Tender:
    """One background thread; every step may fail and is tried again at the next."""

    def __init__(self, repo: Repository, search: SearchPorts, *, compacts: bool = False) -> None:
        """Tend a memory and its index; with `compacts` also its size, when nobody calls."""
        self._repo, self._search, self._compacts = repo, search, compacts
        self._stopped = threading.Event()
        self._called = self._embedded = self._looked = 0.0
        self._compacted = time.monotonic()
        self._stamp: Hashable = None
        self._followed: dict[str, CommitId] = {}
        self._mask = Masking(repo.ledger)
        self._forgotten: frozenset[str] = frozenset()
        self._thread = threading.Thread(target=self.run, name="day1-tender", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def run(self) -> None:
        """Tend until stopped; the first second belongs to the client's greeting."""
        self._stopped.wait(_START_S)
        self._warm_up()
        self._embedded = time.monotonic()
        while not self._stopped.is_set():
            try:
                more = self._step()
            except Day1Error as exc:
                log.info("tending waits: %s", exc.code)
                more = False
            if not more:
                self._stopped.wait(_PAUSE_S)

    def _warm_up(self) -> None:
        """Load the model before somebody waits for it."""
        if self._search.embedder is not None and not self._stopped.is_set():
            with contextlib.suppress(EmbedderUnavailable):
                self._search.embedder.embed(["warm up"])

    def called(self) -> None:
        """Note that a client's call begins: embedding lets it go first."""
        self._called = time.monotonic()

    def _may_embed(self) -> bool:
        """Whether no call came just now, or embedding has been put off for long enough."""
        now = time.monotonic()
        return now - self._called > _QUIET_S or now - self._embedded > _PUT_OFF_S

    def stop(self) -> None:
        """End after the present step; doing it twice is harmless.

        A batch that is being embedded ends first: the model's threads abort an exiting process.
        """
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_LEAVE_S)

    def _tend(self, branch: Branch) -> None:
        self._repo.store.cut_if_due(branch.name)
        index = self._search.index
        follow(self._repo.store, self._repo.history, index, branch.name, branch.id)

    def _step(self) -> bool:
        """Cut what is due, follow every branch, embed a batch; says whether more waits."""
        self._look()
        self._forget()
        self._compact()
        if self._search.embedder is None or self._stopped.is_set() or not self._may_embed():
            return False
        try:
            waiting = embed_pending(self._search.index, self._search.embedder, _BATCH)
            self._embedded = time.monotonic()
        except EmbedderUnavailable:
            return False
        return self._search.index.tend() or waiting > 0

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
        stamp, now = self._repo.store.stamp(), time.monotonic()
        if stamp == self._stamp and now - self._looked < _LOOK_S:
            return
        tips, unsettled = self._repo.history.branches(), self._repo.history.unsettled()
        for branch in self._repo.ledger.branches():
            tip = tips.get(branch.name)
            moved = tip != self._followed.get(branch.id) or branch.name in unsettled
            if tip is not None and moved and not self._stopped.is_set():
                self._tend(branch)
                self._followed[branch.id] = tip
        self._stamp, self._looked, self._forgotten = stamp, now, frozenset()
