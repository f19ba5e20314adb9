"""Finding memories of some spaces: by a text, by a vector, or by both.

Vectors of different models are never compared. A given vector that is as long as day1's own may
still be of another model. The text of the query decides; without a text, the model whose vectors
are nearer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from day1.errors import InvalidRequest
from day1.model.contexts import given_vector
from day1.model.contexts.keyed import fits, passages_noted
from day1.model.rows.change import Query, Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import FACT, OBSERVATION, Row, kind_of
from day1.model.search.passages import FoundText
from day1.model.search.ranking import Mode
from day1.services.contexts.vectors import foreign, unit
from day1.services.search.filters import active_rows
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder

_KEYWORD_HITS = 200
"""Maximum number of keyword hits that are scored together with foreign vectors."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query for memories of some spaces. Units: `now` in microseconds UTC."""

    spaces: tuple[str | None, ...]
    """None among them stands for the memories without a space."""
    now: int
    text: str | None = None
    vector: Sequence[float] | None = None
    k: int = 10
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Values that the metadata of a memory must have; contexts have no metadata."""
    facts: frozenset[str] | None = None
    """Ids of the only facts that may be found, without contexts; None: any memory."""
    kinds: tuple[str, ...] = (FACT.table, OBSERVATION.table)


@dataclass(frozen=True, slots=True)
class Match:
    """A memory that was found, with its score from 0 to 1."""

    row: Row
    score: float
    text: FoundText


@dataclass(frozen=True, slots=True)
class Where:
    """The branch to search and the engine to search it with."""

    engine: SearchEngine
    branch: str
    branch_id: str

    @property
    def ref(self) -> Ref:
        """The current state of the branch."""
        return Ref(branch=self.branch)


@dataclass(frozen=True, slots=True)
class _GivenVectors:
    """Cosines of a query vector to the rows' given vectors that have the same length."""

    cosines: dict[str, float]
    without: int
    """Number of rows in the spaces without a given vector of this length."""
    lengths: Sequence[int]
    """The lengths of all given vectors in the spaces."""


def matching(where: Where, memory_query: Wanted) -> tuple[list[Match], SearchAnswer]:
    """Find memories of some spaces, best first; return them and the answer of the search.

    Raises:
        InvalidRequest: no vector in the spaces has the length of the given one.
    """
    allowed_ids = _allowed_ids(where, memory_query)
    request = SearchRequest(
        query=memory_query.text or "",
        kinds=memory_query.kinds if allowed_ids is None else (FACT.table,),
        limit=2 * memory_query.k,
        spaces=memory_query.spaces,
        only=allowed_ids,
    )
    if memory_query.vector is None:
        answer = search(where.engine, where.ref, where.branch_id, request)
    else:
        answer = _by_vector(where, memory_query, request, memory_query.vector)
    matches = _without_duplicates(
        where, [Match(hit.row, hit.score, hit.text) for hit in answer.hits]
    )
    return matches[: memory_query.k], answer


def _by_vector(
    where: Where, memory_query: Wanted, request: SearchRequest, vector: Sequence[float]
) -> SearchAnswer:
    given_vectors = _given_vectors(where, memory_query, vector, request.only)
    embedder = where.engine.embedder
    is_own_model = embedder is not None and embedder.dimension == len(vector)
    if not is_own_model and not given_vectors.cosines:
        raise _unknown_length(len(vector), embedder, given_vectors.lengths)
    if is_own_model and given_vectors.cosines and memory_query.text is not None:
        is_own_model = not foreign(embedder, [(memory_query.text, vector)])[0]
    answer = None
    if is_own_model:
        mode: Mode = "hybrid" if memory_query.text else "vector"
        answer = search(
            where.engine,
            where.ref,
            where.branch_id,
            replace(request, mode=mode, vector=unit(vector)),
        )
        if (
            not given_vectors.cosines
            or memory_query.text is not None
            or _nearer(answer, given_vectors)
        ):
            return answer
    return _scored_by_given_vectors(where, request, given_vectors)


def _nearer(answer: SearchAnswer, given_vectors: _GivenVectors) -> bool:
    best_cosine = max((hit.cosine or 0.0 for hit in answer.hits), default=0.0)
    return best_cosine >= max(given_vectors.cosines.values())


def _scored_by_given_vectors(
    where: Where, request: SearchRequest, given_vectors: _GivenVectors
) -> SearchAnswer:
    """Score rows by their given vectors and, if the query has a text, by its words."""
    hit_by_id: dict[str, Hit] = {}
    if request.query:
        answer = search(
            where.engine,
            where.ref,
            where.branch_id,
            replace(request, mode="keyword", limit=_KEYWORD_HITS),
        )
        hit_by_id = {str(hit.row["id"]): hit for hit in answer.hits}
    weights = where.engine.weights
    part_weights = (weights.vector, weights.keyword if request.query else 0.0)

    def score(row_id: str) -> float:
        keyword_score = hit_by_id[row_id].keyword if row_id in hit_by_id else 0.0
        cosine = max(0.0, given_vectors.cosines.get(row_id, 0.0))
        return (part_weights[0] * cosine + part_weights[1] * keyword_score) / sum(part_weights)

    score_by_id = {row_id: score(row_id) for row_id in {*given_vectors.cosines, *hit_by_id}}
    best_ids = sorted(score_by_id, key=lambda row_id: (-score_by_id[row_id], row_id))[
        : request.limit
    ]
    with where.engine.store.reading(where.ref) as reading:
        row_by_id = {**reading.get(FACT, best_ids), **reading.get(OBSERVATION, best_ids)}
        hits = [
            Hit(
                row_by_id[best_id],
                kind,
                score_by_id[best_id],
                given_vectors.cosines.get(best_id),
                hit_by_id[best_id].keyword if best_id in hit_by_id else 0.0,
                FoundText(str(row_by_id[best_id][kind.text or ""])),
            )
            for best_id in best_ids
            if best_id in row_by_id
            for kind in (FACT if "fact_text" in row_by_id[best_id] else OBSERVATION,)
        ]
        notes = [
            f"compared with {len(given_vectors.cosines)} vectors that were given with their texts; "
            f"{given_vectors.without} memories of the namespace have none of this length"
        ]
        return SearchAnswer(
            hits=hits,
            mode_used="hybrid" if request.query else "vector",
            pending_vectors=0,
            notes=notes,
            commit=reading.tip,
            pending=reading.pending,
        )


def _visible_facts(memory_query: Wanted) -> Query:
    active_query = active_rows(FACT, inactive=False)
    space_condition = {"space": list(memory_query.spaces)}
    return replace(
        active_query,
        among=space_condition,
        alive_at=memory_query.now,
        present_at=memory_query.now,
        public=True,
    )


def _allowed_ids(where: Where, memory_query: Wanted) -> frozenset[str] | None:
    """Return the ids of the facts that may be found; None if the query does not narrow them."""
    if not memory_query.metadata:
        return memory_query.facts
    with where.engine.store.reading(where.ref) as reading:
        ids_and_details = reading.scan(FACT, ("id", "detail"), _visible_facts(memory_query))
    return frozenset(
        str(row_id)
        for row_id, detail in ids_and_details
        if fits(memory_query.metadata, read_detail(detail).get("metadata"))
        and (memory_query.facts is None or row_id in memory_query.facts)
    )


def _given_vectors(
    where: Where, memory_query: Wanted, vector: Sequence[float], allowed: frozenset[str] | None
) -> _GivenVectors:
    with where.engine.store.reading(where.ref) as reading:
        ids_and_vector_texts = reading.scan(FACT, ("id", "vector"), _visible_facts(memory_query))
    optional_vector_by_id = {
        str(fact_id): vector_text
        for fact_id, vector_text in ids_and_vector_texts
        if allowed is None or fact_id in allowed
    }
    vector_text_by_id = {
        fact_id: str(vector_text)
        for fact_id, vector_text in optional_vector_by_id.items()
        if vector_text is not None
    }
    dimension_by_id = {
        fact_id: given_vector.dimension_of(vector_text)
        for fact_id, vector_text in vector_text_by_id.items()
    }
    same_length_ids = [
        fact_id for fact_id, length in dimension_by_id.items() if length == len(vector)
    ]
    cosine_by_id: dict[str, float] = {}
    if same_length_ids:
        import numpy as np  # noqa: PLC0415 - costs 0.1 s, which only these calls need

        matrix = np.array(
            [given_vector.from_kept(vector_text_by_id[fact_id]) for fact_id in same_length_ids],
            np.float64,
        )
        cosines = matrix @ unit(vector).astype(np.float64) / np.linalg.norm(matrix, axis=1)
        cosine_by_id = {
            fact_id: float(cosine) for fact_id, cosine in zip(same_length_ids, cosines, strict=True)
        }
    return _GivenVectors(
        cosine_by_id,
        len(optional_vector_by_id) - len(same_length_ids),
        sorted(set(dimension_by_id.values())),
    )


def _unknown_length(
    length: int, embedder: Embedder | None, lengths: Sequence[int]
) -> InvalidRequest:
    model_length = None if embedder is None else embedder.dimension
    reasons = [] if model_length is None else [f"the model of this store gives {model_length}"]
    if lengths:
        length_list = ", ".join(map(str, lengths))
        reasons.append(f"vectors that were given in this namespace have {length_list}")
    reason_text = " and ".join(reasons) or "this store has no model, and the namespace no vectors"
    return InvalidRequest(
        f"query.embedding has {length} numbers, and {reason_text}: "
        "nothing here can be compared with it.",
        given=length,
        model=model_length,
        there=list(lengths),
    )


def _without_duplicates(where: Where, matches: Sequence[Match]) -> list[Match]:
    """Drop contexts of which a passage matches, and passages of older versions of a context.

    A passage stays until the next promotion, so the current text of its context takes precedence.
    """
    origin_ids = {str(match.row["origin_id"]) for match in matches if "fact_text" in match.row}
    origin_context_ids = [
        origin_id for origin_id in origin_ids if kind_of(origin_id) is OBSERVATION
    ]
    if not origin_context_ids:
        return list(matches)
    with where.engine.store.reading(where.ref) as reading:
        context_by_id = reading.get(OBSERVATION, origin_context_ids)

    def is_old(row: Row) -> bool:
        context = context_by_id.get(str(row["origin_id"]))
        return context is not None and passages_noted(context, row["detail"]) == 0

    current_matches = [match for match in matches if not is_old(match.row)]
    matched_context_ids = {
        match.row["origin_id"] for match in current_matches if "fact_text" in match.row
    }
    return [match for match in current_matches if match.row["id"] not in matched_context_ids]
