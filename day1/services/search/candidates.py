"""Finding candidates of one kind: nearest by meaning, best by words, and rows beside them.

Then the rows of the best candidates are read for display.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.kind import Cell, Kind, Row, kind_of
from day1.model.search.ranking import Candidate, Question, part_lent, words_in_context
from day1.model.search.wording import any_of
from day1.model.values.space import EVERY
from day1.services.search.filters import Filter
from day1.services.search.live_query import LiveQuery
from day1.services.search.views import CachedView, among, weighed_by

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder
    from day1.ports.index import Again, Index, TextId, Vector
    from day1.ports.reading import Reading
    from day1.services.search.entries import Entry

_MAX_CACHED_QUERIES = 32
"""Maximum number of queries whose vectors are cached."""
_WITH_NEIGHBOURS = 25
"""Number of first rows of each list whose neighbours become candidates; more change nothing."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """The limits of a search, in rows and candidates. Each of them is a setting."""

    exact_rows: int = 20_000
    """Visible rows up to which all their vectors are compared."""
    candidates: int = 200
    """Rows of each list (by meaning, by words), at most."""
    neighbours: tuple[int, ...] = (200, 800, 3_200)
    """Numbers of neighbours to ask for, one after the other, until `enough` are visible."""
    enough: int = 50
    apart: bool = False
    """Whether word weights come from visible texts alone: for callers with limited branches."""


class QueryVectorCache:
    """A cache of vectors of recent queries, since one query may be asked on many branches."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Vector] = OrderedDict()

    def of(self, embedder: Embedder, text: str, vector: Vector | None) -> Vector:
        """Return the vector of a query: the given one, or the embedded text.

        Raises:
            EmbedderUnavailable: there is no model.
        """
        return self.vectors(embedder, [text])[text] if vector is None else vector

    def vectors(self, embedder: Embedder, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vector of each text, embedding texts that are not cached.

        Raises:
            EmbedderUnavailable: there is no model.
        """
        with self._guard:
            vector_by_text = {
                query_text: cached_vector
                for query_text in texts
                if (cached_vector := self._known.get((embedder.name, query_text))) is not None
            }
        uncached_texts = [text for text in texts if text not in vector_by_text]
        if uncached_texts:
            vector_by_text |= zip(uncached_texts, embedder.embed(uncached_texts), strict=True)
        with self._guard:
            for text in texts:
                self._known[embedder.name, text] = vector_by_text[text]
                self._known.move_to_end((embedder.name, text))
            while len(self._known) > _MAX_CACHED_QUERIES:
                self._known.popitem(last=False)
        return vector_by_text


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The vector of a query, and the embedder that made it."""

    embedder: Embedder
    vector: Vector


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query prepared for lookup by words and for embedding."""

    terms: list[str]
    """Words and phrases to look up; empty to search by meaning only."""
    embedded: str = ""
    """The part of the query to embed; empty to search by words only."""
    names: frozenset[str] = frozenset()
    """Names that are usual in the searched memories."""


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """A query for candidates among the visible rows of one kind."""

    index: Index
    limits: SearchLimits
    wanted: Filter
    question: Question
    asked: AskedQuery
    meaning: QueryVector | None
    """The query's vector; None to search by words only."""
    exactly: Callable[[], AbstractContextManager[CachedView]]
    """The function that opens a view of the same state, for when too few neighbours are visible."""
    in_order: bool
    """Whether rows written beside a row count for its scores."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best rows by meaning or by words, and scores by text as far as they are known."""

    entries: list[Entry] = field(default_factory=list)
    scores: dict[TextId, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The found candidates, their texts by row id, and the number of texts without vectors."""

    found: list[Candidate]
    texts: dict[str, TextId]
    missing: int


class Found(NamedTuple):
    """A candidate with its kind and text number."""

    candidate: Candidate
    kind: Kind
    text: TextId


def nearest(
    query: CandidateQuery, visible: CachedView | LiveQuery, meaning: QueryVector
) -> tuple[Best, int]:
    """Find the visible rows nearest to the query; also count texts without vectors."""
    if isinstance(visible, LiveQuery):
        neighbour_entries = _neighbours(query, visible, meaning)
        if neighbour_entries is not None:
            return Best(neighbour_entries), query.index.vectors.pending(meaning.embedder)
        with query.exactly() as view:
            return _compared(query, view, meaning)
    return _compared(query, visible, meaning)


def _compared(query: CandidateQuery, view: CachedView, meaning: QueryVector) -> tuple[Best, int]:
    visible_text_ids, limit = view.texts(query.wanted), query.limits.candidates
    cosine_by_text, missing_vector_count = query.index.vectors.nearest(
        meaning.embedder, meaning.vector, visible_text_ids, limit
    )
    return Best(
        view.entries(cosine_by_text, query.wanted)[:limit], cosine_by_text
    ), missing_vector_count


def _neighbours(
    query: CandidateQuery, visible: LiveQuery, meaning: QueryVector
) -> list[Entry] | None:
    """Find visible rows among growing numbers of neighbours; None if too few are visible."""
    limits = query.limits
    seen_text_ids: set[TextId] = set()
    entries: list[Entry] = []
    for limit in limits.neighbours:
        text_ids, are_all_texts = _of_all_branches(query, meaning, limit)
        new_text_ids = [
            text_id for text_id in dict.fromkeys(text_ids) if text_id not in seen_text_ids
        ]
        entries += visible.entries(new_text_ids, query.wanted)
        if len(entries) >= limits.enough or are_all_texts:
            return entries[: limits.candidates]
        if not new_text_ids:
            return None
        seen_text_ids.update(new_text_ids)
    return None


def _of_all_branches(
    query: CandidateQuery, meaning: QueryVector, limit: int
) -> tuple[list[TextId], bool]:
    """Find the nearest texts of all branches, and whether these are all texts with vectors."""
    kind, vector_index = query.wanted.kind, query.index.vectors
    text_ids = vector_index.neighbours(kind, meaning.embedder, meaning.vector, limit)
    if text_ids is not None:
        return text_ids, False
    text_ids = vector_index.closest(kind, meaning.embedder, meaning.vector, limit)
    return text_ids, len(text_ids) < limit


def candidates(query: CandidateQuery, visible: CachedView | LiveQuery) -> Candidates:
    """Find the best rows by meaning and by words; each row gets its exact scores by both.

    If order matters, rows written next to the first of these rows are candidates too, and words of
    neighbours count. If only one list has a row, its other score is looked up: taking that score
    as 0 costs ten points of recall (`model.search.ranking`).
    """
    index, kind, meaning = query.index, query.wanted.kind, query.meaning
    nearest_rows, missing_vector_count = Best(), 0
    if meaning is not None:
        nearest_rows, missing_vector_count = nearest(query, visible, meaning)
    uses_words = query.asked.terms and query.question.mode != "vector"
    best_by_words = by_words(query, visible) if uses_words else Best()
    limits = query.limits
    word_weighing = weighed_by(query.wanted, visible, limits.candidates, apart=limits.apart)
    neighbour_runs = (
        runs_around(query, visible, nearest_rows, best_by_words) if query.in_order else []
    )
    neighbour_entries = (
        among(query.wanted, chain.from_iterable(neighbour_runs)) if neighbour_runs else []
    )
    entry_by_row = {
        entry.row_id: entry
        for entry in (*nearest_rows.entries, *best_by_words.entries, *neighbour_entries)
    }
    candidate_text_ids = {entry.text for entry in chain(entry_by_row.values(), *neighbour_runs)}
    bm25_by_text, cosine_by_text = best_by_words.scores, nearest_rows.scores
    passage_count_by_text: dict[TextId, int] = {}
    if meaning is not None:
        unscored_text_ids = list(candidate_text_ids - cosine_by_text.keys())
        cosine_by_text |= index.vectors.cosines(meaning.embedder, meaning.vector, unscored_text_ids)
        passage_count_by_text = index.vectors.several_passages(
            meaning.embedder, list(candidate_text_ids)
        )
    context_scores_by_row: dict[str, tuple[float, float]] = {}
    if neighbour_runs:
        bm25_by_text, context_scores_by_row = in_context(
            query, neighbour_runs, candidate_text_ids, cosine_by_text, again=word_weighing
        )
    elif query.asked.terms:
        unscored_text_ids = list(candidate_text_ids - bm25_by_text.keys())
        bm25_by_text |= index.words.scores(
            kind, query.asked.terms, unscored_text_ids, again=word_weighing
        )
    candidate_list = [
        Candidate(
            entry.row_id,
            entry.created_at,
            entry.happened_at,
            cosine_by_text.get(entry.text),
            *context_scores_by_row.get(entry.row_id, (bm25_by_text.get(entry.text, 0.0), 0.0)),
            passage_count_by_text.get(entry.text, 1),
        )
        for entry in entry_by_row.values()
    ]
    return Candidates(
        candidate_list,
        {row_id: entry.text for row_id, entry in entry_by_row.items()},
        missing_vector_count,
    )


def by_words(query: CandidateQuery, visible: CachedView | LiveQuery) -> Best:
    """Find the visible rows with the best scores by words."""
    max_rows = query.limits.candidates
    word_weighing = weighed_by(query.wanted, visible, max_rows, apart=query.limits.apart)
    if isinstance(visible, CachedView) and word_weighing is not False:
        text_ids = list(visible.texts(query.wanted))
        terms, kind = query.asked.terms, query.wanted.kind
        score_by_text = query.index.words.scores(kind, terms, text_ids, again=word_weighing)
        best_text_ids = sorted(score_by_text, key=lambda text: (-score_by_text[text], -text))
        return Best(visible.entries(best_text_ids, query.wanted)[:max_rows], score_by_text)
    text_limit, checked_count = max_rows, 0
    entries = visible.entries((), query.wanted)
    while True:
        best_score_by_text = query.index.words.best(
            query.wanted.kind, any_of(*query.asked.terms), text_limit
        )
        entries += visible.entries(islice(best_score_by_text, checked_count, None), query.wanted)
        if len(entries) >= max_rows or len(best_score_by_text) < text_limit:
            return Best(entries[:max_rows], best_score_by_text)
        # Ask for so many that enough should be visible, since each round scores all texts again.
        checked_count, text_limit = (
            text_limit,
            max(4 * text_limit, text_limit * max_rows // max(1, len(entries))),
        )


def runs_around(
    query: CandidateQuery, visible: CachedView | LiveQuery, nearest_rows: Best, best_by_words: Best
) -> list[list[Entry]]:
    """Find rows written next to the first rows of both lists, as runs of consecutive rows."""
    leading_entries = [
        *nearest_rows.entries[:_WITH_NEIGHBOURS],
        *best_by_words.entries[:_WITH_NEIGHBOURS],
    ]
    neighbour_distance = len(query.question.weights.neighbour_shares)
    return (
        visible.around(
            {entry.row_id: entry for entry in leading_entries}.values(), neighbour_distance
        )
        if neighbour_distance
        else []
    )


def in_context(
    query: CandidateQuery,
    runs: Sequence[Sequence[Entry]],
    texts: Collection[TextId],
    cosines: Mapping[TextId, float],
    *,
    again: Again,
) -> tuple[dict[TextId, float], dict[str, tuple[float, float]]]:
    """Score texts by words, each alone, and rows of runs in the context of their neighbours.

    `again`: as for `Words.each`.

    Returns:
        The BM25 of texts, and for each row of a run, by id: the BM25 of its words in context, and
        the higher cosine of the rows just before and after, lowered for long texts.
    """
    kind, terms = query.wanted.kind, query.asked.terms
    scores_of_each_word = query.index.words.each(kind, terms, list(texts), again=again)
    bm25_by_text: dict[TextId, float] = {}
    for score_by_text in scores_of_each_word:
        for text_id, score in score_by_text.items():
            bm25_by_text[text_id] = bm25_by_text.get(text_id, 0.0) + score
    content_by_text = query.index.words.texts(kind, [entry.text for run in runs for entry in run])
    word_count_by_text = {
        text_id: len(content.split()) for text_id, content in content_by_text.items()
    }
    weights, context_scores_by_row = query.question.weights, {}
    for run in runs:
        run_text_ids = [entry.text for entry in run]
        padded_cosines = [0.0, *(cosines.get(text_id, 0.0) for text_id in run_text_ids), 0.0]
        word_counts = [word_count_by_text.get(text_id, 0) for text_id in run_text_ids]
        lent_shares = [part_lent(word_count, weights.neighbour_words) for word_count in word_counts]
        bm25_in_context = words_in_context(
            scores_of_each_word, run_text_ids, weights.neighbour_shares, lent_shares
        )
        for position, (entry, score) in enumerate(zip(run, bm25_in_context, strict=True)):
            higher_cosine = max(padded_cosines[position], padded_cosines[position + 2])
            neighbour_cosine = higher_cosine * part_lent(
                word_counts[position], weights.beside_words
            )
            context_scores_by_row[entry.row_id] = score, neighbour_cosine
    return bm25_by_text, context_scores_by_row


def shown_rows(
    reading: Reading, filters: Sequence[Filter], row_ids: Iterable[str]
) -> dict[str, Row]:
    """Read found rows for display, by id; leaves out rows derived from hidden ones.

    Filters of one kind differ only in their space, so their rows are read together.
    """
    found_ids, row_by_id = list(row_ids), dict[str, Row]()
    spaces_by_kind: dict[Kind, set[Cell]] = {}
    for row_filter in filters:
        spaces_by_kind.setdefault(row_filter.kind, set()).add(row_filter.scope.get("space", EVERY))
    alive_at = next((row_filter.alive_at for row_filter in filters), None)
    for kind, kind_spaces in spaces_by_kind.items():
        ids_of_kind = [row_id for row_id in found_ids if kind_of(row_id) is kind]
        query = Query(among={"id": ids_of_kind}, alive_at=alive_at, public=True)
        row_values = reading.scan(kind, kind.columns, query) if ids_of_kind else ()
        visible_rows = (
            row for row in map(kind.row, row_values) if row["content_hash"] != REDACTED_HASH
        )
        row_by_id |= {
            str(row["id"]): row for row in visible_rows if kind_spaces & {EVERY, row.get("space")}
        }
    return row_by_id
