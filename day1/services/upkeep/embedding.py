"""Embedding new texts in the pauses between calls, so that no call waits for the model."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Protocol

from day1.errors import EmbedderUnavailable
from day1.logs import note_failure
from day1.ports.embedder import Embedder
from day1.ports.index import Index
from day1.services.search.indexing import TimeBudget, embed_pending
from day1.services.upkeep.chores import Clock, IsStopped

log = logging.getLogger(__name__)

_BATCH: Final = 64
"""Passages in one batch; their vectors are written together."""
_BATCH_S: Final = 0.2
"""Maximum number of seconds that a batch takes."""
_RUN_S: Final = 2.0
"""Maximum number of seconds of one run, after which other chores run."""
_QUIET_S: Final = 0.05
"""Seconds without embedding after a call has begun, or after a search has ended."""
_MAX_DELAY_S: Final = 10.0
"""Maximum number of seconds that texts wait for a pause between calls."""


class Moment(Protocol):
    """A time that may be shared with other processes."""

    at: float
    """Seconds of the clock; 0 at first."""


@dataclass(slots=True)
class _OwnMoment:
    """A time of this process alone."""

    at: float = 0.0


class LastCall:
    """The time of the last call of a client, or of the last running search."""

    def __init__(
        self, clock: Clock, searches: Collection[object], moment: Moment | None = None
    ) -> None:
        """Begin with no call recorded; `searches` always holds the searches that are running.

        `moment` is where several workers keep the time.
        """
        self._clock, self._searches = clock, searches
        self._moment: Moment = _OwnMoment() if moment is None else moment

    @property
    def at(self) -> float:
        """The time of the last call or search, in seconds of the clock."""
        return self._moment.at

    def begins(self) -> None:
        """Record that a call begins now."""
        self._moment.at = self._clock.now()

    def is_after(self, since: float) -> bool:
        """Whether a call began or a search ran after the time `since`."""
        if self._searches:
            self._moment.at = self._clock.now()  # the pause begins when the search ends
        return self.at > since


class BackgroundEmbedding:
    """A chore that embeds the texts that wait for vectors."""

    def __init__(self, index: Index, embedder: Embedder, call: LastCall, clock: Clock) -> None:
        """Prepare the chore without loading the model."""
        self._index, self._embedder, self._call, self._clock = index, embedder, call, clock
        self._embedded = clock.now()

    def run(self, stopped: IsStopped) -> bool:
        """Embed for at most `_RUN_S`; return whether texts without vectors are left."""
        try:
            return self._embed(stopped)
        except EmbedderUnavailable:
            return False

    def warm_up(self, _: IsStopped) -> bool:
        """Load the model before a call needs it; log once if it is missing."""
        try:
            self._embedder.embed(["warm up"])
        except EmbedderUnavailable as exc:
            note_failure(log, "background work", exc)
        self._embedded = self._clock.now()
        return False

    def _embed(self, stopped: IsStopped) -> bool:
        waiting_count = None
        deadline = self._clock.now() + _RUN_S
        while waiting_count != 0 and (now := self._clock.now()) < deadline and not stopped():
            is_overdue = now - self._embedded > _MAX_DELAY_S
            if self._call.is_after(now - _QUIET_S) and not is_overdue:
                self._clock.wait(min(_QUIET_S, deadline - now))
                continue
            is_batch_over = self._batch_end(now, stopped, is_overdue=is_overdue)
            waiting_count = embed_pending(self._index, self._embedder, _BATCH, enough=is_batch_over)
            self._embedded = self._clock.now()
        if waiting_count is None or stopped():  # no pause, so no time for neighbours either
            return not stopped()
        begun_at = self._clock.now()
        # A call beside it takes up to three times as long, and does without the neighbours.
        are_neighbours_missing = self._index.update_neighbours(
            lambda: self._call.is_after(begun_at) or stopped()
        )
        return are_neighbours_missing or waiting_count > 0

    def _batch_end(
        self, begun: float, stopped: IsStopped, *, is_overdue: bool
    ) -> Callable[[], bool]:
        """Build the test that ends a batch: its time is over, or a call came and texts can wait."""
        is_over = TimeBudget(_BATCH_S, self._clock.now)

        def enough() -> bool:
            must_pause = self._call.is_after(begun) and not is_overdue
            return is_over() or must_pause or stopped()

        return enough
