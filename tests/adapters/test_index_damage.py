"""An index that is damaged is noticed before it answers, and begun anew."""

import os
import sqlite3
from pathlib import Path

import pytest

from day1.adapters.index.index import LocalIndex
from day1.adapters.index.vector_space import VectorSpace
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


def replace_index(folder: Path, embedder: HashingEmbedder) -> LocalIndex:
    """Damage the index, and let another process notice it and begin a new one of more texts."""
    truncate_vectors(folder)
    other = LocalIndex(folder)
    with pytest.raises(IndexLost):
        other.vectors.cosines(embedder, vector(embedder, "x"), [1])
    learn(other, *VERSIONS)
    return other


def check_whole(index: LocalIndex, embedder: HashingEmbedder) -> None:
    """All versions are there, and soon their vectors."""
    numbers = list(index.words.known(FACT, [content_hash(text) for text in VERSIONS]).values())
    assert len(numbers) == len(VERSIONS)
    embed_all(index, embedder)
    asked = vector(embedder, VERSIONS[0])
    assert index.vectors.nearest(embedder, asked, numbers, 1)[0] == {numbers[0]: pytest.approx(1)}
    index.vectors.check()


def test_what_was_read_of_a_replaced_index_does_not_damage_the_new_one(
    tmp_path, embedder, monkeypatch
):
    index = LocalIndex(tmp_path)
    replaced: list[LocalIndex] = []
    numbers = learn(index, *TEXTS)
    embed_all(index, embedder)
    snapshot = VectorSpace.snapshot

    def replace_before(space):
        monkeypatch.setattr(VectorSpace, "snapshot", snapshot)
        replaced.append(replace_index(tmp_path, embedder))
        embed_all(replaced[0], embedder)
        return snapshot(space)

    monkeypatch.setattr(VectorSpace, "snapshot", replace_before)
    with pytest.raises(IndexLost):
        index.vectors.nearest(embedder, vector(embedder, VERSIONS[0]), numbers, 1)
    check_whole(replaced[0], embedder)
    check_whole(index, embedder)


def test_vectors_for_a_replaced_index_are_not_written_to_the_new_one(tmp_path, embedder):
    index = LocalIndex(tmp_path)
    replaced: list[LocalIndex] = []
    learn(index, TEXTS[0])
    embed_all(index, embedder)
    learn(index, *TEXTS[1:])

    def replace_after(point):
        if point == "embed.vectors_written" and not replaced:
            replaced.append(replace_index(tmp_path, embedder))

    index.vectors.point = replace_after
    with pytest.raises(IndexLost):
        index.vectors.embed(embedder, 100)
    check_whole(replaced[0], embedder)
    check_whole(index, embedder)
