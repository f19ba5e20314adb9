"""What a search needs: store, index, embedder, limits and caches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from day1.model.search.passages import PassageLimits
from day1.model.search.ranking import Weights
from day1.model.values.callbacks import Clock
from day1.ports.uses import NoUses, Uses
from day1.services.search.candidates import QueryVectorCache, SearchLimits
from day1.services.search.indexing import TimeBudget, embed_pending
from day1.services.search.usual import UsualCache
from day1.services.search.views import ViewCache

if TYPE_CHECKING:
    from day1.model.lessons.rating import Votes
    from day1.ports.embedder import Embedder
    from day1.ports.history import History
    from day1.ports.index import EmbedFirst, Index
    from day1.ports.store import Store


SWITCHED_OFF = "embedding is switched off (DAY1_EMBEDDER__KIND=none)"
"""The note for searches without an embedder (a missing model is an embedder that raises)."""


class FallbackIndex:
    """An index of words in memory, used while the index's files cannot be used."""

    def __init__(self) -> None:
        """Begin without an index."""
        self._guard = threading.Lock()
        self.held: tuple[Index, ViewCache] | None = None
        """The index in memory and its views; None while the files are used."""

    def take(self, index: Index) -> tuple[Index, ViewCache]:
        """Return an index in memory and its views, the same ones until `give_back`."""
        with self._guard:
            self.held = self.held or (index.in_memory(), ViewCache())
            return self.held

    def give_back(self) -> None:
        """Drop the index in memory, since the files can be used again."""
        self.held = None


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """Everything that a search needs; made once per process, since it has the caches."""

    store: Store
    history: History
    index: Index
    embedder: Embedder | None
    """The embedder of queries and texts; None: embedding is switched off."""
    clock: Clock
    """The clock that decides which rows have expired or ended."""
    weights: Weights = field(default_factory=Weights)
    limits: SearchLimits = field(default_factory=SearchLimits)
    lengths: PassageLimits = field(default_factory=PassageLimits)
    """Limits for quotations from long texts in an answer."""
    embedded_at_once: int = 16
    """Passages that a search embeds, at most, unless it waits for all."""
    embedding_s: float | None = None
    """Seconds that a search embeds, at most; None: no limit, if no worker embeds later."""
    words_wait_s: float = 5.0
    """Seconds that a search indexes words, at most, unless it waits for all."""
    views: ViewCache = field(default_factory=ViewCache)
    common_words: UsualCache = field(default_factory=UsualCache)
    query_vectors: QueryVectorCache = field(default_factory=QueryVectorCache)
    votes: Callable[[], Votes] = dict
    """The reader of the ratings of memories, which are in the ledger."""
    uses: Uses = field(default_factory=NoUses)
    """The counter of the memories that this machine has shown."""
    fallback_index: FallbackIndex = field(default_factory=FallbackIndex)
    running: set[object] = field(default_factory=set)
    """The searches that run now; the background worker pauses for them."""

    def embed_waiting(
        self, embedder: Embedder, first: EmbedFirst | None = None, *, all_of_them: bool = False
    ) -> None:
        """Embed texts that wait for vectors: as many as one search may, or `all_of_them`.

        Those of `first` come first, then the newest.

        Raises:
            EmbedderUnavailable: there is no model.
            IndexBehind: the index cannot be written now.
        """
        max_seconds = self.embedding_s
        passage_limit = 0 if max_seconds == 0 else self.embedded_at_once
        is_time_over = None if max_seconds is None else TimeBudget(max_seconds)
        embed_limit = None if all_of_them else passage_limit
        embed_pending(self.index, embedder, embed_limit, first, is_time_over)
