"""What a process that stays does between calls: warm up, cut old rows, keep the index up."""

import logging
import threading

from day1.errors import Day1Error, EmbedderUnavailable
from day1.services.deeds import Repository
from day1.services.following import embed_pending, follow
from day1.services.searching import SearchPorts

log = logging.getLogger(__name__)

_PAUSE_S = 2.0
_BATCH = 256


class Tender:
    """One background thread; every step may fail and is tried again at the next."""

    def __init__(self, repo: Repository, search: SearchPorts) -> None:
        """Tend a memory and its index."""
        self._repo, self._search = repo, search
        self._stopped = threading.Event()

    def run(self) -> None:
        """Tend until stopped."""
        while not self._stopped.is_set():
            try:
                more = self._step()
            except Day1Error as exc:
                log.info("tending waits: %s", exc.code)
                more = False
            if not more:
                self._stopped.wait(_PAUSE_S)

    def stop(self) -> None:
        """Let the thread end after its present step."""
        self._stopped.set()

    def _step(self) -> bool:
        """Cut what is due, follow every branch, embed a batch; says whether more waits."""
        for branch in self._repo.ledger.branches():
            if branch.retired_tip is None and not self._stopped.is_set():
                self._repo.store.cut_if_due(branch.name)
                follow(
                    self._repo.store,
                    self._repo.history,
                    self._search.index,
                    branch.name,
                    branch.id,
                )
        if self._search.embedder is None or self._stopped.is_set():
            return False
        try:
            waiting = embed_pending(self._search.index, self._search.embedder, _BATCH)
        except EmbedderUnavailable:
            return False
        return self._search.index.tend() or waiting > 0
