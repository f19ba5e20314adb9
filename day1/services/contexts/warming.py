"""Warming: embedding the texts of a space before the first search."""

from collections.abc import Sequence

from day1.errors import EmbedderUnavailable
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION
from day1.ports.embedder import Embedder
from day1.ports.index import EmbedFirst, IndexBehind, IndexLost, TextId
from day1.ports.reading import Reading
from day1.services.search.filters import active_rows
from day1.services.search.indexing import TimeBudget, catch_up, embed_pending
from day1.services.search.search_engine import SWITCHED_OFF, SearchEngine

_BATCH = 64
"""Number of passages embedded and stored together."""
_PATIENCE_S = 20.0
"""Seconds to embed for if no background worker continues."""


def the_embedder(engine: SearchEngine) -> Embedder:
    """Return the embedder, for calls that need one.

    Raises:
        EmbedderUnavailable: embedding is switched off.
    """
    if engine.embedder is None:
        raise EmbedderUnavailable(
            f"This call needs vectors, and {SWITCHED_OFF}: set another kind, and start day1 anew."
        )
    return engine.embedder


def warm(
    engine: SearchEngine, branch: tuple[str, str], space: str | None, since: int | None, now: int
) -> int:
    """Queue the texts of a space that have no vector yet, and return their number.

    With `since`, only texts written at or after it are queued. They come first in the queue:
    this call embeds some of them at once, and the background worker embeds the others. Without a
    worker, this call embeds for up to `_PATIENCE_S` seconds.

    Args:
        engine: the search engine, with its index and embedder.
        branch: the branch's name and id.
        space: the space of the texts.
        since: microseconds UTC.
        now: the present instant.

    Raises:
        EmbedderUnavailable: there is no model.
        IndexBehind: nothing can be written to the index now.
    """
    embedder = the_embedder(engine)
    branch_name, branch_id = branch
    with engine.store.reading(Ref(branch=branch_name)) as reading:
        catch_up(reading, engine.history, engine.index, branch_id, engine.words_wait_s)
        text_ids = _texts(reading, engine, space, since, now)
    waiting_ids = engine.index.vectors.waiting(embedder, text_ids)
    embed_first(engine, embedder, waiting_ids)
    return len(waiting_ids)


def embed_first(engine: SearchEngine, embedder: Embedder, texts: Sequence[TextId]) -> None:
    """Embed texts for a short time; for some seconds if no background worker embeds the others.

    Raises:
        EmbedderUnavailable: there is no model.
        IndexBehind: nothing can be written to the index now.
    """
    has_worker = engine.embedding_s is not None
    time_budget = TimeBudget(
        engine.embedding_s if has_worker and engine.embedding_s else _PATIENCE_S
    )
    pending_count = len(texts)
    while pending_count and not time_budget():
        embed_pending(engine.index, embedder, _BATCH, EmbedFirst(texts), time_budget)
        previous_count, pending_count = (
            pending_count,
            len(engine.index.vectors.waiting(embedder, texts)),
        )
        if pending_count == previous_count:  # another process embeds them
            return


def embed_soon(
    engine: SearchEngine, embedder: Embedder, branch: tuple[str, str], hashes: Sequence[str]
) -> list[str]:
    """Index new facts and embed them first; return notes on anything that must wait."""
    if not hashes:
        return []
    branch_name, branch_id = branch
    try:
        with engine.store.reading(Ref(branch=branch_name)) as reading:
            catch_up(reading, engine.history, engine.index, branch_id, engine.words_wait_s)
        text_id_by_hash = engine.index.words.known(FACT, hashes)
        embed_first(engine, embedder, list(text_id_by_hash.values()))
    except (IndexBehind, IndexLost, EmbedderUnavailable):
        return ["The vectors of the new facts follow later."]
    return []


def _texts(
    reading: Reading, engine: SearchEngine, space: str | None, since: int | None, now: int
) -> list[TextId]:
    text_ids: list[TextId] = []
    for kind in (FACT, OBSERVATION):
        active_query = active_rows(kind, inactive=False)
        query = Query(
            equal={**active_query.equal, "space": space},
            without=active_query.without,
            created_after=None if since is None else since - 1,
            alive_at=now,
            public=True,
        )
        hashes = {
            str(content_hash) for (content_hash,) in reading.scan(kind, ("content_hash",), query)
        }
        text_ids += engine.index.words.known(kind, sorted(hashes)).values()
    return text_ids
