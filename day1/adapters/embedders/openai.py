"""Vectors from any endpoint that speaks OpenAI's `POST /v1/embeddings`.

Answers are checked like any input.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from day1.adapters.http_json import Bounds, EndpointFailed, JsonEndpoint
from day1.errors import EmbedderUnavailable
from day1.ports.embedder import Embedder

if TYPE_CHECKING:  # numpy costs 0.1 s to import and is not needed to name a type
    import numpy as np
    from numpy.typing import NDArray

PASSAGE_CHARACTERS = 800
"""Number of characters of a passage: about 200 tokens."""
OVERLAP_CHARACTERS = 160
"""Number of characters that two neighbouring passages share: about 40 tokens."""
MOST_PASSAGES = 64
"""Maximum number of passages of one text."""
_TEXTS_PER_REQUEST = 64
_TRIES = 3
_ANSWER_BYTES = 64 * 1024 * 1024  # four times what 64 vectors of 8,192 numbers take


class OpenAiEmbedder(Embedder):
    """An `Embedder` over HTTP; safe to share between threads."""

    stride = _TEXTS_PER_REQUEST * PASSAGE_CHARACTERS

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        dimension: int | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        """Set the endpoint (`https://host/v1`, with or without `/embeddings`) and its model.

        Without `dimension` it is learned from the first answer; then `name` and `dimension` may
        have to ask the endpoint.

        Raises:
            InvalidRequest: the address is not http or https.
        """
        bounds = Bounds(timeout_s, _TRIES, _ANSWER_BYTES)
        self._endpoint = JsonEndpoint(url, "/embeddings", key=key, bounds=bounds)
        self._model = model
        self._dimension = dimension

    @property
    @override
    def name(self) -> str:
        """The model and the dimension, in characters that file and collection names may have."""
        safe_name = re.sub(r"[^A-Za-z0-9._-]+", "-", self._model)
        if safe_name != self._model:  # two models must not become one name
            safe_name = f"{safe_name}-{hashlib.sha256(self._model.encode()).hexdigest()[:8]}"
        return f"{safe_name}-{self.dimension}"

    @property
    @override
    def dimension(self) -> int:
        """The length of each vector; at first asked of the endpoint (`EmbedderUnavailable`)."""
        return self._dimension or self.embed(["dimension"]).shape[1]

    @override
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - 0.1 s that a call without vectors need not pay

        matrices = [
            self._checked(self._ask(texts[start : start + _TEXTS_PER_REQUEST]))
            for start in range(0, len(texts), _TEXTS_PER_REQUEST)
        ]
        return np.concatenate(matrices) if matrices else np.empty((0, self.dimension), np.float32)

    @override
    def passages(self, text: str) -> list[str]:
        """Split at 800 characters with an overlap of 160, at most 64 passages.

        Four characters count as a token, as the model's tokenizer is not here.
        """
        if len(text) <= PASSAGE_CHARACTERS:
            return [text]
        step = PASSAGE_CHARACTERS - OVERLAP_CHARACTERS
        starts = range(0, len(text) - OVERLAP_CHARACTERS, step)[:MOST_PASSAGES]
        return [text[start : start + PASSAGE_CHARACTERS] for start in starts]

    def _checked(self, rows: list[list[float]]) -> NDArray[np.float32]:
        """Check the rows and scale them to unit vectors of this model's one dimension."""
        import numpy as np  # noqa: PLC0415 - as above

        try:
            vectors = np.array(rows, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._unavailable("its vectors are not equal lists of numbers") from error
        if vectors.ndim != 2 or not vectors.size:  # noqa: PLR2004 - rows of numbers
            raise self._unavailable("its vectors are not equal lists of numbers")
        if self._dimension is None:
            self._dimension = vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            dimension, expected_dimension = vectors.shape[1], self._dimension
            raise self._unavailable(
                f"its vectors have {dimension} dimensions and not {expected_dimension}"
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise self._unavailable("a vector is zero or not finite")
        unit_vectors: NDArray[np.float32] = (vectors / norms).astype(np.float32)
        return unit_vectors

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        # Several endpoints refuse a request that holds an empty text.
        request_body = {"model": self._model, "input": [text or " " for text in texts]}
        try:
            return _rows(self._endpoint.post(request_body), len(texts))
        except EndpointFailed as error:
            raise self._unavailable(str(error)) from error
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self._unavailable("its answer is not a list of embeddings") from None

    def _unavailable(self, reason: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(
            f"The embedding endpoint at {self._endpoint.host} cannot be used: {reason}. Check its "
            "url, model and key in the settings; until it works search is by keywords."
        )


def _rows(answer: Any, count: int) -> list[list[float]]:
    """Read the vectors of one answer, in the order of the texts."""
    entries = answer["data"]
    vector_by_index = {
        entry.get("index", position): entry["embedding"] for position, entry in enumerate(entries)
    }
    if len(entries) != count:
        raise ValueError("the answer has another number of vectors")
    return [vector_by_index[index] for index in range(count)]
