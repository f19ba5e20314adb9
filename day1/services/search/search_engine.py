"""What a search works with: the store, the index, the embedder, its limits and its caches."""

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
from day1.services.search.usual import UsualCache
from day1.services.search.views import ViewCache

if TYPE_CHECKING:
    from day1.model.lessons.rating import Votes
    from day1.ports.embedder import Embedder
    from day1.ports.history import History
    from day1.ports.index import Index
    from day1.ports.store import Store


SWITCHED_OFF = "embedding is switched off (DAY1_EMBEDDER__KIND=none)"
"""Why there is no embedder at all: a missing model is an embedder that raises."""


class FallbackIndex:
    """An index of words in memory, used while the files of the index cannot be."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._guard = threading.Lock()
        self.held: tuple[Index, ViewCache] | None = None
        """The index, and its views."""

    def take(self, index: Index) -> tuple[Index, ViewCache]:
        """An index in memory, the same until it is given back, and its views."""
        with self._guard:
            self.held = self.held or (index.in_memory(), ViewCache())
            return self.held

    def give_back(self) -> None:
        """Drop the index in memory: the files can be used again."""
        self.held = None


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """Everything that a search works with; made once for a process, for its caches."""

    store: Store
    history: History
    index: Index
    embedder: Embedder | None
    """None: embedding is switched off."""
    clock: Clock
    """Tells which rows have expired, and which valid times have ended."""
    weights: Weights = field(default_factory=Weights)
    limits: SearchLimits = field(default_factory=SearchLimits)
    lengths: PassageLimits = field(default_factory=PassageLimits)
    """How many characters of long texts an answer has."""
    embedded_at_once: int = 16
    """How many texts a search embeds at most, unless it is to wait for all."""
    embedding_s: float | None = None
    """How long it does so; None: for as long as that takes, where no worker does it later."""
    words_wait_s: float = 5.0
    """How long a search indexes words, unless it is to wait for all."""
    views: ViewCache = field(default_factory=ViewCache)
    common_words: UsualCache = field(default_factory=UsualCache)
    query_vectors: QueryVectorCache = field(default_factory=QueryVectorCache)
    votes: Callable[[], Votes] = dict
    """Reads the ratings of memories from the ledger."""
    uses: Uses = field(default_factory=NoUses)
    """Counts which memories this node has shown."""
    fallback_index: FallbackIndex = field(default_factory=FallbackIndex)
    running: set[object] = field(default_factory=set)
    """The searches that run now: the background worker gives way to them."""
