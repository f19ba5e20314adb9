"""The embedding model with weights of integers: near to float32, and exact in 16 bits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from day1.adapters.embedders import export
from day1.adapters.embedders.graph import Graph
from day1.adapters.embedders.int8 import int8_graph
from day1.adapters.embedders.minilm import MiniLm
from tests.adapters.embedding_models import folder_named_by
from tests.adapters.test_minilm_embedder import (
    random_tensors,
    some_texts,
    write_safetensors,
)


def test_integer_weights_give_nearly_the_vectors_of_float32(
    minilm: MiniLm, model_dir: Path
) -> None:
    texts = [*some_texts(60), "42", "東京は日本の首都です。", "x" * 300, "tea " * 250]
    precise = MiniLm(lambda: model_dir, weights="float32").embed(texts)
    cosines = (minilm.embed(texts) * precise).sum(1)
    assert 0.97 < cosines.min() < 0.9999  # beyond that they were not of integers
    assert cosines.mean() > 0.99


def test_no_two_products_of_the_integer_graph_exceed_16_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.safetensors"
    write_safetensors(file, random_tensors(words=2))
    largest = []

    def noted(graph: Any, name: str, kind: int, shape: Any, raw: bytes) -> str:
        if kind == 3:
            largest.append(int(np.abs(np.frombuffer(raw, np.int8)).max()))
        return name

    monkeypatch.setattr(Graph, "constant", noted)
    int8_graph(file, packaged=True)
    assert len(largest) == 36
    assert 2 * 255 * max(largest) < 2**15 < 2 * 255 * (max(largest) + 2)


def test_an_export_without_names_is_used_as_float32_and_that_is_logged(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not (model_dir / "model.onnx").is_file():
        pytest.skip("the model folder holds no model.onnx")
    monkeypatch.setattr(export, "_in_model", lambda name: f"unknown.{name}")
    embedder = MiniLm(lambda: model_dir)
    precise = MiniLm(lambda: model_dir, weights="float32")
    assert np.array_equal(embedder.embed(["tea"]), precise.embed(["tea"]))
    assert "as float32" in caplog.text


@pytest.mark.weekly
def test_the_packaged_weights_give_the_vectors_of_the_export(
    minilm: MiniLm, model_dir: Path
) -> None:
    packaged = folder_named_by("DAY1_TEST_SAFETENSORS_DIR")
    texts = [*some_texts(190, seed=9), "", " ", "\n", "x" * 500, "한국어", "العربية", "🙂" * 9]
    precise, other = (
        MiniLm(partial(Path, folder), weights="float32").embed(texts)
        for folder in (model_dir, packaged)
    )
    assert (precise * other).sum(1).min() >= 0.99999
    assert np.abs(minilm.embed(texts) - MiniLm(lambda: packaged).embed(texts)).max() < 1e-6
