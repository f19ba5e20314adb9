"""Searching: candidates by meaning and by words, which of them are visible, and their scores.

    query ─ embed ─▶ nearest texts ┐                                  and what was
          └ words ─▶ best texts    ├─▶ rows visible at the state ─▶ written beside them ─▶ both
                                   ┘                                  scores of each ─▶ rank

The index finds texts, whatever branch they are on; which rows have them at the state that is asked
for is decided by SQL (`visible`). Up to `exact_rows` visible rows the vectors of exactly those are
compared. Above, the nearest of all branches are asked for, more and more until enough are visible:
approximately where this process can, else by comparing all. When they do not suffice, all visible
rows are compared.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from day1.errors import EmbedderUnavailable, InvalidRequest
from day1.model.rows.change import Ref
from day1.model.rows.kind import BY_TABLE, KINDS, Kind, Row
from day1.model.search.ranking import Candidate, Mode, Question, Scored, rank
from day1.model.search.wording import any_of, embedding_query, excerpt, keyword_terms
from day1.ports.index import Cursor, IndexBehind, IndexLost, TextId
from day1.services.search.context import in_context, lines_around
from day1.services.search.filters import SCOPES, Filter
from day1.services.search.indexing import TimeBudget, catch_up, embed_pending
from day1.services.search.live_query import LiveQuery
from day1.services.search.nearest import AskedOf, Best, CandidateQuery, QueryVector, nearest
from day1.services.search.request import Hit, SearchAnswer, SearchPorts, SearchRequest
from day1.services.search.views import CachedView, among, state_of

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder
    from day1.ports.reading import Reading
    from day1.services.search.entries import Entry

log = logging.getLogger(__name__)


def search(
    ports: SearchPorts, ref: Ref, branch_id: str | None, request: SearchRequest
) -> SearchAnswer:
    """Find rows of a state by meaning and by words, best first.

    `branch_id` is what the ledger calls the branch that `ref` names.

    Raises:
        InvalidRequest: a kind that has no text.
        UnknownBranch, NotFound: as the store says of `ref`.
    """
    notes: list[str] = []
    running = object()
    ports.running.add(running)
    try:
        try:
            found = _Search(ports, ref, branch_id, request).run()
        except IndexLost:
            notes.append("the index was damaged and is being built anew; vectors follow")
            found = _Search(ports, ref, branch_id, request).run()
        if ports.aside.held is not None:
            ports.aside.give_back()
    except (IndexBehind, IndexLost) as error:
        code = error.details.get("engine_code") or error.code
        log.warning("the index cannot be used: %s", code)
        notes = [f"the index cannot be used ({code}): only words were searched, in memory"]
        index, views = ports.aside.take(ports.index)
        aside = replace(ports, index=index, views=views)
        found = _Search(aside, ref, branch_id, replace(request, mode="keyword")).run()
    finally:
        ports.running.discard(running)
    return replace(found, notes=[*notes, *found.notes])


class _Search:
    """One search, from its request to its answer."""

    def __init__(
        self, ports: SearchPorts, ref: Ref, branch_id: str | None, request: SearchRequest
    ) -> None:
        self._ports, self._index = ports, ports.index
        self._ref, self._request = ref, request
        self._live_id = branch_id if ref.branch is not None and ref.until is None else None
        self._filters = _filters(request)
        self._mode: Mode = request.mode
        self._whole = AskedOf(_terms(request.query, request.query))
        self._asked: dict[str, AskedOf] = {}
        self._first: list[TextId] = []
        self._meanings: dict[str, QueryVector] = {}
        self._notes: dict[str, None] = {}
        self._missing = 0
        self._many = False

    def run(self) -> SearchAnswer:
        """Search with one reading; by meaning, after preparing with one and embedding with none.

        Raises:
            IndexLost: the index was damaged, or was begun anew meanwhile.
        """
        followed = False
        embedder = self._embedder()
        if embedder is not None:
            with self._ports.store.reading(self._ref) as reading:
                self._follow(reading)
                followed = self._ref.until is not None  # the past stays as it is
                asked = {f.kind.table: self._reduced(reading, f, embedder) for f in self._filters}
            self._embed(embedder, asked)
        with self._ports.store.reading(self._ref) as reading:
            if not followed:
                self._follow(reading)
            generation = self._index.generation()
            hits = self._find(reading)
            if self._index.generation() != generation:
                raise IndexLost("Another process began the index anew; search again.")
            return SearchAnswer(
                hits=hits,
                mode_used=self._mode,
                pending_vectors=self._missing,
                notes=list(self._notes),
                commit=reading.tip,
                pending=reading.pending,
            )

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _follow(self, reading: Reading) -> None:
        """Index the words of the state, or of the branch or commit that it is a part of."""
        within_s = None if self._request.wait else self._ports.words_wait_s
        history = self._ports.history
        try:
            if self._live_id is not None:
                state = Cursor(reading.tip, reading.pending.newest)
                if self._index.words.cursor(self._live_id) == state:
                    return  # as most often
            if self._ref.until is None or not reading.tip:
                done = catch_up(reading, history, self._index, self._live_id, within_s)
            else:
                live = Ref(branch=self._ref.branch)
                whole = live if reading.pending.count else Ref(commit=reading.tip)
                with self._ports.store.reading(whole) as all_of_it:
                    done = catch_up(all_of_it, history, self._index, None, within_s)
        except IndexBehind as error:
            log.warning("the index does not follow: %s", error.details.get("engine_code"))
            done = False
        if not done:
            why = "the folder is read-only" if self._index.read_only else "the index lags"
            self._note(f"{why}: what was written last may not be found")

    @contextmanager
    def _visible(self, reading: Reading, wanted: Filter) -> Iterator[CachedView | LiveQuery]:
        rows = self._ports.views.rows(reading, self._ref, wanted.kind)
        many = rows > self._ports.reach.exact_rows and not wanted.scope
        self._many |= many
        if many:
            yield LiveQuery(wanted, reading, self._index)
        else:
            with self._view(reading, wanted) as view:
                yield view

    def _view(self, reading: Reading, wanted: Filter) -> AbstractContextManager[CachedView]:
        ports = self._ports
        return ports.views.at(reading, self._ref, wanted, ports.history, ports.index)

    def _embedder(self) -> Embedder | None:
        """What embeds, if that is wanted and possible."""
        embedder = self._ports.embedder
        if self._mode == "keyword":
            return None
        if embedder is None:
            self._words_only("no embedding model; run `day1 model install`")
            return None
        try:
            _ = embedder.dimension  # which an endpoint may have to tell: no reading waits for it
        except EmbedderUnavailable as error:
            self._words_only(str(error))
            return None
        return embedder

    def _reduced(self, reading: Reading, wanted: Filter, embedder: Embedder) -> AskedOf:
        """The query as it is asked of one kind: without the words that tell no row from another.

        While vectors wait, the rows with its best words are also noted, to be embedded first.
        """
        query, ports, index = self._request.query, self._ports, self._index
        with self._visible(reading, wanted) as visible:
            all_rows = ports.views.rows(reading, self._ref, wanted.kind)
            rows = len(visible) if isinstance(visible, CachedView) else all_rows
            state = state_of(reading, self._ref)
            usual = ports.usual.at(state, visible, rows, index, embedder)
            terms = _terms(embedding_query(query, usual.common), query)
            if terms and index.vectors.pending(embedder):
                best = _worded(self._looking(reading, wanted, AskedOf(terms)), visible)
                self._first += [entry.text for entry in best.entries]
        return AskedOf(terms, embedding_query(query, usual.common | usual.names), usual)

    def _embed(self, embedder: Embedder, asked: Mapping[str, AskedOf]) -> None:
        try:
            texts = list(dict.fromkeys(each.embedded for each in asked.values()))
            vectors = self._ports.questions.vectors(embedder, texts)
            self._asked = dict(asked)
            self._meanings = {
                t: QueryVector(embedder, vectors[each.embedded]) for t, each in asked.items()
            }
            limit, seconds = self._ports.embedded_at_once, self._ports.embedding_s
            some = None if self._request.wait else limit if seconds != 0 else 0
            enough = None if seconds is None else TimeBudget(seconds)
            embed_pending(self._index, embedder, some, self._first, enough)
        except EmbedderUnavailable as error:
            self._words_only(str(error))
        except IndexBehind as error:
            log.warning("vectors cannot be kept: %s", error.details.get("engine_code"))

    def _words_only(self, why: str) -> None:
        self._mode, self._meanings, self._asked = "keyword", {}, {}
        self._note(f"keyword only: {why}")

    def _find(self, reading: Reading) -> list[Hit]:
        found: dict[str, _Found] = {}
        for wanted in self._filters:
            some = self._candidates(reading, wanted)
            self._missing += some.missing
            if self._many and self._meanings:
                trouble = self._index.vectors.trouble()
                if trouble:
                    self._note(trouble)
            found |= {c.row_id: _Found(c, wanted.kind, some.texts[c.row_id]) for c in some.found}

        def read(row_ids: Sequence[str]) -> dict[str, str]:
            texts: dict[TextId, str] = {}
            for wanted in self._filters:
                mine = [found[i].text for i in row_ids if found[i].kind is wanted.kind]
                texts |= self._index.words.texts(wanted.kind, mine)
            return {i: texts[found[i].text] for i in row_ids if found[i].text in texts}

        every = (each.candidate for each in found.values())
        ranked = rank(every, self._question(), self._request.limit, read)
        best = [s for s in ranked if s.score >= self._request.min_score]
        rows: dict[str, Row] = {}
        passages: dict[TextId, int] = {}
        for wanted in self._filters:
            mine = [s.row_id for s in best if found[s.row_id].kind is wanted.kind]
            rows |= reading.get(wanted.kind, mine)
            meaning = self._meanings.get(wanted.kind.table)
            if meaning is not None:
                texts = [found[row_id].text for row_id in mine]
                passages |= self._index.vectors.best_passages(
                    meaning.embedder, meaning.vector, texts
                )
        return [
            self._hit(rows[s.row_id], s, found[s.row_id].kind, passages.get(found[s.row_id].text))
            for s in best
            if s.row_id in rows
        ]

    def _question(self) -> Question:
        names = (asked.usual.names for asked in self._asked.values())
        weights = self._ports.weights
        return Question(self._request.query, self._mode, weights, frozenset().union(*names))

    def _candidates(self, reading: Reading, wanted: Filter) -> Candidates:
        asked = self._asked.get(wanted.kind.table, self._whole)
        looking = self._looking(reading, wanted, asked)
        with self._visible(reading, wanted) as visible:
            if visible.unindexed:
                self._note(f"{visible.unindexed} {wanted.kind.table} are not indexed yet")
            return candidates(looking, visible)

    def _looking(self, reading: Reading, wanted: Filter, asked: AskedOf) -> CandidateQuery:
        return CandidateQuery(
            self._index,
            self._ports.reach,
            wanted,
            self._question(),
            asked,
            self._meanings.get(wanted.kind.table),
            lambda: self._view(reading, wanted),
        )

    def _hit(self, row: Row, scored: Scored, kind: Kind, number: int | None) -> Hit:
        passage = None
        embedder = self._ports.embedder
        if number is not None and embedder is not None:
            text = str(row[kind.text or ""])
            passage = excerpt(embedder.passages(text)[number], self._request.query)
        return Hit(row, kind, scored.score, scored.cosine, scored.keyword, passage)


class _Found(NamedTuple):
    candidate: Candidate
    kind: Kind
    text: TextId


def _terms(question: str, whole: str) -> list[str]:
    """What to look up of a question, or all words of the whole one when those say nothing."""
    return keyword_terms(question) or keyword_terms(whole, all_words=True)


def _filters(request: SearchRequest) -> list[Filter]:
    """One filter for each kind that can have rows that match the request."""
    equal = dict(request.equal)
    if request.category is not None:
        equal["category"] = request.category
    filters = []
    for table in dict.fromkeys(request.kinds):
        kind = BY_TABLE.get(table)
        if kind is None or kind.text is None:
            searched = [kind.table for kind in KINDS if kind.text]
            raise InvalidRequest(f"{table!r} has no text to search.", kinds=searched)
        if equal.keys() <= {*kind.facets, *SCOPES}:
            inactive = request.include_inactive
            scope = {name: cell for name, cell in equal.items() if name in SCOPES}
            facets = {name: cell for name, cell in equal.items() if name not in SCOPES}
            window = (request.after, request.before)
            filters.append(Filter(kind, inactive, facets, *window, scope))
    return filters


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was found. `texts` by row id; `missing` texts have no vector."""

    found: list[Candidate]
    texts: dict[str, TextId]
    missing: int


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
    by_words = looking.asked.terms and looking.question.mode != "vector"
    worded = _worded(looking, visible) if by_words else Best()
    lines = lines_around(looking, visible, near, worded) if _order_tells(looking) else []
    beside = among(looking.wanted, chain.from_iterable(lines)) if lines else []
    entries = {entry.row_id: entry for entry in (*near.entries, *worded.entries, *beside)}
    texts = {entry.text for entry in chain(entries.values(), *lines)}
    bm25, cosines = worded.scores, near.scores
    if meaning is not None:
        others = list(texts - cosines.keys())
        cosines |= index.vectors.cosines(meaning.embedder, meaning.vector, others)
    stands: dict[str, tuple[float, float]] = {}
    if lines:
        bm25, stands = in_context(looking, lines, texts, cosines)
    elif looking.asked.terms:
        others = list(texts - bm25.keys())
        bm25 |= index.words.scores(kind, any_of(looking.asked.terms), others)
    found = [
        Candidate(
            entry.row_id,
            entry.created_at,
            entry.happened_at,
            cosines.get(entry.text),
            *stands.get(entry.row_id, (bm25.get(entry.text, 0.0), 0.0)),
        )
        for entry in entries.values()
    ]
    return Candidates(found, {row_id: entry.text for row_id, entry in entries.items()}, missing)


def _order_tells(looking: CandidateQuery) -> bool:
    """Whether what was written beside a row counts for it."""
    return looking.question.mode == "hybrid" and looking.asked.usual.ordered is not False


def _worded(looking: CandidateQuery, visible: CachedView | LiveQuery) -> Best:
    """The visible rows with the best scores by words."""
    most = looking.reach.candidates
    if looking.wanted.scope and isinstance(visible, CachedView):  # so few that they are asked for
        texts = visible.texts(looking.wanted)
        found = looking.index.words.scores(
            looking.wanted.kind, any_of(looking.asked.terms), list(texts)
        )
        best = sorted(found, key=lambda text: (-found[text], -text))
        return Best(visible.entries(best, looking.wanted)[:most], found)
    limit, seen = most, 0
    entries: list[Entry] = []
    while True:
        scores = looking.index.words.best(looking.wanted.kind, any_of(looking.asked.terms), limit)
        entries += visible.entries(islice(scores, seen, None), looking.wanted)
        if len(entries) >= most or len(scores) < limit:
            return Best(entries[:most], scores)
        # So many as should suffice if the rest is as visible, since each time all are scored.
        seen, limit = limit, max(4 * limit, limit * most // max(1, len(entries)))
