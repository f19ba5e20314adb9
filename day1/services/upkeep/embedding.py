"""Embedding new texts in the pauses between calls, so that no call waits for the model."""

import logging
from collections.abc import Callable, Collection
from typing import Final

from day1.errors import EmbedderUnavailable
from day1.logs import note_failure
from day1.ports.embedder import Embedder
from day1.ports.index import Index
from day1.services.search.indexing import TimeBudget, embed_pending
from day1.services.upkeep.chores import Clock, IsStopped

log = logging.getLogger(__name__)

_BATCH: Final = 64
"""Passages in one batch, which are written together."""
_BATCH_S: Final = 0.2
"""How long a batch may take."""
_TURN_S: Final = 2.0
"""How long one run takes while texts wait: then the other chores have their turn."""
_QUIET_S: Final = 0.05
"""Nothing is embedded for so long after a call has begun, or after a search has ended."""
_PUT_OFF_S: Final = 10.0
"""Vectors wait for a pause between calls, but at most so long."""


class LastCall:
    """When a client last called, or a search last ran."""

    def __init__(self, clock: Clock, searches: Collection[object]) -> None:
        """Know of no call; `searches` are those that run."""
        self._clock, self._searches = clock, searches
        self.at = 0.0
        """Seconds of the clock."""

    def begins(self) -> None:
        """Note that a call begins."""
        self.at = self._clock.now()

    def is_after(self, since: float) -> bool:
        """Whether a call began or a search ran after that time."""
        if self._searches:
            self.at = self._clock.now()  # the pause begins when the search ends
        return self.at > since


class BackgroundEmbedding:
    """Embeds the texts that wait for vectors."""

    def __init__(self, index: Index, embedder: Embedder, call: LastCall, clock: Clock) -> None:
        """Embed nothing yet."""
        self._index, self._embedder, self._call, self._clock = index, embedder, call, clock
        self._embedded = clock.now()

    def run(self, stopped: IsStopped) -> bool:
        """Embed for a turn, or until nothing waits; return whether texts still wait."""
        try:
            return self._embed(stopped)
        except EmbedderUnavailable:
            return False

    def warm_up(self, _: IsStopped) -> bool:
        """Load the model before a call needs it; where there is none, that is said once."""
        try:
            self._embedder.embed(["warm up"])
        except EmbedderUnavailable as exc:
            note_failure(log, "background work", exc)
        self._embedded = self._clock.now()
        return False

    def _embed(self, stopped: IsStopped) -> bool:
        waiting = None
        until = self._clock.now() + _TURN_S
        while waiting != 0 and (now := self._clock.now()) < until and not stopped():
            is_overdue = now - self._embedded > _PUT_OFF_S
            if self._call.is_after(now - _QUIET_S) and not is_overdue:
                self._clock.wait(min(_QUIET_S, until - now))
                continue
            enough = self._enough(now, stopped, is_overdue=is_overdue)
            waiting = embed_pending(self._index, self._embedder, _BATCH, enough=enough)
            self._embedded = self._clock.now()
        if waiting is None or stopped():  # no pause, so none for neighbours either
            return not stopped()
        return self._index.update_neighbours() or waiting > 0

    def _enough(self, begun: float, stopped: IsStopped, *, is_overdue: bool) -> Callable[[], bool]:
        """Ends a batch when its time is over, or when a call comes, unless it is overdue."""
        is_over = TimeBudget(_BATCH_S, self._clock.now)

        def enough() -> bool:
            gives_way = self._call.is_after(begun) and not is_overdue
            return is_over() or gives_way or stopped()

        return enough
