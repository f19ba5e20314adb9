"""What a search works with, what is asked of it, and what it answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from day1.model.rows.change import CommitId, Pending
from day1.model.rows.kind import Cell, Kind, Row
from day1.model.search.passages import FoundText, PassageLimits
from day1.model.search.ranking import Mode, Weights
from day1.model.values.callbacks import Clock
from day1.ports.uses import NoUses, Uses
from day1.services.search.candidates import QueryVectorCache, SearchLimits
from day1.services.search.usual import UsualCache
from day1.services.search.views import ViewCache

if TYPE_CHECKING:
    from day1.model.lessons.rating import Votes
    from day1.model.values.parts import Part
    from day1.ports.embedder import Embedder
    from day1.ports.history import History
    from day1.ports.index import Index, Vector
    from day1.ports.store import Store


SWITCHED_OFF = "embedding is switched off (DAY1_EMBEDDER__KIND=none)"
"""Why there is no embedder at all: a missing model is an embedder that raises."""


class Aside:
    """An index of words in memory, for while the files of the index cannot be used."""

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
class SearchPorts:
    """What a search works with. Made once for a process: `views` is what makes it quick."""

    store: Store
    history: History
    index: Index
    embedder: Embedder | None
    """None: embedding is switched off."""
    clock: Clock
    """By it rows expire, and valid times end."""
    weights: Weights = field(default_factory=Weights)
    reach: SearchLimits = field(default_factory=SearchLimits)
    lengths: PassageLimits = field(default_factory=PassageLimits)
    """How much of long texts an answer has."""
    embedded_at_once: int = 16
    """How many texts a search embeds at most, unless it is to wait for all."""
    embedding_s: float | None = None
    """How long it does so; None: for as long as that takes, where no worker does it later."""
    words_wait_s: float = 5.0
    """How long a search indexes words, unless it is to wait for all."""
    views: ViewCache = field(default_factory=ViewCache)
    usual: UsualCache = field(default_factory=UsualCache)
    questions: QueryVectorCache = field(default_factory=QueryVectorCache)
    votes: Callable[[], Votes] = dict
    """How useful memories were found: the ledger's."""
    uses: Uses = field(default_factory=NoUses)
    """What this node has shown."""
    aside: Aside = field(default_factory=Aside)
    running: set[object] = field(default_factory=set)
    """The searches that run now: the background worker gives way to them."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is asked. Units: instants in microseconds UTC, both ends included."""

    query: str
    mode: Mode = "hybrid"
    kinds: tuple[str, ...] = ("facts",)
    """Tables whose rows are wanted: facts, observations, messages."""
    category: str | None = None
    after: int | None = None
    before: int | None = None
    limit: int = 10
    min_score: float = 0.0
    include_inactive: bool = False
    """Also facts that are superseded, archived or invalidated, or whose valid time is over."""
    as_of_event: int | None = None
    """Only what was true at this instant, superseded or not since then."""
    wait: bool = False
    """Wait until every text of the branch has its words and vectors."""
    equal: Mapping[str, Cell] = field(default_factory=dict)
    """Further columns (facets, `SCOPES`) and their values: conversation_id, role, space (None: the
    rows that have none)."""
    among: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """Facets and the values of which they have one."""
    only: frozenset[str] | None = None
    """Ids of the rows that may be found; None: any."""
    vector: Vector | None = None
    """Of length 1, by the embedder: looked for in place of the query's own."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found row. `score`, `cosine` and `keyword` are in 0..1."""

    row: Row
    kind: Kind
    score: float
    cosine: float | None
    keyword: float
    text: FoundText
    """The whole text of the row."""
    part: Part | None = None
    """The place of the row in a text that is kept in parts."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a search answers, and what it was read from."""

    hits: list[Hit]
    mode_used: Mode
    pending_vectors: int
    """Texts that have no vector yet, and so were found by words only."""
    notes: list[str]
    commit: CommitId
    pending: Pending
