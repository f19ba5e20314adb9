"""Searching: candidates by meaning and by words, which of them are visible, and their scores.

    query ─ embed ─▶ nearest texts ┐                                  and what was
          └ words ─▶ best texts    ├─▶ rows visible at the state ─▶ written beside them ─▶ both
                                   ┘                                  scores of each ─▶ rank

The index finds texts of all branches; SQL decides which rows have them in the searched state
(`views`). Up to `exact_rows` visible rows, the vectors of exactly these rows are compared. With
more, the nearest texts of all branches are found, by Chroma or by the signs of vectors, more and
more until enough are visible; if still too few, the vectors of all visible rows are compared.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from day1.errors import EmbedderUnavailable, InvalidRequest
from day1.model.rows.change import Ref
from day1.model.rows.kind import BY_TABLE, KINDS, Kind, Row
from day1.model.search.passages import FoundText, best_rows, part_in, passage_at
from day1.model.search.ranking import Question, Scored, rank
from day1.model.search.wording import Usual, embedding_query, keyword_terms
from day1.ports.index import Cursor, EmbedFirst, IndexBehind, IndexLost, TextId
from day1.services.rows.spaces import empty_spaces
from day1.services.search.candidates import (
    AskedQuery,
    CandidateQuery,
    Candidates,
    Found,
    QueryVector,
    by_words,
    candidates,
    shown_rows,
)
from day1.services.search.filters import SCOPES, Filter
from day1.services.search.indexing import catch_up, catch_up_past, lag_note
from day1.services.search.live_query import LiveQuery
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from day1.services.search.search_engine import SWITCHED_OFF as OFF
from day1.services.search.search_engine import SearchEngine
from day1.services.search.views import CachedView, ViewKey, filter_key, state_of

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder
    from day1.ports.reading import Reading

log = logging.getLogger(__name__)

ReadHits = Callable[["Reading", Sequence[Filter], Iterable[str]], dict[str, Row]]
"""A function that reads the rows of hits, by id, as `shown_rows` does."""


def search(
    engine: SearchEngine,
    ref: Ref,
    branch_id: str | None,
    request: SearchRequest,
    read_hits: ReadHits = shown_rows,
) -> SearchAnswer:
    """Find rows of a state by meaning and by words, best first.

    Args:
        engine: the search engine.
        ref: the state.
        branch_id: the id of the branch that `ref` names.
        request: what to find.
        read_hits: reads the rows of the hits, or as many of their columns as the caller uses.

    Raises:
        InvalidRequest: a requested kind has no text.
        UnknownBranch, NotFound: there is no such state.
    """
    notes: list[str] = []
    search_marker = object()
    engine.running.add(search_marker)
    try:
        try:
            answer = _Search(engine, ref, branch_id, request, read_hits).run()
        except IndexLost:
            notes.append("the index was damaged and is being built again; vectors follow")
            answer = _Search(engine, ref, branch_id, request, read_hits).run()
        if engine.fallback_index.held is not None:
            engine.fallback_index.give_back()
    except (IndexBehind, IndexLost) as error:
        error_code = error.details.get("engine_code") or error.code
        log.warning("the index cannot be used: %s", error_code)
        notes = [f"the index cannot be used ({error_code}): only words were searched, in memory"]
        index, views = engine.fallback_index.take(engine.index)
        in_memory_engine = replace(engine, index=index, views=views)
        keyword_request = replace(request, mode="keyword")
        answer = _Search(in_memory_engine, ref, branch_id, keyword_request, read_hits).run()
    finally:
        engine.running.discard(search_marker)
    return replace(answer, notes=[*notes, *answer.notes])


class _Search:
    """One search, from its request to its answer."""

    def __init__(
        self,
        engine: SearchEngine,
        ref: Ref,
        branch_id: str | None,
        request: SearchRequest,
        read_hits: ReadHits,
    ) -> None:
        self._engine, self._index = engine, engine.index
        self._ref, self._request, self._read_hits = ref, request, read_hits
        self._live_id = branch_id if ref.branch is not None and ref.until is None else None
        now = engine.clock() if ref.until is None else ref.until
        self._filters, self._mode = _filters(request, now), request.mode
        self._asked = self._whole = AskedQuery(_terms(request.query, request.query))
        self._query_vector: QueryVector | None = None
        self._order_matters: dict[ViewKey, bool] = {}
        self._embed_first: list[TextId] = []
        self._notes: dict[str, None] = {}
        self._missing = 0
        self._is_large = False

    def run(self) -> SearchAnswer:
        """Search in one reading; by meaning, prepare in another reading and embed outside of both.

        Raises:
            IndexLost: the index was damaged, or replaced meanwhile.
        """
        is_indexed = False
        embedder = self._embedder()
        if embedder is not None:
            with self._engine.store.reading(self._ref) as reading:
                self._follow(reading)
                is_indexed = self._ref.until is not None  # a past state does not change
                prepared_query = self._reduced(reading, embedder)
            self._embed(embedder, prepared_query)
        with self._engine.store.reading(self._ref) as reading:
            if not is_indexed:
                self._follow(reading)
            index_generation = self._index.generation()
            hits = self._find(reading)
            if self._index.generation() != index_generation:
                raise IndexLost("Another process replaced the index meanwhile; search again.")
            if not hits:
                self._notes |= dict.fromkeys(empty_spaces(reading, self._request.spaces))
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
        """Index the words of the searched state, or of the commit or branch that it is part of."""
        within_s = None if self._request.wait else self._engine.words_wait_s
        history = self._engine.history
        try:
            if self._live_id is not None:
                current_cursor = Cursor(reading.tip, reading.pending.newest)
                if self._index.words.cursor(self._live_id) == current_cursor:
                    return  # the usual case
            if self._ref.until is None or self._ref.branch is None or not reading.tip:
                is_complete = catch_up(reading, history, self._index, self._live_id, within_s)
            else:
                live_ref = Ref(branch=self._ref.branch)
                past_ref = live_ref if reading.pending.count else Ref(commit=reading.tip)
                store, index = self._engine.store, self._index
                with store.reading(past_ref) as past_state, store.reading(live_ref) as live_state:
                    is_complete = catch_up_past(past_state, live_state, history, index, within_s)
        except IndexBehind as error:
            log.warning("the index is not up to date: %s", error.details.get("engine_code"))
            is_complete = False
        if not is_complete:
            self._note(lag_note(self._index))

    @contextmanager
    def _visible(self, reading: Reading, row_filter: Filter) -> Iterator[CachedView | LiveQuery]:
        has_few_rows = row_filter.only is not None or any(
            cell is not None for cell in row_filter.scope.values()
        )
        if not has_few_rows:  # a view of few rows is quick even on a large branch
            views, max_rows = self._engine.views, self._engine.limits.exact_rows
            row_count = views.row_count(reading, self._ref, row_filter.kind)
            if row_count > max_rows and (
                not row_filter.scope
                or views.scope_count(reading, self._ref, row_filter, row_count) > max_rows
            ):
                self._is_large = True
                history, index = self._engine.history, self._index
                entries = self._engine.views.large(reading, self._ref, row_filter, history, index)
                yield LiveQuery(row_filter, reading, index, row_count, entries)
                return
        with self._view(reading, row_filter) as view:
            yield view

    def _view(self, reading: Reading, row_filter: Filter) -> AbstractContextManager[CachedView]:
        return self._engine.views.at(
            reading, self._ref, row_filter, self._engine.history, self._index
        )

    def _embedder(self) -> Embedder | None:
        """Return the embedder if the search uses meaning and the embedder works; else None."""
        embedder = self._engine.embedder
        if self._mode == "keyword":
            return None
        if embedder is None:
            self._words_only(OFF)
            return None
        try:
            _ = embedder.dimension  # may ask an endpoint, so not during a reading
        except EmbedderUnavailable as error:
            self._words_only(str(error))
            return None
        return embedder

    def _reduced(self, reading: Reading, embedder: Embedder) -> AskedQuery:
        """Prepare the query for all filters: drop words that do not distinguish memories.

        Common words are not looked up; names and usual first words are not embedded. Scores of
        kinds and spaces are comparable only with one query, so the filter with most rows decides.
        While texts wait for vectors, those with the best words are chosen to be embedded first.
        """
        query, index = self._request.query, self._index
        usual_by_filter = {filter_key(f): self._usual(reading, f, embedder) for f in self._filters}
        self._order_matters = {key: usual.ordered for key, (_, usual) in usual_by_filter.items()}
        _, largest_usual = max(usual_by_filter.values(), key=itemgetter(0), default=(0, Usual()))
        names = frozenset().union(*(usual.names for _, usual in usual_by_filter.values()))
        terms = _terms(embedding_query(query, largest_usual.common), query)
        prepared = AskedQuery(terms, embedding_query(query, largest_usual.openers | names), names)
        if terms and index.vectors.pending(embedder):
            for row_filter in self._filters:
                with self._visible(reading, row_filter) as visible:
                    best = by_words(self._candidate_query(reading, row_filter, prepared), visible)
                self._embed_first += [entry.text for entry in best.entries]
        return prepared

    def _usual(self, reading: Reading, row_filter: Filter, embedder: Embedder) -> tuple[int, Usual]:
        """Count the rows that a filter searches, and find what is usual in them."""
        state_key = state_of(reading, self._ref)
        with self._visible(reading, row_filter) as visible:
            return len(visible), self._engine.common_words.at(
                state_key, visible, self._index, embedder
            )

    def _embed(self, embedder: Embedder, prepared: AskedQuery) -> None:
        try:
            query_vector = self._engine.query_vectors.of(
                embedder, prepared.embedded, self._request.vector
            )
            self._asked, self._query_vector = prepared, QueryVector(embedder, query_vector)
            embed_first = EmbedFirst(self._embed_first, prepared.terms)
            self._engine.embed_waiting(embedder, embed_first, all_of_them=self._request.wait)
        except EmbedderUnavailable as error:
            self._words_only(str(error))
        except IndexBehind as error:
            log.warning("vectors cannot be stored: %s", error.details.get("engine_code"))

    def _words_only(self, why: str) -> None:
        self._mode, self._query_vector, self._asked = "keyword", None, self._whole
        self._note(f"keyword only: {why}")

    def _find(self, reading: Reading) -> list[Hit]:
        found_by_id: dict[str, Found] = {}
        kinds = list(dict.fromkeys(row_filter.kind for row_filter in self._filters))
        for row_filter in self._filters:
            candidates = self._candidates(reading, row_filter)
            self._missing += candidates.missing
            if self._is_large and self._query_vector is not None:
                vector_problem = self._index.vectors.trouble()
                if vector_problem:
                    self._note(vector_problem)
            found_by_id |= {
                candidate.row_id: Found(
                    candidate, row_filter.kind, candidates.texts[candidate.row_id]
                )
                for candidate in candidates.found
            }

        def read(row_ids: Sequence[str]) -> dict[str, str]:
            texts: dict[TextId, str] = {}
            for kind in kinds:
                text_ids = [found_by_id[i].text for i in row_ids if found_by_id[i].kind is kind]
                texts |= self._index.words.texts(kind, text_ids)
            return {i: texts[found_by_id[i].text] for i in row_ids if found_by_id[i].text in texts}

        question = replace(self._question(), votes=self._engine.votes())
        best_scored, row_by_id = best_rows(
            [found_row.candidate for found_row in found_by_id.values()],
            self._request.limit,
            lambda candidates, limit: rank(candidates, question, limit, read),
            partial(self._read_hits, reading, self._filters),
        )
        passage_by_text: dict[TextId, int] = {}
        vector, vector_index = self._query_vector, self._index.vectors
        if vector is not None:
            for kind in kinds:
                texts = [
                    found_by_id[scored.row_id].text
                    for scored in best_scored
                    if found_by_id[scored.row_id].kind is kind
                ]
                passage_by_text |= vector_index.best_passages(vector.embedder, vector.vector, texts)
        return [
            self._hit(
                row_by_id[scored.row_id],
                scored,
                found_by_id[scored.row_id].kind,
                passage_by_text.get(found_by_id[scored.row_id].text),
            )
            for scored in best_scored
        ]

    def _question(self) -> Question:
        weights, names = self._engine.weights, self._asked.names
        return Question(self._request.query, self._mode, weights, names)

    def _candidates(self, reading: Reading, row_filter: Filter) -> Candidates:
        query = self._candidate_query(reading, row_filter, self._asked)
        with self._visible(reading, row_filter) as visible:
            if visible.unindexed:
                unindexed_phrase = f"{visible.unindexed} of the {row_filter.kind.table}"
                self._note(
                    f"not in the index yet: {unindexed_phrase}; search again later to find them"
                )
            return candidates(query, visible)

    def _candidate_query(
        self, reading: Reading, row_filter: Filter, prepared: AskedQuery
    ) -> CandidateQuery:
        in_order = self._mode == "hybrid" and self._order_matters.get(filter_key(row_filter), True)
        return CandidateQuery(
            self._index,
            self._engine.limits,
            row_filter,
            self._question(),
            prepared,
            self._query_vector,
            lambda: self._view(reading, row_filter),
            in_order,
        )

    def _hit(self, row: Row, scored: Scored, kind: Kind, number: int | None) -> Hit:
        text, embedder = str(row[kind.text or ""]), self._engine.embedder
        passage = None
        if number is not None and embedder is not None:
            passage = passage_at(embedder.passages(text), text, number)
        found_text = FoundText(text, passage)
        return Hit(row, kind, scored.score, scored.cosine, scored.keyword, found_text, part_in(row))


def _terms(question: str, whole: str) -> list[str]:
    """Return the terms of a reduced query; all words of the whole query if it has none."""
    return keyword_terms(question) or keyword_terms(whole, all_words=True)


def _filters(request: SearchRequest, now: int) -> list[Filter]:
    """Build one filter for each space and each kind that can have matching rows."""
    as_of, inactive = request.as_of_event, request.include_inactive
    true_at = as_of if as_of is not None else None if inactive else now
    upper_limits = [end for end in (request.before, as_of) if end is not None]
    window = (request.after, min(upper_limits, default=None))
    conditions = dict(request.equal)
    if request.category is not None:
        conditions["category"] = request.category
    filters = []
    for table in dict.fromkeys(request.kinds):
        kind = BY_TABLE.get(table)
        if kind is None or kind.text is None:
            text_tables = [kind.table for kind in KINDS if kind.text]
            raise InvalidRequest(
                f"{table!r} has no text to search: name {', '.join(text_tables)}.",
                kinds=text_tables,
            )
        if request.spaces and "space" not in kind.column:
            if request.messages is not None:
                ids = request.messages
                filters.append(Filter(kind, inactive, after=window[0], before=window[1], only=ids))
            continue
        required_columns = conditions.keys()
        if not required_columns <= {*kind.facets, *SCOPES} & kind.column.keys():
            continue
        scope = {name: cell for name, cell in conditions.items() if name in SCOPES}
        facets = {name: cell for name, cell in conditions.items() if name not in SCOPES}
        base = Filter(kind, inactive, facets, *window, scope, request.among, as_of is not None)
        base = replace(base, only=request.only, alive_at=now, present_at=true_at)
        space_scopes = [{**scope, "space": space} for space in dict.fromkeys(request.spaces)]
        filters += [replace(base, scope=space_scope) for space_scope in space_scopes or [scope]]
    return filters
