"""Searching entries that meet conditions: by meaning and by words, or by a given vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from day1.model.contexts import given_vector
from day1.model.rows.kind import OBSERVATION
from day1.services.contexts.entries import Entry, EntryQuery, find, read
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.search.searching import search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from day1.model.rows.change import Ref
    from day1.ports.reading import Reading
    from day1.services.search.search_engine import SearchEngine


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """A search for entries by a text."""

    text: str
    limit: int
    """How many entries to read at most."""
    offset: int = 0
    """How many of the best entries to leave out first; their values are not read."""
    wait: bool = False
    """Whether to wait until all texts of the branch are indexed and embedded."""
    most_bytes: int | None = None
    """Maximum number of bytes of their values; None: any number."""


@dataclass(frozen=True, slots=True)
class FoundEntries:
    """A page of the entries that were found, best first, with their scores of 0 to 1."""

    entries: list[tuple[Entry, float]]
    total: int
    """How many entries were found: those of the page, and those that were left out."""
    answer: SearchAnswer


def search_entries(
    engine: SearchEngine, ref: Ref, branch_id: str, query: EntryQuery, wanted: EntrySearch
) -> FoundEntries:
    """Find the entries that meet conditions by a text, best first.

    Args:
        engine: the search engine.
        ref: the state to search, as it is shown.
        branch_id: the id of the branch that `ref` names.
        query: the conditions.
        wanted: the text, and which of the entries to read.

    Raises:
        AnswerTooLarge: their values have too many bytes.
    """
    with engine.store.reading(ref) as reading:
        allowed_ids = frozenset(find(reading, query))
    request = SearchRequest(
        wanted.text,
        kinds=(OBSERVATION.table,),
        limit=wanted.offset + wanted.limit,
        only=allowed_ids,
        wait=wanted.wait,
    )
    answer = search(engine, replace(ref, shown_at=None), branch_id, request)
    score_by_id = {str(hit.row["id"]): hit.score for hit in answer.hits[wanted.offset :]}
    with engine.store.reading(ref) as reading:
        entries = read(reading, list(score_by_id), wanted.most_bytes)
    scored_entries = [(entry, score_by_id[entry.row_id]) for entry in entries]
    return FoundEntries(scored_entries, len(answer.hits), answer)


@dataclass(frozen=True, slots=True)
class NearestEntries:
    """The entries that meet conditions, the nearest first; those without a vector come last."""

    row_ids: Sequence[str]
    cosines: Mapping[str, float]
    """By row id: the cosine of the entry's nearest vector."""


def nearest(reading: Reading, query: EntryQuery, vector: Sequence[float]) -> NearestEntries:
    """Sort the entries that meet conditions by their given vectors, nearest first.

    Vectors of another length are of another model, and are not compared.
    """
    row_ids = find(reading, query)  # the newest first, which stays the order of equal cosines
    vector_text_by_id = {
        str(row_id): str(vector_text)
        for row_id, vector_text in reading.scan(OBSERVATION, ("id", "vector"), query.rows)
        if vector_text is not None and given_vector.dimension_of(str(vector_text)) == len(vector)
    }
    ids_with_vector = [row_id for row_id in row_ids if row_id in vector_text_by_id]
    cosines = (
        _cosines(vector, [vector_text_by_id[row_id] for row_id in ids_with_vector])
        if ids_with_vector
        else ()
    )
    cosine_by_id = dict(zip(ids_with_vector, cosines, strict=True))
    ids_with_vector.sort(key=lambda row_id: -cosine_by_id[row_id])
    return NearestEntries(
        [*ids_with_vector, *(row_id for row_id in row_ids if row_id not in cosine_by_id)],
        cosine_by_id,
    )


def _cosines(vector: Sequence[float], kept: Sequence[str]) -> list[float]:
    """Compute for each row the cosine of a vector to the nearest vector of the row."""
    import numpy as np  # noqa: PLC0415 - costs 0.1 s, which only these calls need

    matrices = [
        np.array(given_vector.from_kept(vector_text), np.float64).reshape(-1, len(vector))
        for vector_text in kept
    ]
    matrix, query_vector = np.concatenate(matrices), np.array(vector, np.float64)
    norm_products = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query_vector)
    start_indices = np.cumsum([0, *(len(row_matrix) for row_matrix in matrices[:-1])])
    highest_cosines = np.maximum.reduceat(matrix @ query_vector / norm_products, start_indices)
    return [float(cosine) for cosine in np.clip(highest_cosines, -1.0, 1.0)]
