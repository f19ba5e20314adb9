"""Grouping rows that say the same, by the vectors of their texts, else by their words."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from day1.errors import EmbedderUnavailable
from day1.model.branches.branch import Branch
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT, OBSERVATION, Cell, Kind, Row
from day1.model.search.grouping import ALIKE, Pair, at_odds, complete_links, plain, word_pairs
from day1.model.values.ids import content_hash
from day1.ports.embedder import Embedder
from day1.ports.index import IndexBehind, IndexLost, TextId
from day1.services.repository.repository import Repository
from day1.services.search.filters import Filter
from day1.services.search.indexing import EMBEDDED_AT_ONCE, catch_up
from day1.services.search.search_engine import SearchEngine

log = logging.getLogger(__name__)

_BATCH = 100
"""Number of texts compared with all others at once: 8 MB with 20,000 others."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of rows that say the same, and notes on how they were compared."""

    groups: list[list[Row]]
    pairs: list[Pair[str]] = field(default_factory=list)
    """Pairs of similar texts (as `plain` writes them), in the same group or not."""
    notes: list[str] = field(default_factory=list)


def group_rows(engine: SearchEngine, kind: Kind, rows: Sequence[Row]) -> Groups:
    """Group rows by what they say; within a group every two texts are similar.

    Groups and their rows are in the order of `rows`. Texts without vectors are
    embedded first; texts that still have none are compared by their words.
    """
    by_text: dict[str, list[Row]] = {}
    for row in rows:
        by_text.setdefault(plain(str(row[kind.text or ""])), []).append(row)
    text_by_key = {key: str(same[0][kind.text or ""]) for key, same in by_text.items()}
    notes: list[str] = []
    pairs: list[Pair[str]] = []
    without_vector = set(text_by_key)
    if len(text_by_key) > 1 and engine.embedder is not None:
        try:
            pairs, without_vector = _vector_pairs(engine, engine.embedder, kind, text_by_key)
        except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
            log.warning("texts are compared by their words: %s", error.code)
    if without_vector and len(text_by_key) > 1:
        counted_texts = (
            "The"
            if len(without_vector) == len(text_by_key)
            else f"{len(without_vector)} of {len(text_by_key)}"
        )
        notes.append(
            f"{counted_texts} {kind.table} have no vectors: they were compared by their words."
        )
        pairs_by_words = word_pairs(text_by_key)
        pairs += [
            (a, b, similarity)
            for a, b, similarity in pairs_by_words
            if a in without_vector or b in without_vector
        ]
    pairs = [
        (a, b, similarity)
        for a, b, similarity in pairs
        if not at_odds(text_by_key[a], text_by_key[b])
    ]
    groups = complete_links(list(text_by_key), pairs)
    return Groups([[row for key in g for row in by_text[key]] for g in groups], pairs, notes)


def _vector_pairs(
    engine: SearchEngine, embedder: Embedder, kind: Kind, texts: Mapping[str, str]
) -> tuple[list[Pair[str]], set[str]]:
    """Find pairs of texts with similar vectors, and texts that have no vectors."""
    ids = _embedded(engine, embedder, kind, list(texts.values()))
    key_by_text = {ids[text]: key for key, text in texts.items()}
    order = list(key_by_text)
    place_by_text = {text: number for number, text in enumerate(order)}
    pairs, with_vector = [], set()
    for one, other, cosine in _alike(engine, embedder, order, order):
        if one == other:
            with_vector.add(key_by_text[one])
        elif place_by_text[one] < place_by_text[other]:
            pairs.append((key_by_text[one], key_by_text[other], cosine))
    return pairs, texts.keys() - with_vector


def _embedded(
    engine: SearchEngine, embedder: Embedder, kind: Kind, texts: Sequence[str]
) -> dict[str, TextId]:
    """Index and embed texts; return their numbers. Only the newest are sure to get vectors."""
    words, vectors = engine.index.words, engine.index.vectors
    hash_by_text = {text: content_hash(text) for text in texts}
    if not engine.index.read_only:
        words.learn(kind, {hashed: text for text, hashed in hash_by_text.items()})
    for _ in range(0, len(texts) + EMBEDDED_AT_ONCE, EMBEDDED_AT_ONCE):
        if not vectors.embed(embedder, EMBEDDED_AT_ONCE, wait=True):
            break
    number_by_hash = words.known(kind, list(hash_by_text.values()))
    if len(number_by_hash) < len(hash_by_text):
        raise IndexBehind("The index cannot take these texts now: try again.")
    return {text: number_by_hash[hashed] for text, hashed in hash_by_text.items()}


def _alike(
    engine: SearchEngine, embedder: Embedder, texts: Sequence[TextId], others: Sequence[TextId]
) -> Iterator[tuple[TextId, TextId, float]]:
    for start in range(0, len(texts), _BATCH):
        part = texts[start : start + _BATCH]
        yield from engine.index.vectors.pairs(embedder, part, others, ALIKE - 1e-6)


def said_by_facts(
    repo: Repository, engine: SearchEngine, branch: Branch, texts: Sequence[str]
) -> set[tuple[Cell, str]]:
    """Find texts that an active fact of a branch already says, with the fact's space.

    Only texts with vectors are compared; the cost grows with the facts of the branch.
    """
    embedder = engine.embedder
    if embedder is None or not texts:
        return set()
    ref, now = Ref(branch=branch.name), repo.clock()
    row_filter = Filter(FACT, alive_at=now, present_at=now)
    try:
        with repo.store.reading(ref) as reading:
            catch_up(reading, repo.history, engine.index, branch.id)
            with engine.views.at(reading, ref, row_filter, repo.history, engine.index) as view:
                facts = list(view.texts(row_filter))
        ids = _embedded(engine, embedder, OBSERVATION, texts)
        text_by_number = {number: text for text, number in ids.items()}
        matches = [
            (text_by_number[one], fact)
            for one, fact, _ in _alike(engine, embedder, [*text_by_number], facts)
        ]
        fact_texts = engine.index.words.texts(FACT, list({fact for _, fact in matches}))
    except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
        log.warning("facts are compared by their exact text only: %s", error.code)
        return set()
    similar_texts = [(text, fact_texts[fact]) for text, fact in matches if fact in fact_texts]
    return _with_spaces(
        repo, row_filter, ref, [(a, b) for a, b in similar_texts if not at_odds(a, b)]
    )


def _with_spaces(
    repo: Repository, row_filter: Filter, ref: Ref, similar_texts: Sequence[tuple[str, str]]
) -> set[tuple[Cell, str]]:
    """Return the first text of each pair with the spaces in which the second is an active fact."""
    if not similar_texts:
        return set()
    hash_by_text = {text: content_hash(text) for _, text in similar_texts}
    query = row_filter.query({"content_hash": [*hash_by_text.values()]})
    spaces_by_hash: dict[Cell, set[Cell]] = {}
    with repo.store.reading(ref) as reading:
        for hashed, space in reading.scan(FACT, ("content_hash", "space"), query):
            spaces_by_hash.setdefault(hashed, set()).add(space)
    return {
        (space, first_text)
        for first_text, text in similar_texts
        for space in spaces_by_hash.get(hash_by_text[text], ())
    }
