"""Vectors of whole texts by day1's own model, and the check whether a vector is of that model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from day1.errors import EmbedderUnavailable
from day1.model.contexts.given_vector import SAME

if TYPE_CHECKING:
    from day1.ports.embedder import Embedder
    from day1.ports.index import Vector


@dataclass(frozen=True, slots=True)
class TextVectors:
    """One vector for each text, of length 1, in their order."""

    vectors: Sequence[Vector]
    long: int
    """Number of texts longer than the model reads: their vector is the mean of their passages."""


def text_vectors(embedder: Embedder, texts: Sequence[str]) -> TextVectors:
    """Compute the vector of each text.

    Raises:
        EmbedderUnavailable: the model cannot be loaded or reached.
    """
    import numpy as np  # noqa: PLC0415 - costs 0.1 s, which only these calls need

    passages_by_text = [embedder.passages(text) for text in texts]
    passage_vectors = embedder.embed(
        [passage for passages in passages_by_text for passage in passages]
    )
    vectors: list[Vector] = []
    first_passage_index = 0
    for passages in passages_by_text:
        passage_vectors_of_text = passage_vectors[
            first_passage_index : first_passage_index + len(passages)
        ]
        first_passage_index += len(passages)
        if len(passages) == 1:
            vectors.append(passage_vectors_of_text[0])
        else:
            mean_vector = passage_vectors_of_text.mean(axis=0)
            vectors.append(mean_vector / np.linalg.norm(mean_vector))
    return TextVectors(vectors, sum(len(passages) > 1 for passages in passages_by_text))


def embeds(embedder: Embedder | None) -> bool:
    """Whether texts get vectors: there is an embedder, and its model can be used."""
    if embedder is None:
        return False
    try:
        return embedder.dimension > 0
    except EmbedderUnavailable:
        return False


def unit(values: Sequence[float]) -> Vector:
    """Scale a vector to length 1."""
    import numpy as np  # noqa: PLC0415 - as above

    float64_values = np.asarray(values, np.float32).astype(np.float64)
    unit_vector: Vector = (float64_values / np.linalg.norm(float64_values)).astype(np.float32)
    return unit_vector


def foreign(embedder: Embedder | None, pairs: Sequence[tuple[str, Sequence[float]]]) -> list[bool]:
    """Return for each text and vector whether the vector is of another model than day1's own.

    Without a model this cannot be checked, and all count as foreign.
    """
    if embedder is None:
        return [True] * len(pairs)
    try:
        length_matches = [len(vector) == embedder.dimension for _, vector in pairs]
        texts = dict.fromkeys(
            text
            for (text, _), is_same_length in zip(pairs, length_matches, strict=True)
            if is_same_length
        )
        own_vectors = text_vectors(embedder, list(texts)).vectors if texts else ()
    except EmbedderUnavailable:
        return [True] * len(pairs)
    vector_by_text = dict(zip(texts, own_vectors, strict=True))
    return [
        not is_same_length or float(vector_by_text[text] @ unit(vector)) < SAME
        for (text, vector), is_same_length in zip(pairs, length_matches, strict=True)
    ]
