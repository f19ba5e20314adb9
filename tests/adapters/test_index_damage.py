"""An index that is damaged is noticed before it answers, and begun anew."""

import os
import sqlite3
from pathlib import Path

import pytest

from day1.adapters.index.index import LocalIndex
from day1.model.rows.kind import FACT
from day1.model.search.wording import phrase
from day1.model.values.ids import content_hash
from day1.ports.index import IndexLost
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.index_suite import TEXTS, embed_all, learn, vector
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

VERSIONS = [f"{text} Version {number}." for text in TEXTS for number in range(25)]


def truncate_vectors(folder: Path) -> None:
    (file,) = (folder / "vectors").glob("*.f32")
    os.truncate(file, 100)


def flip(folder: Path) -> None:
    """Change one bit of the last vector."""
    (file,) = (folder / "vectors").glob("*.f32")
    place = file.stat().st_size - 5
    overwrite(file, place, bytes([file.read_bytes()[place] ^ 4]))


DAMAGES = {
    "garbage": lambda folder: (folder / "index.db").write_bytes(b"garbage " * 4096),
    "garbage inside": lambda folder: overwrite(folder / "index.db", 4096, b"\xff" * 60_000),
    "another version's": lambda folder: another_version(folder / "index.db"),
    "vectors cut": truncate_vectors,
    "vectors gone": lambda folder: next((folder / "vectors").glob("*.f32")).unlink(),
    "a bit of a vector": flip,
}


def overwrite(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(data)


def another_version(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 77")
    connection.close()


def use(index: LocalIndex, embedder: HashingEmbedder) -> None:
    numbers = list(index.words.known(FACT, [content_hash(t) for t in VERSIONS]).values())
    index.words.best(FACT, phrase("gateway"), 9)
    index.vectors.nearest(embedder, vector(embedder, TEXTS[0]), numbers, 9)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_begun_anew_and_works(tmp_path, damage, embedder, caplog):
    first = LocalIndex(tmp_path)
    learn(first, *VERSIONS)
    embed_all(first, embedder)
    generation = first.generation()
    first.close()
    DAMAGES[damage](tmp_path)
    index = LocalIndex(tmp_path)
    with pytest.raises(IndexLost):
        use(index, embedder)
    assert "damaged" in caplog.text
    assert index.generation() != generation
    numbers = learn(index, *TEXTS)
    embed_all(index, embedder)
    nearest, _ = index.vectors.nearest(embedder, vector(embedder, TEXTS[2]), numbers, 1)
    assert list(nearest) == numbers[2:3]
    assert len(list((tmp_path / "vectors").glob("*.f32"))) == 1
    index.close()


def test_a_changed_vector_is_found_before_it_is_compared_with_anything(tmp_path, embedder):
    """A6: each vector has a checksum; those of an earlier day1 get theirs at the next write."""
    index = LocalIndex(tmp_path)
    learn(index, *VERSIONS)
    embed_all(index, embedder)
    index.vectors.check()
    (sums,) = (tmp_path / "vectors").glob("*.sums")
    written = sums.read_bytes()
    sums.unlink()
    opened = LocalIndex(tmp_path)
    use(opened, embedder)
    learn(opened, "One more.")
    embed_all(opened, embedder)
    assert sums.read_bytes()[: len(written)] == written
    flip(tmp_path)
    use(LocalIndex(tmp_path), embedder)  # it asks for others
    with pytest.raises(IndexLost):
        LocalIndex(tmp_path).vectors.check()


def test_a_redaction_beside_a_search_is_no_damage(tmp_path, embedder):
    numbers = dict(zip(VERSIONS, learn(LocalIndex(tmp_path), *VERSIONS), strict=True))
    one, other = LocalIndex(tmp_path), LocalIndex(tmp_path)
    embed_all(one, embedder)
    asked = embedder, vector(embedder, "x"), list(numbers.values())
    before = other.vectors.cosines(*asked)
    one.forget([content_hash(VERSIONS[1])])
    assert other.vectors.cosines(*asked) == {**before, numbers[VERSIONS[1]]: 0}


def test_a_process_that_had_a_damaged_index_open_goes_on_with_the_new_one(tmp_path, embedder):
    one, other = LocalIndex(tmp_path), LocalIndex(tmp_path)
    learn(one, *TEXTS)
    learn(other, *TEXTS)
    embed_all(other, embedder)
    truncate_vectors(tmp_path)
    fresh = LocalIndex(tmp_path)
    with pytest.raises(IndexLost):
        fresh.vectors.cosines(embedder, vector(embedder, "x"), [1])
    assert other.words.known(FACT, [content_hash(TEXTS[0])]) == {}
    numbers = learn(other, *reversed(TEXTS))
    embed_all(one, embedder)
    for index in (one, other, fresh):
        nearest, _ = index.vectors.nearest(embedder, vector(embedder, TEXTS[3]), numbers, 1)
        assert list(nearest) == numbers[:1]
        index.close()
