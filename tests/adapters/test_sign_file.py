"""The signs of vectors in a file: shared by processes, and made again when they cannot be used."""

from pathlib import Path

import numpy as np
import pytest

from day1.adapters.index import sign_bits, space_snapshot, vector_space
from day1.adapters.index.index import LocalIndex
from day1.adapters.index.sign_bits import SignBits, packed, words_of
from day1.adapters.index.sign_file import SignFile
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.index_suite import embed_all, learn, vector
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

BLOCK = 32
TEXTS = [f"gateway {number} stork {number % 7}" for number in range(100)]
ASKED = "gateway 7 stork 0"


def signs_of(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of 64 numbers, and their signs."""
    matrix = np.random.default_rng(rows).standard_normal((rows, 64), np.float32)
    return matrix, packed(matrix)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows; and signs are compared among few rows too."""
    monkeypatch.setattr(sign_bits, "BLOCK", BLOCK)
    monkeypatch.setattr(vector_space, "BLOCK", BLOCK)
    monkeypatch.setattr(space_snapshot, "_LEAST_GAIN", 0)
    monkeypatch.setattr(space_snapshot, "_CANDIDATES", 2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the signs of an index of a hundred texts, which is closed."""
    index = LocalIndex(tmp_path)
    learn(index, *TEXTS)
    embed_all(index, HashingEmbedder())
    index.close()
    (path,) = tmp_path.glob("vectors/*.signs")
    return path


def closest(folder: Path, embedder: HashingEmbedder, *, read_only: bool = False) -> list[int]:
    """The nearest texts by an index that is opened anew."""
    index = LocalIndex(folder, read_only=read_only)
    try:
        return index.vectors.closest(FACT, embedder, vector(embedder, ASKED), 20)
    finally:
        index.close()


def test_a_written_block_is_read(tmp_path: Path) -> None:
    file, (_, signs) = SignFile(tmp_path / "signs", 1, BLOCK), signs_of(BLOCK)
    file.write(1, signs)
    block = file.block(1)
    assert block is not None
    assert block.tolist() == signs.tolist()
    assert file.block(0) is None  # never written
    assert file.block(2) is None  # after the end


def test_a_damaged_or_cut_block_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "signs"
    file = SignFile(path, 1, BLOCK)
    for number in range(2):
        file.write(number, signs_of(BLOCK)[1])
    whole = path.read_bytes()
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    assert file.block(0) is None
    assert file.block(1) is not None
    path.write_bytes(whole[:-1])
    assert file.block(0) is not None
    assert file.block(1) is None


def test_rows_whose_signs_are_in_the_file_are_not_read(tmp_path: Path) -> None:
    file, (matrix, signs) = SignFile(tmp_path / "signs", words_of(64), BLOCK), signs_of(2 * BLOCK)
    file.write(0, signs[:, :BLOCK])
    checked: list[tuple[int, int]] = []
    signs_by_file = SignBits(64, file)
    rows = signs_by_file.nearest(matrix, matrix[3], 5, lambda *rows: checked.append(rows))
    assert checked == [(BLOCK, 2 * BLOCK)]
    assert rows.tolist() == SignBits(64).nearest(matrix, matrix[3], 5).tolist()


def test_a_block_that_the_file_lacks_is_saved(tmp_path: Path) -> None:
    file, (matrix, signs) = SignFile(tmp_path / "signs", words_of(64), BLOCK), signs_of(BLOCK + 3)

    def save(number: int) -> None:
        file.write(number, signs[:, number * BLOCK : (number + 1) * BLOCK])

    SignBits(64, file, save).nearest(matrix, matrix[3], 5)
    assert file.block(0) is not None
    assert file.block(1) is None  # its rows are not all there


def test_whole_blocks_are_written_with_the_vectors(file: Path) -> None:
    whole_blocks = len(TEXTS) // BLOCK
    assert file.stat().st_size == whole_blocks * (BLOCK * words_of(64) + 1) * 8


@pytest.mark.parametrize("kept", [None, 0, 300])
def test_a_file_that_is_missing_or_cut_is_made_again(
    file: Path, embedder: HashingEmbedder, kept: int | None
) -> None:
    expected, content = closest(file.parents[1], embedder), file.read_bytes()
    if kept is None:
        file.unlink()
    else:
        file.write_bytes(content[:kept])
    assert closest(file.parents[1], embedder, read_only=True) == expected
    assert not file.exists() or file.stat().st_size == kept  # a reader of a folder changes nothing
    assert closest(file.parents[1], embedder) == expected
    assert file.read_bytes() == content


def test_a_damaged_file_is_made_again(file: Path, embedder: HashingEmbedder) -> None:
    expected, content = closest(file.parents[1], embedder), file.read_bytes()
    file.write_bytes(bytes(len(content)))
    assert closest(file.parents[1], embedder) == expected
    assert file.read_bytes() == content


def test_nothing_of_a_forgotten_vector_is_left(file: Path, embedder: HashingEmbedder) -> None:
    index = LocalIndex(file.parents[1])
    row_of_text = (
        "SELECT position FROM vectors JOIN texts AS t ON t.id = vectors.text AND content_hash = ?"
    )
    with index._database.reading() as connection:
        query = connection.execute(row_of_text, (content_hash(ASKED),))
        ((position,),) = query.fetchall()
    assert position < BLOCK * (len(TEXTS) // BLOCK)
    signs = SignFile(file, words_of(64), BLOCK)
    before = signs.block(position // BLOCK)
    assert before is not None
    assert before[:, position % BLOCK].any()
    index.forget([content_hash(ASKED)])
    index.close()
    after = signs.block(position // BLOCK)
    assert after is not None
    assert not after[:, position % BLOCK].any()
    assert np.count_nonzero(after.any(axis=0)) == BLOCK - 1


def test_rows_of_a_process_that_died_do_not_stay_in_a_block(
    tmp_path: Path, embedder: HashingEmbedder
) -> None:
    """It wrote more vectors than it recorded; the next process writes others in their place."""
    index = LocalIndex(tmp_path)
    learn(index, *TEXTS)
    index.vectors.embed(embedder, BLOCK - 2)
    (space,) = index.vectors._all()
    space.write(np.ones((5, 64), np.float32), BLOCK - 2)
    embed_all(index, embedder)
    index.close()
    (file,) = tmp_path.glob("vectors/*.signs")
    content = file.read_bytes()
    file.unlink()
    closest(tmp_path, embedder)
    assert file.read_bytes() == content
