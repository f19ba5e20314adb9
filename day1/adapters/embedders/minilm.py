"""all-MiniLM-L6-v2 on this machine's processor: the embedder day1 uses unless told otherwise."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from day1.adapters.embedders.model_folder import NEXT_STEP, Weights
from day1.errors import EmbedderUnavailable
from day1.ports.embedder import Embedder

if TYPE_CHECKING:  # both cost time to import and are not needed to name a type
    import numpy as np
    from numpy.typing import NDArray

    from day1.adapters.embedders.onnx_model import OnnxModel

PASSAGE_TOKENS = 200
"""Number of tokens of a passage."""
OVERLAP_TOKENS = 40
"""Number of tokens that two neighbouring passages share."""
MOST_PASSAGES = 64
"""Maximum number of passages of one text."""


class MiniLm(Embedder):
    """An `Embedder` that loads its model on first use; safe to share between threads.

    The folder is looked for anew until a load succeeds, so that a model installed while a server
    runs is found without a restart.
    """

    name = "minilm-l6-v2-384"
    dimension = 384
    stride = 500
    """Characters embedded in one step: about 10 ms of int8 weights on two cores."""

    def __init__(
        self,
        locate: Callable[[], Path | None],
        *,
        threads: int | None = None,
        weights: Weights = "int8",
    ) -> None:
        """Set the function that finds the model, and the threads of a run; None: one a core."""
        self._locate, self._weights = locate, weights
        self._threads = threads or _cores()
        self._lock = threading.Lock()
        self._loaded: OnnxModel | None = None

    @override
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text; only its first 256 tokens are read."""
        return self._model().vectors(texts)

    @override
    def passages(self, text: str) -> list[str]:
        if len(text) <= PASSAGE_TOKENS and text.isascii():
            return [text]  # an ASCII character is never more than one token: no need to count
        token_spans = self._model().spans(text)
        if len(token_spans) <= PASSAGE_TOKENS:
            return [text]
        step = PASSAGE_TOKENS - OVERLAP_TOKENS
        starts = range(0, len(token_spans) - OVERLAP_TOKENS, step)[:MOST_PASSAGES]
        spans_by_passage = (token_spans[start : start + PASSAGE_TOKENS] for start in starts)
        return [
            text[passage_spans[0][0] : passage_spans[-1][1]] for passage_spans in spans_by_passage
        ]

    def _model(self) -> OnnxModel:
        with self._lock:
            if self._loaded is None:
                model_folder = self._locate()
                if model_folder is None:
                    raise EmbedderUnavailable(f"There is no embedding model yet: {NEXT_STEP}.")
                self._loaded = _load(model_folder, self._threads, self._weights)
            return self._loaded


def _load(folder: Path, threads: int, weights: Weights) -> OnnxModel:
    try:
        # Half a second and 100 MB that a call without vectors need not pay.
        from day1.adapters.embedders.onnx_model import OnnxModel  # noqa: PLC0415 - see above
    except ImportError as error:
        raise EmbedderUnavailable(
            f"The embedding model needs {error.name}, which cannot be imported: install day1 "
            "again with its dependencies; until then search is by keywords."
        ) from error
    return OnnxModel(folder, threads=threads, weights=weights)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
