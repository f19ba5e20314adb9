"""Turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # numpy costs 0.1 s to import and is not needed to name a type
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into unit vectors of one space; the name keeps spaces apart."""

    @property
    def name(self) -> str:
        """The stable name of model and dimension, part of file and collection names.

        Example: `minilm-l6-v2-384`.
        """

    @property
    def dimension(self) -> int:
        """The length of each vector."""

    @property
    def stride(self) -> int:
        """The number of characters to embed between two checks of the time limit."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Turn texts into vectors.

        Shape: `(len(texts), dimension)`, row i belongs to `texts[i]`; `(0, dimension)` for none.
        Units: each row has length 1 (within 1e-5), so that a dot product is a cosine.

        Raises:
            EmbedderUnavailable: the model cannot be loaded or reached.
        """

    def passages(self, text: str) -> list[str]:
        """Split a text into passages that the model can read, in order; a short text is one.

        At most 64 passages of 200 tokens with an overlap of 40; the rest is not embedded.
        """
