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

    cut = [embedder.passages(text) for text in texts]
    found = embedder.embed([passage for passages in cut for passage in passages])
    vectors: list[Vector] = []
    start = 0
    for passages in cut:
        some = found[start : start + len(passages)]
        start += len(passages)
        mean = some[0] if len(some) == 1 else some.mean(axis=0)
        vectors.append(mean / np.linalg.norm(mean) if len(some) > 1 else mean)
    return TextVectors(vectors, sum(len(passages) > 1 for passages in cut))


def unit(values: Sequence[float]) -> Vector:
    """Scale a vector to length 1."""
    import numpy as np  # noqa: PLC0415 - as above

    wide = np.asarray(values, np.float32).astype(np.float64)
    short: Vector = (wide / np.linalg.norm(wide)).astype(np.float32)
    return short


def foreign(embedder: Embedder | None, given: Sequence[tuple[str, Sequence[float]]]) -> list[bool]:
    """Return for each text and vector whether the vector is of another model than day1's own.

    Without a model this cannot be checked, and all count as foreign.
    """
    if embedder is None:
        return [True] * len(given)
    try:
        ours = [len(vector) == embedder.dimension for _, vector in given]
        texts = dict.fromkeys(t for (t, _), one in zip(given, ours, strict=True) if one)
        own = text_vectors(embedder, list(texts)).vectors if texts else ()
    except EmbedderUnavailable:
        return [True] * len(given)
    by_text = dict(zip(texts, own, strict=True))
    return [
        not one or float(by_text[text] @ unit(vector)) < SAME
        for (text, vector), one in zip(given, ours, strict=True)
    ]
