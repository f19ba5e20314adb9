"""Candidates of one kind: the best rows by meaning and the best by words, each with both scores.

It is the union of both lists. If a row is on one list only, its other score is looked up: taking 0
for it would cost ten points of recall (`model.search.ranking`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from day1.model.search.ranking import Candidate
from day1.services.search.filters import Filter
from day1.services.search.views import CachedView, Entry, LiveQuery

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder
    from day1.ports.index import Index, TextId, Vector

_QUESTIONS = 32
"""Questions whose vectors are remembered."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of a search, in rows and candidates. Each of them is a setting."""

    exact_rows: int = 20_000
    """Up to so many visible rows, the vectors of exactly those are compared."""
    candidates: int = 200
    """Rows of each list."""
    neighbours: tuple[int, ...] = (200, 800, 3_200)
    """How many are asked for, one number after the other, until `enough` are visible."""
    enough: int = 50


class QueryVectorCache:
    """A cache of vectors of the last queries: the same query may be asked of many branches."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Vector] = OrderedDict()

    def vectors(self, embedder: Embedder, texts: Sequence[str]) -> dict[str, Vector]:
        """The vector of each of `texts`, each of them once.

        Raises:
            EmbedderUnavailable: there is no model.
        """
        with self._guard:
            found = {t: v for t in texts if (v := self._known.get((embedder.name, t))) is not None}
        new = [text for text in texts if text not in found]
        if new:
            found |= zip(new, embedder.embed(new), strict=True)
        with self._guard:
            for text in texts:
                self._known[embedder.name, text] = found[text]
                self._known.move_to_end((embedder.name, text))
            while len(self._known) > _QUESTIONS:
                self._known.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, and its embedder."""

    embedder: Embedder
    vector: Vector


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """A query for candidates among the visible rows of one kind."""

    index: Index
    reach: SearchLimits
    wanted: Filter
    match: str
    """FTS5 expression; empty to look by meaning only."""
    meaning: QueryVector | None
    """None to look by words only."""
    exactly: Callable[[], AbstractContextManager[CachedView]]
    """A view of the same state, for when the neighbours do not suffice."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found. `texts` by row id; `missing` texts have no vector."""

    found: list[Candidate]
    texts: dict[str, TextId]
    missing: int


def candidates(
    looking: CandidateQuery, visible: CachedView | LiveQuery, *, by_words: bool
) -> Candidates:
    """The best rows by meaning and, with `by_words`, the best by words."""
    index, wanted, meaning = looking.index, looking.wanted, looking.meaning
    near, missing = _Best(), 0
    if meaning is not None:
        near, missing = _nearest(looking, visible, meaning)
    worded = _worded(looking, visible) if by_words and looking.match else _Best()
    entries = {entry.row_id: entry for entry in (*near.entries, *worded.entries)}
    texts = {entry.text for entry in entries.values()}
    bm25, cosines = worded.scores, near.scores
    if looking.match:
        bm25 |= index.words.scores(wanted.kind, looking.match, list(texts - bm25.keys()))
    if meaning is not None:
        others = list(texts - cosines.keys())
        cosines |= index.vectors.cosines(meaning.embedder, meaning.vector, others)
    contents = index.words.texts(wanted.kind, list(texts))
    found = [
        Candidate(
            entry.row_id,
            contents[entry.text],
            entry.created_at,
            entry.happened_at,
            cosines.get(entry.text),
            bm25.get(entry.text, 0.0),
        )
        for entry in entries.values()
        if entry.text in contents
    ]
    return Candidates(found, {entry.row_id: entry.text for entry in entries.values()}, missing)


@dataclass(frozen=True, slots=True)
class _Best:
    """The best rows of one list, and the scores of texts that are known from there."""

    entries: list[Entry] = field(default_factory=list)
    scores: dict[TextId, float] = field(default_factory=dict)


def _nearest(
    looking: CandidateQuery, visible: CachedView | LiveQuery, meaning: QueryVector
) -> tuple[_Best, int]:
    """The visible rows that are nearest to the question, and how many texts have no vector."""
    if isinstance(visible, LiveQuery):
        entries = _neighbours(looking, visible, meaning)
        if entries is not None:
            return _Best(entries), looking.index.vectors.pending(meaning.embedder)
        with looking.exactly() as view:
            return _compared(looking, view, meaning)
    return _compared(looking, visible, meaning)


def _compared(looking: CandidateQuery, view: CachedView, meaning: QueryVector) -> tuple[_Best, int]:
    texts, most = view.texts(looking.wanted), looking.reach.candidates
    near, missing = looking.index.vectors.nearest(meaning.embedder, meaning.vector, texts, most)
    return _Best(view.entries(near, looking.wanted)[:most], near), missing


def _neighbours(
    looking: CandidateQuery, visible: LiveQuery, meaning: QueryVector
) -> list[Entry] | None:
    """Visible rows among more and more neighbours; None if there are never enough."""
    kind, reach = looking.wanted.kind, looking.reach
    seen: set[TextId] = set()
    entries: list[Entry] = []
    for limit in reach.neighbours:
        texts = looking.index.vectors.neighbours(kind, meaning.embedder, meaning.vector, limit)
        if texts is None:
            return None
        new = [text for text in dict.fromkeys(texts) if text not in seen]
        entries += visible.entries(new, looking.wanted)
        if len(entries) >= reach.enough:
            return entries[: reach.candidates]
        if not new:
            return None
        seen.update(new)
    return None


def _worded(looking: CandidateQuery, visible: CachedView | LiveQuery) -> _Best:
    """The visible rows with the best scores by words."""
    most = looking.reach.candidates
    if looking.wanted.scope and isinstance(visible, CachedView):  # so few that they are asked for
        texts = visible.texts(looking.wanted)
        found = looking.index.words.scores(looking.wanted.kind, looking.match, list(texts))
        best = sorted(found, key=lambda text: (-found[text], -text))
        return _Best(visible.entries(best, looking.wanted)[:most], found)
    limit, seen = most, 0
    entries: list[Entry] = []
    while True:
        scores = looking.index.words.best(looking.wanted.kind, looking.match, limit)
        entries += visible.entries(islice(scores, seen, None), looking.wanted)
        if len(entries) >= most or len(scores) < limit:
            return _Best(entries[:most], scores)
        # So many as should suffice if the rest is as visible, since each time all are scored.
        seen, limit = limit, max(4 * limit, limit * most // max(1, len(entries)))
