"""Searching entries: by meaning and by words, among those that meet conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from day1.model.rows.kind import OBSERVATION
from day1.services.contexts.entries import Entry, EntryQuery, find, read
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.search.searching import search

if TYPE_CHECKING:
    from day1.model.rows.change import Ref
    from day1.services.search.search_engine import SearchEngine


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """A search for entries by a text."""

    text: str
    limit: int
    """How many entries to find at most."""
    wait: bool = False
    """Whether to wait until all texts of the branch are indexed and embedded."""


@dataclass(frozen=True, slots=True)
class FoundEntries:
    """The entries that were found, best first, with their scores of 0 to 1."""

    entries: list[tuple[Entry, float]]
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
        wanted: the text, and how many entries to find.
    """
    with engine.store.reading(ref) as reading:
        allowed = frozenset(find(reading, query))
    request = SearchRequest(
        wanted.text,
        kinds=(OBSERVATION.table,),
        limit=wanted.limit,
        only=allowed,
        wait=wanted.wait,
    )
    answer = search(engine, replace(ref, shown_at=None), branch_id, request)
    score_by_id = {str(hit.row["id"]): hit.score for hit in answer.hits}
    with engine.store.reading(ref) as reading:
        entries = read(reading, list(score_by_id))
    return FoundEntries([(entry, score_by_id[entry.row_id]) for entry in entries], answer)
