"""The index of this machine: the suite, with and without Chroma, and the files it makes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from day1.adapters.index import small_set_bm25, space_snapshot
from day1.adapters.index.index import LocalIndex
from day1.model.rows.kind import FACT, MESSAGE
from day1.model.search.wording import phrase
from day1.model.values.ids import content_hash
from day1.ports.index import IndexBehind, IndexLost
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.index_suite import TEXTS, IndexSuite, embed_all, learn, vector
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

ROOT = Path(__file__).parents[2]


class TestLocalIndex(IndexSuite):
    pass


class TestLocalIndexWithChroma(IndexSuite):
    @pytest.fixture
    def index(self, tmp_path):
        pytest.importorskip("chromadb")
        opened = LocalIndex(tmp_path, chroma=True)
        opened.update_neighbours()
        yield opened
        opened.close()


def test_an_index_makes_no_file_before_it_is_needed(tmp_path):
    LocalIndex(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_an_index_has_what_it_learned_when_it_is_opened_again(tmp_path, embedder):
    first = LocalIndex(tmp_path)
    numbers = learn(first, *TEXTS)
    embed_all(first, embedder)
    first.close()
    assert not (tmp_path / "index.db-wal").exists()
    second = LocalIndex(tmp_path)
    asked = vector(embedder, TEXTS[1])
    assert second.vectors.nearest(embedder, asked, numbers, 1) == (
        {numbers[1]: pytest.approx(1)},
        0,
    )
    assert second.generation() == first.generation()
    second.close()


def test_what_many_texts_have_is_told_from_the_oldest_and_the_newest(index, monkeypatch):
    """Beside texts of another kind, which have numbers between theirs."""
    monkeypatch.setattr(small_set_bm25, "_MANY", 1_000)
    said = [
        f"text {number} of the {'gateway' if number % 3 else 'mailer'}"
        f"{' alone' if number % 2_000 < 300 else ''}{' late' if number > 1_700 else ''}"
        for number in range(2_000)
    ]
    numbers = learn(index, *said[:1_000])
    learn(index, *(f"message {n}" for n in range(2_500)), kind=MESSAGE)
    numbers += learn(index, *said[1_000:])
    few = [*numbers[:5], *numbers[-5:]]
    for term, error in (("mailer", 0.2), ("late", 1e-9), ("alone", 1e-9), ("text", 1e-9)):
        (exact,) = index.words.each(FACT, [term], few)
        (told,) = index.words.each(FACT, [term], few, again=True)
        assert exact, term
        assert told == pytest.approx(exact, rel=error), term


def test_a_forgotten_text_is_in_no_file(tmp_path, index, embedder):
    learn(index, *TEXTS, "The zanzibar password is mandragora.")
    embed_all(index, embedder)
    (file,) = (tmp_path / "vectors").glob("*.f32")
    secret = vector(embedder, "The zanzibar password is mandragora.").tobytes()
    assert secret in file.read_bytes()
    index.forget([content_hash("The zanzibar password is mandragora.")])
    assert secret not in file.read_bytes()
    for path in tmp_path.glob("index.db*"):
        assert b"zanzibar" not in path.read_bytes()
        assert b"mandragora" not in path.read_bytes()


def test_a_read_only_folder_is_used_as_it_is(tmp_path, embedder):
    writing = LocalIndex(tmp_path)
    numbers = learn(writing, *TEXTS)
    embed_all(writing, embedder)
    writing.close()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    index = LocalIndex(tmp_path, read_only=True)
    assert list(index.words.best(FACT, phrase("billing"), 9)) == [numbers[2]]
    assert index.vectors.nearest(embedder, vector(embedder, TEXTS[1]), numbers, 1)[1] == 0
    with pytest.raises(IndexBehind):
        learn(index, "new")
    assert index.vectors.embed(embedder, 9) == 0
    index.close()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_read_only_folder_without_an_index_is_said(tmp_path):
    with pytest.raises(IndexBehind):
        LocalIndex(tmp_path, read_only=True).words.best(FACT, phrase("x"), 9)
    assert list(tmp_path.iterdir()) == []


def test_keyword_search_imports_neither_numpy_nor_chroma():
    code = (
        "import sys, day1.adapters.index.index, day1.services.search.searching;"
        "sys.exit(' '.join({'numpy', 'chromadb', 'onnxruntime'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_scores_of_no_vector_are_no_hits(index, embedder):
    class Broken(HashingEmbedder):
        name = "broken"

        def embed(self, texts):
            return np.full((len(texts), 64), np.nan, np.float32)

    broken = Broken()
    numbers = learn(index, *TEXTS)
    embed_all(index, broken)
    asked = vector(embedder, TEXTS[0])
    assert index.vectors.nearest(broken, asked, numbers, 9) == ({}, 0)
    assert index.vectors.cosines(broken, asked, numbers) == {}


@pytest.fixture
def many(tmp_path, embedder, monkeypatch):
    """An index whose search among all texts looks at signs first, as it does among many rows."""
    monkeypatch.setattr(space_snapshot, "_LEAST_GAIN", 0)
    index = LocalIndex(tmp_path)
    numbers = learn(index, *(f"gateway {number} stork {number % 7}" for number in range(400)))
    embed_all(index, embedder)
    yield index, numbers
    index.close()


def test_the_closest_of_many_are_those_of_an_exact_comparison(many, embedder):
    index, numbers = many
    for asked in (vector(embedder, "stork 3"), vector(embedder, "gateway 7 stork 0")):
        exact = list(index.vectors.nearest(embedder, asked, numbers, 20)[0])
        found = index.vectors.closest(FACT, embedder, asked, 20)
        assert len(found) == 20
        assert found[0] == exact[0]
        assert len(set(found) & set(exact)) >= 19
        assert found == index.vectors.closest(FACT, embedder, asked, 20)


def test_the_closest_of_many_follow_what_is_forgotten_and_what_comes(many, embedder):
    index, numbers = many
    asked = vector(embedder, "gateway 7 stork 0")
    (nearest,) = index.vectors.closest(FACT, embedder, asked, 1)
    assert nearest == numbers[7]
    index.forget([content_hash("gateway 7 stork 0")])
    assert nearest not in index.vectors.closest(FACT, embedder, asked, 400)
    (late,) = learn(index, "gateway 7 stork")
    embed_all(index, embedder)
    assert late in index.vectors.closest(FACT, embedder, asked, 3)


def test_a_damaged_vector_among_many_is_noticed(many, embedder, tmp_path):
    index, _ = many
    index.close()
    (file,) = tmp_path.glob("vectors/*.f32")
    with file.open("r+b") as opened:
        opened.seek(200 * embedder.dimension * 4)
        opened.write(b"\xff" * 8)
    again = LocalIndex(tmp_path)
    with pytest.raises(IndexLost):
        again.vectors.closest(FACT, embedder, vector(embedder, "stork 3"), 5)
    again.close()
