"""An import until it is durable, and until search knows all of it; and by which weights."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bench import Bench
from benchmarks.report import Row, quotient, skipped
from benchmarks.stores import ORIGIN
from benchmarks.texts import facts
from day1.adapters.embedders.model_folder import TOKENIZER, checked_weights
from day1.app.engines import create_store
from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.branches.branch import MAIN
from day1.model.rows.kind import FACT
from day1.model.values.ids import derived_id
from day1.ports.source import FactDraft
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.exchange.importing import import_foreign
from day1.services.search.indexing import embed_pending, follow
from day1.settings import EmbedderSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 32
_MOST_TOKENS = 256
_FACTS_A_TEXT = 25


class GivenFacts:
    """An import source of generated facts."""

    name = "bench"

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        """Give these facts, each with its category."""
        self._texts = texts

    def total(self) -> int:
        """How many there are."""
        return len(self._texts)

    @property
    def left_out(self) -> Mapping[str, Sequence[str]]:
        """Nothing."""
        return {}

    def items(self) -> Iterator[list[FactDraft]]:
        """One draft for each."""
        for number, (text, category) in enumerate(self._texts):
            yield [FactDraft(derived_id(FACT.prefix, None, self.name, str(number)), text, category)]


def rows(bench: Bench) -> Iterator[Row]:
    """Rows a second until durable; until indexed, against onnxruntime on the same texts."""
    count = bench.sizes.middle
    texts = list(facts(count, "import"))
    folder = bench.folder / "imported"
    bench.remove(folder)
    create_store(bench.settings(folder), folder, now)
    store = bench.open(folder)
    try:
        yield from _imported(bench, store, texts)
    finally:
        store.close()
    if bench.model_dir is not None:
        yield from _by_weights(bench)


def _by_weights(bench: Bench) -> Iterator[Row]:
    """Processor time of imports with the weights of the settings and with float32, by turns."""
    short = [text for text, _ in facts(bench.sizes.small, "weights")]
    long = [
        " ".join(short[start : start + _FACTS_A_TEXT])
        for start in range(0, len(short) // 2, _FACTS_A_TEXT)
    ]
    for name, texts in (
        (f"import of {len(short):,} facts until the last vector, int8 / float32", short),
        ("a MB of long texts until the last vector, int8 / float32", long),
    ):
        characters = sum(map(len, texts))
        scale = 1.0 if texts is short else 1e6 / characters
        spent_by_weights: dict[str, list[float]] = {"int8": [], "float32": []}
        for turn in range(bench.sizes.repeats):
            for weights, times in spent_by_weights.items():
                times.append(scale * _processor_time(bench, texts, weights, turn))
        above, below = (statistics.median(times) for times in spent_by_weights.values())
        row = quotient(name, above, below, 0.5, "float32")
        yield replace(row, note="processor time")


def _processor_time(bench: Bench, texts: Sequence[str], weights: str, turn: int) -> float:
    """Of an import into a new store, until every text has its vectors; the model is loaded."""
    folder = bench.folder / f"weights-{weights}-{turn}"
    bench.remove(folder)
    settings = bench.settings(folder)
    embedding = settings.embedder.model_copy(update={"weights": weights})
    settings = settings.model_copy(update={"embedder": embedding})
    create_store(settings, folder, now)
    store = open_store(settings, folder=folder)
    embedder = store.search.embedder
    if embedder is None:
        raise RuntimeError("there is no model")
    try:
        embedder.embed(["The model is loaded."])
        branch, source = find(store.repo, MAIN), GivenFacts([(text, "bench") for text in texts])
        started = time.process_time()
        import_foreign(store.repo, branch, source, ORIGIN, lambda *_: None)
        follow(store.repo.store, store.repo.history, store.search.index, MAIN, branch.id)
        if embed_pending(store.search.index, embedder, None):
            raise RuntimeError("some texts still wait for a vector")
        return time.process_time() - started
    finally:
        store.close()
        bench.remove(folder)


def _imported(bench: Bench, store: OpenStore, texts: Sequence[tuple[str, str]]) -> Iterator[Row]:
    count, embedder = len(texts), store.search.embedder
    if embedder is not None:
        embedder.embed(["The model is loaded, as onnxruntime's is below."])
    started = time.perf_counter()
    import_result = import_foreign(
        store.repo, find(store.repo, MAIN), GivenFacts(texts), ORIGIN, lambda *_: None
    )
    durable_s = time.perf_counter() - started
    if import_result.added != count:
        raise RuntimeError(f"{import_result.added} of {count} facts were added")
    rate, name = count / durable_s, f"import of {count:,} facts until durable"
    yield Row(
        name, f"{rate:,.0f} rows/s", ">= 3,000 rows/s", rate, 3_000, at_least=True, value=rate
    )
    name, target = f"import of {count:,} facts until indexed", ">= 90 % of raw onnxruntime"
    if bench.model_dir is None or embedder is None:
        yield skipped(name, target, "no model (DAY1_EMBEDDER__MODEL_DIR)")
        return
    index, branch = store.search.index, find(store.repo, MAIN)
    started = time.perf_counter()
    follow(store.repo.store, store.repo.history, index, MAIN, branch.id)
    if embed_pending(index, embedder, None):
        raise RuntimeError("some texts still wait for a vector")
    indexed_s = durable_s + time.perf_counter() - started
    raw_s = _raw(bench.model_dir, [text for text, _ in texts])
    rate_text = f"{count / indexed_s:,.0f} facts/s; raw {count / raw_s:,.0f}"
    facts_a_second = count / indexed_s
    yield Row(name, rate_text, target, raw_s / indexed_s, 0.9, at_least=True, value=facts_a_second)


def _raw(model_dir: Path, texts: Sequence[str]) -> float:
    """Seconds for tokenizer and graph alone: sorted by length, 32 at once, on every core."""
    import numpy as np  # noqa: PLC0415 - only this row loads it
    from tokenizers import Tokenizer  # noqa: PLC0415 - only this row loads it

    from day1.adapters.embedders.onnx_model import session  # noqa: PLC0415 - only this row loads it

    tokenizer = Tokenizer.from_file(str(model_dir / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_TOKENS)
    file, cores = checked_weights(model_dir), len(os.sched_getaffinity(0))
    graph = session(model_dir, file, cores, EmbedderSettings().weights)
    inputs = {wanted.name for wanted in graph.get_inputs()}
    started = time.perf_counter()
    tokens = sorted((e.ids for e in tokenizer.encode_batch_fast(list(texts))), key=len)
    for start in range(0, len(tokens), _BATCH):
        batch = tokens[start : start + _BATCH]
        ids = np.zeros((len(batch), len(batch[-1])), np.int64)
        mask: NDArray[np.int64] = np.zeros_like(ids)
        for number, text_tokens in enumerate(batch):
            ids[number, : len(text_tokens)] = text_tokens
            mask[number, : len(text_tokens)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        graph.run(None, {name: feed for name, feed in feeds.items() if name in inputs})
    return time.perf_counter() - started
