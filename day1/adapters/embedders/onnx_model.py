"""A loaded all-MiniLM-L6-v2: texts to tokens to vectors.

Imports numpy, onnxruntime and tokenizers, which take half a second together: only `minilm.py`
imports this module, on first use.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from day1.adapters.embedders.export import graph_of
from day1.adapters.embedders.graph import graph_over
from day1.adapters.embedders.int8 import int8_graph
from day1.adapters.embedders.model_folder import SAFETENSORS, Weights, checked_weights, unusable

log = logging.getLogger(__name__)

DIMENSION = 384
MOST_TOKENS = 256  # what the model was trained to read, its two special tokens among them

# Padded tokens of one run. Measured with int8 for texts of 20, 40 and 190 tokens, in seconds of
# processor time a MB: 256 tokens 28, 25, 27; 512: 28, 23, 31; 1,024: 38, 27, 34. In more tokens
# the activations fall out of the cache. For float32 it makes no difference from 128 to 1,024.
_RUN_TOKENS = 512
_TOKENIZED_AT_ONCE = 256

# The start of one known vector. A model that misses it is damaged, quantised or another one.
_PROBE = "Memories are kept on branches."
_PROBE_VECTORS = {
    "float32": (0.0615, 0.0055, -0.0606, 0.0410, -0.0048, 0.0228, -0.0064, -0.0175),
    "int8": (0.0575, 0.0065, -0.0603, 0.0381, 0.0018, 0.0233, -0.0012, -0.0166),
}
# Of int8 larger: another processor rounds float32 otherwise, and then a value to the next integer.
_PROBE_TOLERANCES = {"float32": 1e-3, "int8": 4e-3}


class OnnxModel:
    """One onnxruntime session and its tokenizer; safe to share between threads."""

    def __init__(self, folder: Path, *, threads: int, weights: Weights = "int8") -> None:
        """Load the model that lies in `folder`, on `threads` threads.

        Where an export does not tell which weights are which, `int8` is `float32`.

        Raises:
            EmbedderUnavailable: the folder does not hold a sound model.
        """
        weights_name = checked_weights(folder)
        self.weights = weights
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = self._opened(folder, weights_name, threads)
            self._inputs = {model_input.name for model_input in self._session.get_inputs()}
        except Exception as error:  # both libraries raise bare and private types
            raise unusable(folder, f"{weights_name} does not load") from error
        # As shipped it cuts at 128 tokens and pads to 128.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        probe_vector, expected_start = self.vectors([_PROBE])[0], _PROBE_VECTORS[self.weights]
        if not np.allclose(
            probe_vector[: len(expected_start)],
            expected_start,
            atol=_PROBE_TOLERANCES[self.weights],
        ):
            raise unusable(folder, f"{weights_name} gives other vectors than all-MiniLM-L6-v2")

    def _opened(self, folder: Path, file: str, threads: int) -> onnxruntime.InferenceSession:
        """Open a session with the requested weights, else with float32, and log that."""
        if self.weights == "int8":
            try:
                return session(folder, file, threads, self.weights)
            except Exception as error:  # noqa: BLE001 - bare and private types, as above
                log.warning("the model's weights are used as float32, not int8: %s", error)
        self.weights = "float32"
        return session(folder, file, threads, self.weights)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: unit vectors of shape (len(texts), 384), in the order of the texts."""
        token_ids_of_texts = list(self._tokens(texts))
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for rows_of_run in _runs([len(token_ids) for token_ids in token_ids_of_texts]):
            vectors[rows_of_run] = self._run([token_ids_of_texts[row] for row in rows_of_run])
        return vectors

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where each token of a text begins and ends, in characters; no special tokens."""
        return self._tokenizer.encode(text, add_special_tokens=False).offsets

    def _tokens(self, texts: Sequence[str]) -> Iterator[list[int]]:
        for start in range(0, len(texts), _TOKENIZED_AT_ONCE):
            batch_texts = list(texts[start : start + _TOKENIZED_AT_ONCE])
            for encoding in self._tokenizer.encode_batch_fast(batch_texts):
                token_ids = encoding.ids
                yield (
                    token_ids
                    if len(token_ids) <= MOST_TOKENS
                    else [*token_ids[: MOST_TOKENS - 1], token_ids[-1]]
                )

    def _run(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Run the graph once, padded to the longest text: the mean over each text's tokens."""
        shape = (len(tokens), max(map(len, tokens)))
        id_matrix, mask_matrix = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, token_ids in enumerate(tokens):
            id_matrix[row, : len(token_ids)] = token_ids
            mask_matrix[row, : len(token_ids)] = 1
        feed_by_name = {
            "input_ids": id_matrix,
            "attention_mask": mask_matrix,
            "token_type_ids": np.zeros_like(id_matrix),
        }
        used_feeds = {name: feed for name, feed in feed_by_name.items() if name in self._inputs}
        hidden_states = self._session.run(["last_hidden_state"], used_feeds)[0]
        # The mean's divisor is left out: scaling to length 1 takes it away again.
        summed_states = np.einsum("bs,bsd->bd", mask_matrix.astype(np.float32), hidden_states)
        unit_vectors: NDArray[np.float32] = summed_states / np.linalg.norm(
            summed_states, axis=1, keepdims=True
        )
        return unit_vectors


def session(
    folder: Path, file: str, threads: int, weights: Weights
) -> onnxruntime.InferenceSession:
    """Open a session on a checked weights file, in either of its forms."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only
    # A thread that waits for the next piece of work would spin, which costs as much processor time
    # again (measured on two busy cores: 16 ms in place of 8 for a question), and searches and the
    # worker share the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # A link is followed: onnxruntime refuses weights outside of the folder it is told.
    model_file = folder / file if file == SAFETENSORS else (folder / file).resolve()
    if weights == "int8":
        graph = int8_graph(model_file, packaged=file == SAFETENSORS)
    else:
        graph = graph_over(model_file) if file == SAFETENSORS else graph_of(model_file)
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(model_file.parent)
    )
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _runs(lengths: list[int]) -> Iterator[list[int]]:
    """Group rows of similar length into runs, which need little padding."""
    rows: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if rows and (len(rows) + 1) * lengths[row] > _RUN_TOKENS:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows
