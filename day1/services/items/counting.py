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
    facts, categories = _facts(reading, spaces, now)
    messages, transcripts = _messages(reading, spaces)
    items = [*facts, *messages]
    if not items:
        return Counts()
    uses = engine.uses.of([item.id for item in items])
    last_used = (max(i.created_at, uses[i.id].last if i.id in uses else 0) for i in items)
    creation_times = [item.created_at for item in _with_vectors(engine, items)]
    return Counts(
        vectors=len(creation_times),
        transcripts=transcripts,
        decay=sum(decay_score(at, now) for at in last_used) / len(items),
        oldest=min(creation_times, default=0),
        newest=max(creation_times, default=0),
        by_category=dict(categories),
        messages=len(messages),
    )


def _facts(
    reading: Reading, spaces: Sequence[str | None], now: int
) -> tuple[list[_Counted], Counter[Cell]]:
    columns = ("id", "created_at", "content_hash", "vector", "category")
    facts: list[_Counted] = []
    categories: Counter[Cell] = Counter()
    for row_id, created, content, vector, category in reading.scan(
        FACT, columns, facts_of(spaces, now)
    ):
        if content != REDACTED_HASH:
            has_vector = vector is not None
            facts.append(_Counted(FACT, str(row_id), int(created or 0), str(content), has_vector))
            categories[category] += 1
    return facts, categories


def _messages(reading: Reading, spaces: Sequence[str | None]) -> tuple[list[_Counted], int]:
    in_spaces = Query(among={"space": list(spaces)})
    ids = [row[0] for row in reading.scan(CONVERSATION, ("id",), in_spaces)]
    columns = ("id", "created_at", "content_hash", "conversation_id", "session_id")
    in_conversations = Query(among={"conversation_id": ids})
    rows = reading.scan(MESSAGE, columns, in_conversations) if ids else []
    messages: list[_Counted] = []
    transcripts: set[tuple[Cell, Cell]] = set()
    for row_id, created, content, conversation_id, session_id in rows:
        transcripts.add((conversation_id, session_id))
        if content != REDACTED_HASH:
            messages.append(_Counted(MESSAGE, str(row_id), int(created or 0), str(content)))
    return messages, len(transcripts)


def _with_vectors(engine: SearchEngine, items: Sequence[_Counted]) -> list[_Counted]:
    """Return the items whose texts have a vector, a given one or one in the index."""
    with_vectors = [item for item in items if item.has_given_vector]
    embedder = engine.embedder
    if embedder is None:
        return with_vectors
    try:
        for kind in (FACT, MESSAGE):
            others = [i for i in items if i.kind is kind and not i.has_given_vector]
            text_ids = engine.index.words.known(kind, [item.content_hash for item in others])
            waiting = {*engine.index.vectors.waiting(embedder, [*text_ids.values()])}
            with_vectors += [
                item
                for item in others
                if (number := text_ids.get(item.content_hash)) is not None and number not in waiting
            ]
    except (EmbedderUnavailable, IndexBehind, IndexLost):
        pass  # without the index or the model, only given vectors can be counted
    return with_vectors
