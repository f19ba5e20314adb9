"""Making the vectors of a space's texts before somebody searches for them."""

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
"""Passages that are embedded and kept together."""
_PATIENCE_S = 20.0
"""How long vectors are made where no worker goes on with them."""


def the_embedder(engine: SearchEngine) -> Embedder:
    """The embedder, for calls that make no sense without one.

    Raises:
        EmbedderUnavailable: there is none.
    """
    if engine.embedder is None:
        raise EmbedderUnavailable(
            f"This call needs vectors, and {SWITCHED_OFF}: set another kind, and start day1 anew."
        )
    return engine.embedder


def warm(
    engine: SearchEngine, branch: tuple[str, str], space: str | None, since: int | None, now: int
) -> int:
    """Queue the texts of a space that have no vector yet; answers how many they are.

    Those written at or after `since`, or all. They come before all others: this call makes what it
    can in a moment, and the background worker the rest. Where there is none, this call goes on for
    some seconds.

    Args:
        engine: what a search is done with.
        branch: its name and its id.
        space: of which the texts are.
        since: microseconds UTC.
        now: the present instant.

    Raises:
        EmbedderUnavailable: there is no model.
        IndexBehind: nothing can be written to the index now.
    """
    embedder = the_embedder(engine)
    name, branch_id = branch
    with engine.store.reading(Ref(branch=name)) as reading:
        catch_up(reading, engine.history, engine.index, branch_id, engine.words_wait_s)
        texts = _texts(reading, engine, space, since, now)
    waiting = engine.index.vectors.waiting(embedder, texts)
    embed_first(engine, embedder, waiting)
    return len(waiting)


def embed_first(engine: SearchEngine, embedder: Embedder, texts: Sequence[TextId]) -> None:
    """Embed texts for a moment; where no worker embeds the rest, for some seconds.

    Raises:
        EmbedderUnavailable: there is no model.
        IndexBehind: nothing can be written to the index now.
    """
    worker = engine.embedding_s is not None
    enough = TimeBudget(engine.embedding_s if worker and engine.embedding_s else _PATIENCE_S)
    left = len(texts)
    while left and not enough():
        embed_pending(engine.index, embedder, _BATCH, EmbedFirst(texts), enough)
        before, left = left, len(engine.index.vectors.waiting(embedder, texts))
        if left == before:  # another process is at it
            return


def embed_soon(
    engine: SearchEngine, embedder: Embedder, branch: tuple[str, str], hashes: Sequence[str]
) -> list[str]:
    """Index facts that were just written, and embed them first; answers what could not be done."""
    if not hashes:
        return []
    name, branch_id = branch
    try:
        with engine.store.reading(Ref(branch=name)) as reading:
            catch_up(reading, engine.history, engine.index, branch_id, engine.words_wait_s)
        known = engine.index.words.known(FACT, hashes)
        embed_first(engine, embedder, list(known.values()))
    except (IndexBehind, IndexLost, EmbedderUnavailable):
        return ["The vectors of the new facts follow later."]
    return []


def _texts(
    reading: Reading, engine: SearchEngine, space: str | None, since: int | None, now: int
) -> list[TextId]:
    found: list[TextId] = []
    for kind in (FACT, OBSERVATION):
        active = active_rows(kind, inactive=False)
        query = Query(
            equal={**active.equal, "space": space},
            without=active.without,
            created_after=None if since is None else since - 1,
            alive_at=now,
            public=True,
        )
        hashes = {str(content) for (content,) in reading.scan(kind, ("content_hash",), query)}
        found += engine.index.words.known(kind, sorted(hashes)).values()
    return found
