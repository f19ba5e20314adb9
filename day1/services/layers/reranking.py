"""Ranking texts by a query, in memory: by meaning, or by words where there is no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from day1.errors import EmbedderUnavailable
from day1.model.search.wording import content_words
from day1.services.contexts.vectors import text_vectors
from day1.services.search.search_engine import SWITCHED_OFF, SearchEngine

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder


@dataclass(frozen=True, slots=True)
class Ranking:
    """Texts in their order, and notes on how they were compared."""

    best: list[tuple[int, float]]
    """The index of each text among the given texts, and its score (0..1), best first."""
    notes: list[str] = field(default_factory=list)


def rerank_texts(engine: SearchEngine, query: str, texts: Sequence[str]) -> Ranking:
    """Rank texts by their cosine to a query, else by the share of its words that they have."""
    fallback_reason = SWITCHED_OFF
    if engine.embedder is not None:
        try:
            return Ranking(_in_order(_by_meaning(engine, engine.embedder, query, texts)))
        except EmbedderUnavailable as error:
            fallback_reason = str(error)
    return Ranking(_in_order(_by_words(query, texts)), [f"keyword only: {fallback_reason}"])


def _by_meaning(
    engine: SearchEngine, embedder: Embedder, query: str, texts: Sequence[str]
) -> list[float]:
    query_vector = engine.query_vectors.of(embedder, query, None)
    vectors = text_vectors(embedder, texts).vectors if texts else ()
    return [max(0.0, min(1.0, float(vector @ query_vector))) for vector in vectors]


def _by_words(query: str, texts: Sequence[str]) -> list[float]:
    query_words = set(content_words(query))
    return [
        len(query_words.intersection(content_words(text))) / max(1, len(query_words))
        for text in texts
    ]


def _in_order(scores: Sequence[float]) -> list[tuple[int, float]]:
    return sorted(enumerate(scores), key=lambda scored: (-scored[1], scored[0]))
