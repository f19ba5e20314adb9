"""The embedding model on this machine: vectors, passages, wrong files, and its graph."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from day1.adapters.embedders import model_folder
from day1.adapters.embedders.export import graph_of
from day1.adapters.embedders.graph import graph_over
from day1.adapters.embedders.minilm import MiniLm
from day1.adapters.embedders.model_folder import checked_weights
from day1.adapters.embedders.openai import OpenAiEmbedder
from day1.errors import EmbedderUnavailable
from day1.ports.embedder import Embedder
from tests.adapters.embedding_models import folder_named_by
from tests.fakes.hashing_embedder import HashingEmbedder

SENTENCE = (
    "the server deploys on Friday because Alice prefers Postgres and thirty seconds of patience "
    "naïve café Ünïcödé 東京 한국어 вода 🙂 don't re-entrant x=3.14 unbelievable certificates"
)


def some_texts(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    lengths = (1, 2, 5, 11, 19, 60, 260)
    words = SENTENCE.split()
    return [" ".join(rng.choices(words, k=rng.choice(lengths))) for _ in range(count)]


# The model on this machine


def test_the_embedders_fulfil_the_role() -> None:
    def role(embedder: Embedder) -> str:
        return embedder.name

    assert role(MiniLm(lambda: None)) == "minilm-l6-v2-384"
    assert role(HashingEmbedder()) == "hashing-64"
    assert role(OpenAiEmbedder("http://localhost/v1", "m", dimension=3)) == "m-3"


def test_making_the_embedder_loads_nothing() -> None:
    program = (
        "import sys; from day1.adapters.embedders.minilm import MiniLm; MiniLm(lambda: None)\n"
        "assert not {'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_vectors_are_unit_and_near_texts_are_near(minilm: MiniLm) -> None:
    vectors = minilm.embed(
        ["Alice likes tea.", "Alice enjoys drinking tea.", "The disk of the server is full.", ""]
    )
    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.8 > 0.3 > vectors[0] @ vectors[2]
    assert minilm.embed([]).shape == (0, 384)


def test_a_vector_does_not_depend_on_its_neighbours(minilm: MiniLm) -> None:
    texts = some_texts(70)
    together = minilm.embed(texts)
    alone = np.vstack([minilm.embed([text]) for text in texts[::7]])
    assert np.abs(together[::7] - alone).max() < 1e-5


def test_what_lies_beyond_256_tokens_is_not_read(minilm: MiniLm) -> None:
    start = "tea " * 254
    vectors = minilm.embed([start, start + "and a crashing server", "tea " * 200 + "server"])
    assert np.abs(vectors[0] - vectors[1]).max() < 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-3


def test_many_threads_get_their_own_vectors(model_dir: Path) -> None:
    embedder = MiniLm(lambda: model_dir)
    texts = some_texts(16, seed=3)
    with ThreadPoolExecutor(8) as pool:
        each = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    assert np.abs(embedder.embed(texts) - np.array(each)).max() < 1e-5


def test_threads_that_wait_do_not_spin(model_dir: Path) -> None:
    from day1.adapters.embedders.onnx_model import session

    file = checked_weights(model_dir)
    options = session(model_dir, file, 2, "int8").get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert options.intra_op_num_threads == 2


@pytest.fixture(scope="module")
def export(model_dir: Path) -> Path:
    file = model_dir / "model.onnx"
    if not file.is_file():
        pytest.skip("the model folder holds no model.onnx")
    return file


def test_the_graph_of_an_export_refers_to_the_weights_in_it(export: Path) -> None:
    from onnxruntime import InferenceSession

    from day1.adapters.embedders.onnx_model import session

    assert len(graph_of(export)) < 1_000_000 < 90_000_000 < export.stat().st_size
    ids = np.array([[101, 5572, 7777, 102]])
    feeds = {"input_ids": ids, "attention_mask": ids // ids, "token_type_ids": ids * 0}
    whole = InferenceSession(str(export), providers=["CPUExecutionProvider"])
    expected, found = (
        one.run(["last_hidden_state"], feeds)[0]
        for one in (whole, session(export.parent, export.name, 1, "float32"))
    )
    assert np.array_equal(found, expected)


def test_an_export_may_be_a_link(export: Path, tmp_path: Path) -> None:
    for name in (export.name, "tokenizer.json"):
        (tmp_path / name).symlink_to(export.with_name(name))
    assert MiniLm(lambda: tmp_path).embed(["tea"]).shape == (1, 384)


def test_an_export_that_is_cut_short_is_refused(export: Path, tmp_path: Path) -> None:
    shutil.copy(export.with_name("tokenizer.json"), tmp_path)
    with export.open("rb") as file:
        (tmp_path / export.name).write_bytes(file.read(90_100_000))
    with pytest.raises(EmbedderUnavailable, match="does not load"):
        MiniLm(lambda: tmp_path).embed(["tea"])


def test_a_short_text_is_its_own_passage(minilm: MiniLm) -> None:
    for text in ("Alice likes tea.", "東京" * 40, " tea " * 200, ""):
        assert minilm.passages(text) == [text]
    assert MiniLm(lambda: None).passages("x" * 200) == ["x" * 200]


def test_a_long_text_is_cut_into_overlapping_passages(minilm: MiniLm) -> None:
    words = [f"word{number % 10}" for number in range(300)]  # two tokens each
    passages = minilm.passages(" ".join(words))
    cut = [passage.split() for passage in passages]
    assert [len(part) for part in cut] == [100, 100, 100, 60]
    assert all(before[-20:] == after[:20] for before, after in itertools.pairwise(cut))
    assert cut[0] + cut[1][20:] + cut[2][20:] + cut[3][20:] == words


def test_a_text_of_201_tokens_has_two_passages(minilm: MiniLm) -> None:
    assert [len(part.split()) for part in minilm.passages("tea " * 201)] == [200, 41]


def test_passages_end_at_64(minilm: MiniLm) -> None:
    passages = minilm.passages(" ".join(f"tea{'!' * (number % 2)}" for number in range(20_000)))
    assert len(passages) == 64


def test_no_model_says_what_to_do_and_a_later_one_is_found(model_dir: Path) -> None:
    found: list[Path] = []
    embedder = MiniLm(lambda: found[0] if found else None)
    with pytest.raises(EmbedderUnavailable, match="day1 model install"):
        embedder.embed(["x"])
    found.append(model_dir)
    assert embedder.embed(["x"]).shape == (1, 384)


def refused(folder: Path) -> str:
    with pytest.raises(EmbedderUnavailable, match="day1 model install") as caught:
        MiniLm(lambda: folder).embed(["x"])
    assert caught.value.details["folder"] == str(folder)
    return str(caught.value)


def test_files_that_are_missing_or_wrong_are_named(tmp_path: Path) -> None:
    assert "no tokenizer.json" in refused(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    assert "neither model.safetensors nor model.onnx" in refused(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"cut short")
    assert "model.onnx has only 9 bytes" in refused(tmp_path)
    os.truncate(tmp_path / "model.onnx", model_folder.EXPORT_BYTES_AT_LEAST)
    assert "tokenizer.json is not the published file" in refused(tmp_path)


def test_damaged_weights_are_refused(model_dir: Path, tmp_path: Path) -> None:
    shutil.copy(model_dir / "tokenizer.json", tmp_path)
    (tmp_path / "model.safetensors").touch()
    os.truncate(tmp_path / "model.safetensors", model_folder.SAFETENSORS_BYTES)
    assert "model.safetensors is not the published file" in refused(tmp_path)
    assert not (tmp_path / ".day1-checked").exists()


def test_an_export_that_does_not_load_or_answers_wrongly_is_refused(
    model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_folder, "EXPORT_BYTES_AT_LEAST", 1)
    shutil.copy(model_dir / "tokenizer.json", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"this is no graph")
    assert "model.onnx does not load" in refused(tmp_path)
    if not (model_dir / "model.onnx").exists():
        return
    whole = bytearray((model_dir / "model.onnx").read_bytes())
    middle = len(whole) * 3 // 4
    whole[middle : middle + 1_000_000] = bytes(1_000_000)
    (tmp_path / "model.onnx").write_bytes(whole)
    message = refused(tmp_path)
    assert "gives other vectors" in message or "does not load" in message


# The graph over safetensors


def write_safetensors(file: Path, tensors: dict[str, np.ndarray[Any, Any]]) -> None:
    header, offset = {}, 0
    for name, tensor in tensors.items():
        ends = [offset, offset + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": ends}
        offset = ends[1]
    head = json.dumps(header).encode()
    with file.open("wb") as out:
        out.write(len(head).to_bytes(8, "little") + head)
        for tensor in tensors.values():
            out.write(tensor.tobytes())


def random_tensors(words: int = 50) -> dict[str, np.ndarray[Any, Any]]:
    """The 101 tensors of the model with few words and random numbers."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings": (words, 384),
        "embeddings.position_embeddings": (512, 384),
        "embeddings.token_type_embeddings": (2, 384),
    }
    dense: dict[str, tuple[int, int]] = {}
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(6)):
        for part in ("query", "key", "value"):
            dense[f"{layer}.attention.self.{part}"] = (384, 384)
        dense[f"{layer}.attention.output.dense"] = (384, 384)
        dense[f"{layer}.intermediate.dense"] = (1536, 384)
        dense[f"{layer}.output.dense"] = (384, 1536)
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    rng = np.random.default_rng(5)
    tensors = {f"{name}.weight": rng.normal(0, 0.1, shape) for name, shape in shapes.items()}
    for name, shape in dense.items():
        tensors[f"{name}.weight"] = rng.normal(0, 0.1, shape)
        tensors[f"{name}.bias"] = rng.normal(0, 0.1, shape[0])
    for name in norms:
        tensors[f"{name}.weight"] = rng.normal(1, 0.1, 384)
        tensors[f"{name}.bias"] = rng.normal(0, 0.1, 384)
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def bert(tensors: dict[str, np.ndarray[Any, Any]], ids: list[int]) -> Any:
    """The same model for one text, written for clearness: hidden states (tokens, 384)."""
    weights = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}

    def dense(name: str, x: Any) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name: str, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        x = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    erf = np.vectorize(math.erf)
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm("embeddings.LayerNorm", x + weights["embeddings.token_type_embeddings.weight"][0])
    for layer in (f"encoder.layer.{number}" for number in range(6)):
        query, key, value = (
            dense(f"{layer}.attention.self.{part}", x).reshape(-1, 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(32))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = dense(f"{layer}.attention.output.dense", mixed.transpose(1, 0, 2).reshape(-1, 384))
        x = norm(f"{layer}.attention.output.LayerNorm", x + mixed)
        wide = dense(f"{layer}.intermediate.dense", x)
        wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
        x = norm(f"{layer}.output.LayerNorm", x + dense(f"{layer}.output.dense", wide))
    return x


def hidden_states(file: Path, ids: Any, mask: Any) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(file.parent)
    )
    session = onnxruntime.InferenceSession(graph_over(file), options)
    return session.run(None, {"input_ids": ids, "attention_mask": mask})[0]


def test_the_graph_computes_the_model_written_out_in_numpy(tmp_path: Path) -> None:
    file, tensors = tmp_path / "model.safetensors", random_tensors()
    write_safetensors(file, tensors)
    long, short = [1, 7, 9, 30, 49, 2, 2], [1, 3, 2]
    ids = np.array([long, short + [0] * 4])
    mask = np.array([[1] * 7, [1] * 3 + [0] * 4])
    hidden = hidden_states(file, ids, mask)
    assert np.abs(hidden[0] - bert(tensors, long)).max() < 1e-4
    assert np.abs(hidden[1, :3] - bert(tensors, short)).max() < 1e-4


def test_the_graph_is_small_and_the_same_each_time(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    write_safetensors(file, random_tensors(words=2))
    graph = graph_over(file)
    assert graph == graph_over(file)
    assert len(graph) < 32_000
    assert graph.count(b"model.safetensors") == 101


def test_a_file_that_is_not_the_model_makes_no_graph(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"not safetensors at all")
    with pytest.raises(ValueError, match="is not a safetensors file"):
        graph_over(file)
    tensors = random_tensors(words=2)
    del tensors["encoder.layer.5.output.dense.bias"]
    write_safetensors(file, tensors)
    with pytest.raises(ValueError, match=r"encoder\.layer\.5\.output\.dense\.bias"):
        graph_over(file)


def test_a_good_hash_is_remembered_until_the_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = folder_named_by("DAY1_TEST_SAFETENSORS_DIR")
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(packaged / name, tmp_path)
    hashed: list[str] = []
    true_hash = model_folder._sha256

    def noted_hash(file: Path) -> str:
        hashed.append(file.name)
        return true_hash(file)

    monkeypatch.setattr(model_folder, "_sha256", noted_hash)
    model_folder.checked_weights(tmp_path)
    model_folder.checked_weights(tmp_path)
    assert hashed.count("model.safetensors") == 1
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(45_000_000)
        file.write(bytes(100_000))
    assert "model.safetensors is not the published file" in refused(tmp_path)


Answer = tuple[int, dict[str, str], bytes]


def vectors(*rows: Any) -> Answer:
    data = [{"index": index, "embedding": row} for index, row in enumerate(rows)]
    return 200, {}, json.dumps({"data": data}).encode()


# The fake


def test_the_fake_finds_shared_words_and_cuts_long_texts() -> None:
    fake = HashingEmbedder()
    one, near, far = fake.embed(["tea for Alice", "Alice wants tea", "disk full again"])
    assert one @ near > 0.4 > abs(one @ far)
    assert np.allclose(np.linalg.norm(fake.embed(["", "x y"]), axis=1), 1)
    assert fake.embedded == 5
    assert [len(part.split()) for part in fake.passages("tea " * 201)] == [200, 41]
