"""Counting the items of a wallet in all of its spaces, without reading a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from day1.errors import EmbedderUnavailable
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Cell, Kind
from day1.model.values.decay import decay_score
from day1.ports.index import IndexBehind, IndexLost
from day1.ports.reading import Reading
from day1.services.items.finding import facts_of
from day1.services.rows.spaces import spaces_below
from day1.services.search.search_engine import SearchEngine


@dataclass(frozen=True, slots=True)
class _Counted:
    """The columns of an item that are read to count it."""

    kind: Kind
    id: str
    created_at: int
    content_hash: str
    has_given_vector: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a wallet's items. Times are in microseconds; 0 without vectors."""

    vectors: int = 0
    """Items whose text has a vector now."""
    transcripts: int = 0
    """Sessions with messages, counted once for each thread."""
    decay: float = 0.0
    """The mean of the decay scores of all items."""
    oldest: int = 0
    """When the oldest item with a vector was written."""
    newest: int = 0
    by_category: dict[Cell, int] = field(default_factory=dict)
    """The number of facts of each category."""
    messages: int = 0


def count_items(
    engine: SearchEngine, reading: Reading, wallet_space: str | None, now: int
) -> Counts:
    """Count what a wallet, its users and their devices have stored.

    Args:
        engine: the engine whose index says which texts have vectors.
        reading: the state to count.
        wallet_space: the space of the wallet; None: the rows without a space.
        now: the present instant.
    """
    spaces = spaces_below(reading, wallet_space)
    counted_facts, count_by_category = _facts(reading, spaces, now)
    counted_messages, transcript_count = _messages(reading, spaces)
    counted_items = [*counted_facts, *counted_messages]
    if not counted_items:
        return Counts()
    use_by_id = engine.uses.of([item.id for item in counted_items])
    last_used_times = (
        max(item.created_at, use_by_id[item.id].last if item.id in use_by_id else 0)
        for item in counted_items
    )
    creation_times = [item.created_at for item in _with_vectors(engine, counted_items)]
    return Counts(
        vectors=len(creation_times),
        transcripts=transcript_count,
        decay=sum(decay_score(last_used_at, now) for last_used_at in last_used_times)
        / len(counted_items),
        oldest=min(creation_times, default=0),
        newest=max(creation_times, default=0),
        by_category=dict(count_by_category),
        messages=len(counted_messages),
    )


def _facts(
    reading: Reading, spaces: Sequence[str | None], now: int
) -> tuple[list[_Counted], Counter[Cell]]:
    columns = ("id", "created_at", "content_hash", "vector", "category")
    counted_facts: list[_Counted] = []
    count_by_category: Counter[Cell] = Counter()
    for row_id, created_at, content_hash, given_vector, category in reading.scan(
        FACT, columns, facts_of(spaces, now)
    ):
        if content_hash != REDACTED_HASH:
            has_vector = given_vector is not None
            counted_facts.append(
                _Counted(FACT, str(row_id), int(created_at or 0), str(content_hash), has_vector)
            )
            count_by_category[category] += 1
    return counted_facts, count_by_category


def _messages(reading: Reading, spaces: Sequence[str | None]) -> tuple[list[_Counted], int]:
    conversation_query = Query(among={"space": list(spaces)})
    conversation_ids = [row[0] for row in reading.scan(CONVERSATION, ("id",), conversation_query)]
    columns = ("id", "created_at", "content_hash", "conversation_id", "session_id")
    message_query = Query(among={"conversation_id": conversation_ids})
    rows = reading.scan(MESSAGE, columns, message_query) if conversation_ids else []
    counted_messages: list[_Counted] = []
    conversation_session_pairs: set[tuple[Cell, Cell]] = set()
    for row_id, created_at, content_hash, conversation_id, session_id in rows:
        conversation_session_pairs.add((conversation_id, session_id))
        if content_hash != REDACTED_HASH:
            counted_messages.append(
                _Counted(MESSAGE, str(row_id), int(created_at or 0), str(content_hash))
            )
    return counted_messages, len(conversation_session_pairs)


def _with_vectors(engine: SearchEngine, items: Sequence[_Counted]) -> list[_Counted]:
    """Return the items whose texts have a vector, a given one or one in the index."""
    items_with_vector = [item for item in items if item.has_given_vector]
    embedder = engine.embedder
    if embedder is None:
        return items_with_vector
    try:
        for kind in (FACT, MESSAGE):
            other_items = [
                item for item in items if item.kind is kind and not item.has_given_vector
            ]
            text_id_by_hash = engine.index.words.known(
                kind, [item.content_hash for item in other_items]
            )
            waiting_text_ids = {
                *engine.index.vectors.waiting(embedder, [*text_id_by_hash.values()])
            }
            items_with_vector += [
                item
                for item in other_items
                if (text_id := text_id_by_hash.get(item.content_hash)) is not None
                and text_id not in waiting_text_ids
            ]
    except (EmbedderUnavailable, IndexBehind, IndexLost):
        pass  # without the index or the model, only given vectors can be counted
    return items_with_vector
