"""Possible duplicates: new texts of the two sides of a merge with nearly the same meaning.

They are only listed. No threshold tells a duplicate from a contradiction ("depends on" and "does
not depend on" have a similarity of 0.94), so a person or an agent decides.
"""

from dataclasses import dataclass

from day1.model.redaction.veil import is_secret
from day1.model.rows.change import Changes
from day1.model.rows.kind import FACT, Row
from day1.services.merges.planning import Preview
from day1.services.search.search_engine import SearchEngine

ALIKE = 0.85
"""Cosine similarity above which two texts are listed as possible duplicates."""


def may_find(engine: SearchEngine) -> bool:
    """Whether day1 has an embedding model, without which possible duplicates cannot be found."""
    return engine.embedder is not None


@dataclass(frozen=True, slots=True)
class Twin:
    """A pair of possible duplicates: a new text of the source and a new text of the target."""

    id: str
    text: str
    other_id: str
    other_text: str
    cosine: float


def possible_duplicates(engine: SearchEngine, preview: Preview) -> list[Twin]:
    """Find pairs of similar new facts of source and target, the most similar pair first.

    The preview must have both sides' changes: it reads them if there is a model (`may_find`).
    Texts whose vectors are not computed yet are left out.
    """
    if engine.embedder is None:
        return []
    source_fact_by_hash = {
        str(row.source["content_hash"]): (row.id, str(row.source["fact_text"]))
        for row in preview.plan.rows
        if row.kind is FACT and row.source is not None and _compared(row.base, row.source)
    }
    target_fact_by_hash = _new_texts(preview.target_changes) if source_fact_by_hash else {}
    if not target_fact_by_hash:
        return []
    word_index, vector_index = engine.index.words, engine.index.vectors
    text_id_by_hash = word_index.known(FACT, [*source_fact_by_hash, *target_fact_by_hash])
    hash_by_text_id = {text_id: content_hash for content_hash, text_id in text_id_by_hash.items()}
    source_text_ids = [
        text_id_by_hash[content_hash]
        for content_hash in source_fact_by_hash
        if content_hash in text_id_by_hash
    ]
    target_text_ids = [
        text_id_by_hash[content_hash]
        for content_hash in target_fact_by_hash
        if content_hash in text_id_by_hash
    ]
    similar_pairs = [
        Twin(
            *source_fact_by_hash[hash_by_text_id[source_text_id]],
            *target_fact_by_hash[hash_by_text_id[target_text_id]],
            cosine,
        )
        for source_text_id, target_text_id, cosine in vector_index.pairs(
            engine.embedder, source_text_ids, target_text_ids, ALIKE
        )
        if source_fact_by_hash[hash_by_text_id[source_text_id]][0]
        != target_fact_by_hash[hash_by_text_id[target_text_id]][0]
    ]
    return sorted(similar_pairs, key=lambda twin: (-twin.cosine, twin.id, twin.other_id))


def _compared(before: Row | None, after: Row) -> bool:
    """Whether a fact's text is new and may be shown."""
    if is_secret(after) or after["expires_at"] is not None:
        return False
    return before is None or before["content_hash"] != after["content_hash"]


def _new_texts(changes: Changes) -> dict[str, tuple[str, str]]:
    return {
        str(change.after["content_hash"]): (change.id, str(change.after["fact_text"]))
        for change in changes.get(FACT.table, ())
        if change.after is not None and _compared(change.before, change.after)
    }
