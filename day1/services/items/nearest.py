"""Finding the items of an owner by meaning: facts and messages, as one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from day1.model.rows.change import Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Row
from day1.ports.reading import Reading
from day1.services.contexts.matching import Wanted, Where, matching
from day1.services.contexts.vectors import embeds, unit
from day1.services.items.finding import Narrowing, Spaces, meant_facts
from day1.services.rows.spaces import newest_messages
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.search.searching import search


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """A query for the nearest items of some spaces."""

    text: str
    spaces: tuple[str | None, ...]
    now: int
    vector: Sequence[float] | None = None
    """The vector to compare with instead of the text's."""
    limit: int = 10
    narrowing: Narrowing = field(default_factory=Narrowing)
    least: float | None = None
    """Items with a lower score are left out."""


def nearest_items(where: Where, query: ItemQuery) -> tuple[list[tuple[Row, float]], SearchAnswer]:
    """Find the nearest facts and messages, best first, with their scores, and the search's answer.

    Raises:
        InvalidRequest: no vector in the spaces has the length of the given one.
    """
    with where.engine.store.reading(where.ref) as reading:
        fact_ids = meant_facts(reading, query.spaces, query.now, query.narrowing)
        message_ids = _messages(reading, query)
    scored_items, answer = _facts(where, query, fact_ids)
    if message_ids and _comparable(where, query):
        message_request = SearchRequest(
            "" if query.vector is not None else query.text,
            mode="vector",
            kinds=(MESSAGE.table,),
            limit=query.limit,
            only=message_ids,
            vector=None if query.vector is None else unit(query.vector),
        )
        message_answer = search(where.engine, where.ref, where.branch_id, message_request)
        scored_items += [(hit.row, hit.score) for hit in message_answer.hits]
        notes = list(dict.fromkeys([*answer.notes, *message_answer.notes]))
        pending_vectors = answer.pending_vectors + message_answer.pending_vectors
        answer = replace(answer, notes=notes, pending_vectors=pending_vectors)
    near_items = [hit for hit in scored_items if query.least is None or hit[1] >= query.least]
    near_items.sort(key=lambda hit: (-hit[1], str(hit[0]["id"])))
    return near_items[: query.limit], answer


def _facts(
    where: Where, query: ItemQuery, fact_ids: frozenset[str] | None
) -> tuple[list[tuple[Row, float]], SearchAnswer]:
    if query.vector is None:
        request = SearchRequest(
            query.text, mode="vector", limit=query.limit, spaces=query.spaces, only=fact_ids
        )
        answer = search(where.engine, where.ref, where.branch_id, request)
        return [(hit.row, hit.score) for hit in answer.hits], answer
    memory_query = Wanted(
        query.spaces,
        query.now,
        vector=query.vector,
        k=query.limit,
        facts=fact_ids,
        kinds=(FACT.table,),
    )
    matches, answer = matching(where, memory_query)
    return [(match.row, match.score) for match in matches], answer


def _comparable(where: Where, query: ItemQuery) -> bool:
    """Whether the query can be compared with vectors of day1's own model."""
    embedder = where.engine.embedder
    if query.vector is None:
        return True
    return embedder is not None and embeds(embedder) and embedder.dimension == len(query.vector)


def _messages(reading: Reading, query: ItemQuery) -> frozenset[str]:
    """Return the ids of the messages that meet the conditions; none meets metadata or a run."""
    narrowing = query.narrowing
    if narrowing.metadata or narrowing.run is not None:
        return frozenset()
    if narrowing.thread is None:
        return newest_messages(reading, query.spaces)
    return _of_thread(reading, query.spaces, narrowing.thread)


def _of_thread(reading: Reading, spaces: Spaces, thread: str) -> frozenset[str]:
    conversation_query = Query(among={"space": list(spaces)})
    ids_and_details = reading.scan(CONVERSATION, ("id", "detail"), conversation_query)
    conversation_ids = [
        row_id
        for row_id, detail in ids_and_details
        if read_detail(detail).get("threadId") == thread
    ]
    message_query = Query(among={"conversation_id": conversation_ids})
    return frozenset(
        str(row[0]) for row in reading.scan(MESSAGE, ("id",), message_query) if conversation_ids
    )
