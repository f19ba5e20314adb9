"""Candidates of one kind: the rows nearest by meaning, the best by words, and their neighbours."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from day1.model.rows.kind import Kind
from day1.model.search.ranking import Candidate, Question, part_lent, words_in_context
from day1.model.search.wording import any_of
from day1.services.search.filters import Filter
from day1.services.search.live_query import LiveQuery
from day1.services.search.views import CachedView, among, weighed_by

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder
    from day1.ports.index import Again, Index, TextId, Vector
    from day1.services.search.entries import Entry

_QUESTIONS = 32
"""Questions whose vectors are remembered."""
_LEADING = 25
"""So many of each list lead to their neighbours; more change nothing."""


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
    apart: bool = False
    """Whether words are weighed by the visible texts alone: for who may not see all branches."""


class QueryVectorCache:
    """A cache of vectors of the last queries: the same query may be asked of many branches."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Vector] = OrderedDict()

    def of(self, embedder: Embedder, text: str, given: Vector | None) -> Vector:
        """The vector of a query: the one that was given with it, else its text's.

        Raises:
            EmbedderUnavailable: there is no model.
        """
        return self.vectors(embedder, [text])[text] if given is None else given

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
class AskedQuery:
    """The query as it is looked up and embedded."""

    terms: list[str]
    """Words and phrases; none to look by meaning only."""
    embedded: str = ""
    """What of it is embedded; nothing by words alone."""
    names: frozenset[str] = frozenset()
    """The names in the memories that are searched."""


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """A query for candidates among the visible rows of one kind."""

    index: Index
    limits: SearchLimits
    wanted: Filter
    question: Question
    asked: AskedQuery
    meaning: QueryVector | None
    """None to look by words only."""
    exactly: Callable[[], AbstractContextManager[CachedView]]
    """A view of the same state, for when the neighbours do not suffice."""
    in_order: bool
    """Whether what was written beside a row counts for it."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best rows of one list, and the scores of texts that are known from there."""

    entries: list[Entry] = field(default_factory=list)
    scores: dict[TextId, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found. `texts` by row id; `missing` texts have no vector."""

    found: list[Candidate]
    texts: dict[str, TextId]
    missing: int


class Found(NamedTuple):
    """A candidate, its kind and its text."""

    candidate: Candidate
    kind: Kind
    text: TextId


def nearest(
    looking: CandidateQuery, visible: CachedView | LiveQuery, meaning: QueryVector
) -> tuple[Best, int]:
    """The visible rows that are nearest to the question, and how many texts have no vector."""
    if isinstance(visible, LiveQuery):
        entries = _neighbours(looking, visible, meaning)
        if entries is not None:
            return Best(entries), looking.index.vectors.pending(meaning.embedder)
        with looking.exactly() as view:
            return _compared(looking, view, meaning)
    return _compared(looking, visible, meaning)


def _compared(looking: CandidateQuery, view: CachedView, meaning: QueryVector) -> tuple[Best, int]:
    texts, most = view.texts(looking.wanted), looking.limits.candidates
    near, missing = looking.index.vectors.nearest(meaning.embedder, meaning.vector, texts, most)
    return Best(view.entries(near, looking.wanted)[:most], near), missing


def _neighbours(
    looking: CandidateQuery, visible: LiveQuery, meaning: QueryVector
) -> list[Entry] | None:
    """Visible rows among more and more neighbours; None if there are never enough."""
    limits = looking.limits
    seen: set[TextId] = set()
    entries: list[Entry] = []
    for limit in limits.neighbours:
        texts, complete = _of_all_branches(looking, meaning, limit)
        new = [text for text in dict.fromkeys(texts) if text not in seen]
        entries += visible.entries(new, looking.wanted)
        if len(entries) >= limits.enough or complete:
            return entries[: limits.candidates]
        if not new:
            return None
        seen.update(new)
    return None


def _of_all_branches(
    looking: CandidateQuery, meaning: QueryVector, limit: int
) -> tuple[list[TextId], bool]:
    """The nearest texts of all branches, and whether these are all that have vectors."""
    kind, vectors = looking.wanted.kind, looking.index.vectors
    texts = vectors.neighbours(kind, meaning.embedder, meaning.vector, limit)
    if texts is not None:
        return texts, False
    texts = vectors.closest(kind, meaning.embedder, meaning.vector, limit)
    return texts, len(texts) < limit


def candidates(looking: CandidateQuery, visible: CachedView | LiveQuery) -> Candidates:
    """The best rows by meaning and the best by words, each with both true scores.

    Where order tells, also what was written next to the first of them, and then the words of
    neighbours count. A score is looked up where a row is on one list only: to call an absent score
    0 costs ten points of recall (`model.search.ranking`).
    """
    index, kind, meaning = looking.index, looking.wanted.kind, looking.meaning
    near, missing = Best(), 0
    if meaning is not None:
        near, missing = nearest(looking, visible, meaning)
    asked = looking.asked.terms and looking.question.mode != "vector"
    worded = by_words(looking, visible) if asked else Best()
    limits = looking.limits
    again = weighed_by(looking.wanted, visible, limits.candidates, apart=limits.apart)
    lines = lines_around(looking, visible, near, worded) if looking.in_order else []
    beside = among(looking.wanted, chain.from_iterable(lines)) if lines else []
    entries = {entry.row_id: entry for entry in (*near.entries, *worded.entries, *beside)}
    texts = {entry.text for entry in chain(entries.values(), *lines)}
    bm25, cosines = worded.scores, near.scores
    several: dict[TextId, int] = {}
    if meaning is not None:
        others = list(texts - cosines.keys())
        cosines |= index.vectors.cosines(meaning.embedder, meaning.vector, others)
        several = index.vectors.several_passages(meaning.embedder, list(texts))
    stands: dict[str, tuple[float, float]] = {}
    if lines:
        bm25, stands = in_context(looking, lines, texts, cosines, again=again)
    elif looking.asked.terms:
        others = list(texts - bm25.keys())
        bm25 |= index.words.scores(kind, looking.asked.terms, others, again=again)
    found = [
        Candidate(
            entry.row_id,
            entry.created_at,
            entry.happened_at,
            cosines.get(entry.text),
            *stands.get(entry.row_id, (bm25.get(entry.text, 0.0), 0.0)),
            several.get(entry.text, 1),
        )
        for entry in entries.values()
    ]
    return Candidates(found, {row_id: entry.text for row_id, entry in entries.items()}, missing)


def by_words(looking: CandidateQuery, visible: CachedView | LiveQuery) -> Best:
    """The visible rows with the best scores by words."""
    most = looking.limits.candidates
    again = weighed_by(looking.wanted, visible, most, apart=looking.limits.apart)
    if isinstance(visible, CachedView) and again is not False:
        texts = list(visible.texts(looking.wanted))
        terms, kind = looking.asked.terms, looking.wanted.kind
        found = looking.index.words.scores(kind, terms, texts, again=again)
        best = sorted(found, key=lambda text: (-found[text], -text))
        return Best(visible.entries(best, looking.wanted)[:most], found)
    limit, seen = most, 0
    entries = visible.entries((), looking.wanted)
    while True:
        scores = looking.index.words.best(looking.wanted.kind, any_of(*looking.asked.terms), limit)
        entries += visible.entries(islice(scores, seen, None), looking.wanted)
        if len(entries) >= most or len(scores) < limit:
            return Best(entries[:most], scores)
        # So many as should suffice if the rest is as visible, since each time all are scored.
        seen, limit = limit, max(4 * limit, limit * most // max(1, len(entries)))


def lines_around(
    looking: CandidateQuery, visible: CachedView | LiveQuery, near: Best, worded: Best
) -> list[list[Entry]]:
    """What was written next to the first rows of both lists, in lines of consecutive rows."""
    leading = [*near.entries[:_LEADING], *worded.entries[:_LEADING]]
    far = len(looking.question.weights.neighbour_shares)
    return visible.around({entry.row_id: entry for entry in leading}.values(), far) if far else []


def in_context(
    looking: CandidateQuery,
    lines: Sequence[Sequence[Entry]],
    texts: Collection[TextId],
    cosines: Mapping[TextId, float],
    *,
    again: Again,
) -> tuple[dict[TextId, float], dict[str, tuple[float, float]]]:
    """What the words of `texts` score, each alone, and how the rows of `lines` stand.

    `again` is for texts of a scope that is asked for again and again.

    Returns:
        The BM25 of texts, and for each row of a line, by id: the BM25 of its words in context, and
        the higher cosine of the rows just before and after, less for a long text.
    """
    kind, terms = looking.wanted.kind, looking.asked.terms
    words = looking.index.words.each(kind, terms, list(texts), again=again)
    alone: dict[TextId, float] = {}
    for scores in words:
        for text, score in scores.items():
            alone[text] = alone.get(text, 0.0) + score
    contents = looking.index.words.texts(kind, [entry.text for line in lines for entry in line])
    lengths = {text: len(content.split()) for text, content in contents.items()}
    weights, stands = looking.question.weights, {}
    for line in lines:
        line_texts = [entry.text for entry in line]
        near = [0.0, *(cosines.get(text, 0.0) for text in line_texts), 0.0]
        long = [lengths.get(text, 0) for text in line_texts]
        parts = [part_lent(length, weights.neighbour_words) for length in long]
        heard = words_in_context(words, line_texts, weights.neighbour_shares, parts)
        for at, (entry, score) in enumerate(zip(line, heard, strict=True)):
            beside = max(near[at], near[at + 2]) * part_lent(long[at], weights.beside_words)
            stands[entry.row_id] = score, beside
    return alone, stands
