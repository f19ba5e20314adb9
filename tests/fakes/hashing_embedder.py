"""An embedder without a model: texts that share words have near vectors.

It pretends to be an `Embedder` of 64 dimensions. Each word is a fixed direction given by its hash;
a text is the sum of its words. It knows no meaning: synonyms are as far apart as strangers.
"""

import hashlib
import re
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PASSAGE_WORDS, OVERLAP_WORDS, MOST_PASSAGES = 200, 40, 64


class HashingEmbedder:
    """Deterministic on every machine; `embedded` counts the texts turned into vectors."""

    name = "hashing-64"
    dimension = 64
    stride = 1
    """One text after the other."""

    def __init__(self) -> None:
        self.embedded = 0
        self._guard = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), 64)."""
        with self._guard:
            self.embedded += len(texts)
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                vectors[row] += _direction(word)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)

    def passages(self, text: str) -> list[str]:
        """As the real one, with words for tokens."""
        spans = [match.span() for match in re.finditer(r"\S+", text)]
        if len(spans) <= PASSAGE_WORDS:
            return [text]
        step = PASSAGE_WORDS - OVERLAP_WORDS
        starts = range(0, len(spans) - OVERLAP_WORDS, step)[:MOST_PASSAGES]
        cuts = (spans[start : start + PASSAGE_WORDS] for start in starts)
        return [text[cut[0][0] : cut[-1][1]] for cut in cuts]


def _direction(word: str) -> NDArray[np.float32]:
    """64 signs from the word's hash."""
    bits = np.frombuffer(hashlib.sha256(word.encode()).digest()[:8], np.uint8)
    return np.unpackbits(bits).astype(np.float32) * 2 - 1
