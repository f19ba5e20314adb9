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
    rows_by_plain_text: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_plain_text.setdefault(plain(str(row[kind.text or ""])), []).append(row)
    text_by_plain_text = {
        plain_text: str(same_rows[0][kind.text or ""])
        for plain_text, same_rows in rows_by_plain_text.items()
    }
    notes: list[str] = []
    pairs: list[Pair[str]] = []
    texts_without_vector = set(text_by_plain_text)
    if len(text_by_plain_text) > 1 and engine.embedder is not None:
        try:
            pairs, texts_without_vector = _vector_pairs(
                engine, engine.embedder, kind, text_by_plain_text
            )
        except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
            log.warning("texts are compared by their words: %s", error.code)
    if texts_without_vector and len(text_by_plain_text) > 1:
        counted_phrase = (
            "The"
            if len(texts_without_vector) == len(text_by_plain_text)
            else f"{len(texts_without_vector)} of {len(text_by_plain_text)}"
        )
        notes.append(
            f"{counted_phrase} {kind.table} have no vectors: they were compared by their words."
        )
        pairs_by_words = word_pairs(text_by_plain_text)
        pairs += [
            (first_text, second_text, similarity)
            for first_text, second_text, similarity in pairs_by_words
            if first_text in texts_without_vector or second_text in texts_without_vector
        ]
    pairs = [
        (first_text, second_text, similarity)
        for first_text, second_text, similarity in pairs
        if not at_odds(text_by_plain_text[first_text], text_by_plain_text[second_text])
    ]
    text_groups = complete_links(list(text_by_plain_text), pairs)
    return Groups(
        [
            [row for plain_text in group for row in rows_by_plain_text[plain_text]]
            for group in text_groups
        ],
        pairs,
        notes,
    )


def _vector_pairs(
    engine: SearchEngine, embedder: Embedder, kind: Kind, texts: Mapping[str, str]
) -> tuple[list[Pair[str]], set[str]]:
    """Find pairs of texts with similar vectors, and texts that have no vectors."""
    id_by_text = _embedded(engine, embedder, kind, list(texts.values()))
    key_by_text_id = {id_by_text[text]: plain_text for plain_text, text in texts.items()}
    text_ids = list(key_by_text_id)
    position_by_text_id = {text: position for position, text in enumerate(text_ids)}
    pairs, keys_with_vector = [], set()
    for first_id, second_id, cosine in _alike(engine, embedder, text_ids, text_ids):
        if first_id == second_id:
            keys_with_vector.add(key_by_text_id[first_id])
        elif position_by_text_id[first_id] < position_by_text_id[second_id]:
            pairs.append((key_by_text_id[first_id], key_by_text_id[second_id], cosine))
    return pairs, texts.keys() - keys_with_vector


def _embedded(
    engine: SearchEngine, embedder: Embedder, kind: Kind, texts: Sequence[str]
) -> dict[str, TextId]:
    """Index and embed texts; return their numbers. Only the newest are sure to get vectors."""
    word_index, vector_index = engine.index.words, engine.index.vectors
    hash_by_text = {text: content_hash(text) for text in texts}
    if not engine.index.read_only:
        word_index.learn(kind, {text_hash: text for text, text_hash in hash_by_text.items()})
    for _ in range(0, len(texts) + EMBEDDED_AT_ONCE, EMBEDDED_AT_ONCE):
        if not vector_index.embed(embedder, EMBEDDED_AT_ONCE, wait=True):
            break
    text_id_by_hash = word_index.known(kind, list(hash_by_text.values()))
    if len(text_id_by_hash) < len(hash_by_text):
        raise IndexBehind("The index cannot take these texts now: try again.")
    return {text: text_id_by_hash[text_hash] for text, text_hash in hash_by_text.items()}


def _alike(
    engine: SearchEngine, embedder: Embedder, texts: Sequence[TextId], others: Sequence[TextId]
) -> Iterator[tuple[TextId, TextId, float]]:
    for batch_start in range(0, len(texts), _BATCH):
        batch_ids = texts[batch_start : batch_start + _BATCH]
        yield from engine.index.vectors.pairs(embedder, batch_ids, others, ALIKE - 1e-6)


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
                fact_text_ids = list(view.texts(row_filter))
        id_by_text = _embedded(engine, embedder, OBSERVATION, texts)
        text_by_id = {text_id: text for text, text_id in id_by_text.items()}
        texts_with_fact_id = [
            (text_by_id[similar_id], fact_text_id)
            for similar_id, fact_text_id, _ in _alike(
                engine, embedder, [*text_by_id], fact_text_ids
            )
        ]
        fact_text_by_id = engine.index.words.texts(
            FACT, list({fact_text_id for _, fact_text_id in texts_with_fact_id})
        )
    except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
        log.warning("facts are compared by their exact text only: %s", error.code)
        return set()
    similar_text_pairs = [
        (text, fact_text_by_id[fact_text_id])
        for text, fact_text_id in texts_with_fact_id
        if fact_text_id in fact_text_by_id
    ]
    return _with_spaces(
        repo,
        row_filter,
        ref,
        [
            (compared_text, fact_text)
            for compared_text, fact_text in similar_text_pairs
            if not at_odds(compared_text, fact_text)
        ],
    )


def _with_spaces(
    repo: Repository, row_filter: Filter, ref: Ref, similar_texts: Sequence[tuple[str, str]]
) -> set[tuple[Cell, str]]:
    """Return the first text of each pair with the spaces in which the second is an active fact."""
    if not similar_texts:
        return set()
    hash_by_text = {fact_text: content_hash(fact_text) for _, fact_text in similar_texts}
    query = row_filter.query({"content_hash": [*hash_by_text.values()]})
    spaces_by_hash: dict[Cell, set[Cell]] = {}
    with repo.store.reading(ref) as reading:
        for text_hash, space in reading.scan(FACT, ("content_hash", "space"), query):
            spaces_by_hash.setdefault(text_hash, set()).add(space)
    return {
        (space, first_text)
        for first_text, fact_text in similar_texts
        for space in spaces_by_hash.get(hash_by_text[fact_text], ())
    }
