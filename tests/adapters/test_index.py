"""The index of this machine: the suite, several processes, damage, and Chroma."""

import os
import signal
import sqlite3
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from day1.adapters.index import chroma
from day1.adapters.index.index import LocalIndex
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from day1.ports.index import IndexBehind, IndexLost
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.index_suite import TEXTS, IndexSuite, embed_all, learn, vector
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

ROOT = Path(__file__).parents[2]
VERSIONS = [f"{text} Version {number}." for text in TEXTS for number in range(25)]


@pytest.fixture
def index(tmp_path):
    opened = LocalIndex(tmp_path)
    yield opened
    opened.close()


class TestLocalIndex(IndexSuite):
    pass


class TestLocalIndexWithChroma(IndexSuite):
    @pytest.fixture
    def index(self, tmp_path):
        pytest.importorskip("chromadb")
        opened = LocalIndex(tmp_path, chroma=True)
        opened.tend()
        yield opened
        opened.close()


# Files


def test_nothing_is_made_before_it_is_needed(tmp_path):
    LocalIndex(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_what_was_learned_is_there_when_opened_again(tmp_path, embedder):
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
    assert list(index.words.best(FACT, '"billing"', 9)) == [numbers[2]]
    assert index.vectors.nearest(embedder, vector(embedder, TEXTS[1]), numbers, 1)[1] == 0
    with pytest.raises(IndexBehind):
        learn(index, "new")
    assert index.vectors.embed(embedder, 9) == 0
    index.close()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_read_only_folder_without_an_index_is_said(tmp_path):
    with pytest.raises(IndexBehind):
        LocalIndex(tmp_path, read_only=True).words.best(FACT, '"x"', 9)
    assert list(tmp_path.iterdir()) == []


# Damage


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
    index.words.best(FACT, '"gateway"', 9)
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
    other.vectors.cosines(embedder, vector(embedder, "x"), [numbers[VERSIONS[0]]])
    one.forget([content_hash(VERSIONS[1])])
    other.vectors.cosines(embedder, vector(embedder, "x"), list(numbers.values()))


def test_another_process_that_had_it_open_goes_on_with_the_new_one(tmp_path, embedder):
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


# Processes

PEER = """
import os, signal, sys
from pathlib import Path
from day1.adapters.index.index import LocalIndex
from day1.model.values.ids import content_hash
from day1.model.rows.kind import FACT
from tests.fakes.hashing_embedder import HashingEmbedder

folder, point, first, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
index, embedder = LocalIndex(folder), HashingEmbedder()

def at(name):
    if name == point:
        os.kill(os.getpid(), signal.SIGKILL)

index.vectors.point = at
for number in range(first, last):
    text = f"text of number {number}"
    index.words.learn(FACT, {content_hash(text): text})
    index.vectors.embed(embedder, 8)
while index.vectors.embed(embedder, 8, wait=True):
    pass
print(embedder.embedded)
index.close()
"""


def peer(folder: Path, point: str, first: int, last: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", PEER, str(folder), point, str(first), str(last)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def check_numbers(index: LocalIndex, embedder: HashingEmbedder, count: int) -> None:
    texts = [f"text of number {number}" for number in range(count)]
    known = index.words.known(FACT, [content_hash(text) for text in texts])
    numbers = [known[content_hash(text)] for text in texts]
    assert index.vectors.pending(embedder) == 0
    for text, number in zip(texts, numbers, strict=True):
        assert index.vectors.cosines(embedder, vector(embedder, text), [number]) == {
            number: pytest.approx(1)
        }


def test_processes_learn_and_embed_at_the_same_time(tmp_path, index, embedder):
    peers = [peer(tmp_path, "", first, first + 60) for first in (0, 30, 60)]
    outputs = [process.communicate(timeout=120)[0] for process in peers]
    assert [process.returncode for process in peers] == [0, 0, 0]
    assert sum(map(int, outputs)) == 120  # every text once, by whoever was at it
    check_numbers(index, embedder, 120)


@pytest.mark.parametrize("point", ["embed.vectors_written", "embed.before_commit"])
def test_a_process_killed_in_a_batch_leaves_nothing_wrong(tmp_path, index, embedder, point):
    learn(index, *(f"text of number {number}" for number in range(20)))
    index.vectors.embed(embedder, 5)
    killed = peer(tmp_path, point, 20, 40)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    embed_all(index, embedder)
    check_numbers(index, embedder, 21)


def test_a_lock_that_another_has_is_not_waited_for(tmp_path, index, embedder):
    learn(index, *TEXTS)

    class Slow(HashingEmbedder):
        def embed(self, texts):
            assert index.vectors.embed(embedder, 9) == 4  # nothing done, and no waiting
            return super().embed(texts)

    other = LocalIndex(tmp_path)
    assert other.vectors.embed(Slow(), 9) == 0
    other.close()


# Chroma


@pytest.fixture
def owner(tmp_path):
    pytest.importorskip("chromadb")
    opened = LocalIndex(tmp_path, chroma=True)
    yield opened
    opened.close()


def tend(index: LocalIndex) -> None:
    while index.tend():
        pass


def test_neighbours_are_the_nearest(owner, embedder):
    numbers = learn(owner, *VERSIONS)
    embed_all(owner, embedder)
    asked = vector(embedder, "Who retries a payment? Version 7")
    assert owner.vectors.neighbours(FACT, embedder, asked, 10) is None
    assert not owner.vectors.approximate()
    tend(owner)
    assert owner.vectors.approximate()
    nearest, _ = owner.vectors.nearest(embedder, asked, numbers, 10)
    assert set(owner.vectors.neighbours(FACT, embedder, asked, 10)) == set(nearest)


def test_a_projects_env_file_says_nothing_to_chroma(tmp_path, owner, embedder, monkeypatch):
    """Chroma's settings came from a `.env` where day1 ran: whom to report to, what to import."""
    (tmp_path / ".env").write_text("ALLOW_RESET=perhaps\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    owner.tend()
    assert owner.vectors.approximate()


def test_neighbours_know_what_chroma_has_not_been_fed(owner, embedder):
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    tend(owner)
    numbers = learn(owner, "Something altogether different: zanzibar.")
    embed_all(owner, embedder)
    asked = vector(embedder, "zanzibar")
    assert owner.vectors.neighbours(FACT, embedder, asked, 1) == numbers


def test_one_process_owns_chroma_and_another_takes_over(tmp_path, owner, embedder):
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    tend(owner)
    second = LocalIndex(tmp_path, chroma=True)
    tend(second)
    asked = vector(embedder, TEXTS[0])
    assert not second.vectors.approximate()
    assert second.vectors.neighbours(FACT, embedder, asked, 1) is None
    (late,) = learn(owner, "Written before the owner ended.")
    embed_all(owner, embedder)
    owner.close()
    tend(second)
    late_vector = vector(embedder, "Written before the owner ended.")
    assert second.vectors.neighbours(FACT, embedder, late_vector, 1) == [late]
    second.close()


def test_neighbours_forget(owner, embedder):
    numbers = learn(owner, *TEXTS)
    embed_all(owner, embedder)
    tend(owner)
    owner.forget([content_hash(TEXTS[0])])
    for _ in range(2):  # before and after Chroma was told
        asked = vector(embedder, TEXTS[0])
        assert numbers[0] not in owner.vectors.neighbours(FACT, embedder, asked, 9)
        tend(owner)


def break_folder(folder: Path) -> None:
    for file in (folder / "chroma").rglob("*"):
        if file.is_file():
            file.write_bytes(b"garbage" * 500)


@pytest.mark.parametrize("while_open", [True, False])
def test_a_damaged_chroma_is_built_anew(tmp_path, embedder, caplog, while_open):
    index = LocalIndex(tmp_path, chroma=True)
    numbers = learn(index, *VERSIONS)
    embed_all(index, embedder)
    tend(index)
    if not while_open:
        index.close()
    break_folder(tmp_path)
    if not while_open:
        index = LocalIndex(tmp_path, chroma=True)
    asked = vector(embedder, TEXTS[1])
    index.vectors.neighbours(FACT, embedder, asked, 5)
    tend(index)
    assert "chroma" in caplog.text
    nearest, _ = index.vectors.nearest(embedder, asked, numbers, 5)
    assert set(index.vectors.neighbours(FACT, embedder, asked, 5) or ()) == set(nearest)
    index.close()


@pytest.mark.parametrize(
    ("module", "name", "kept"),
    [("builtins", "AttributeError", True), ("chromadb.errors", "InternalError", False)],
)
def test_a_chroma_that_cannot_be_opened_is_let_rest(
    tmp_path, owner, embedder, monkeypatch, caplog, module, name, kept
):
    """B3: it is tried ever more seldom, searchers are told, and a bug costs no folder."""
    learn(owner, *VERSIONS)
    embed_all(owner, embedder)
    opened = 0

    def broken(_: Path) -> None:
        nonlocal opened
        opened += 1
        raise getattr(import_module(module), name)

    with monkeypatch.context() as patch:
        patch.setattr(chroma, "_client", broken)
        (tmp_path / "chroma").mkdir()
        (tmp_path / "chroma" / "collections").touch()
        for _ in range(1_000):
            owner.tend()
        assert opened == 2, "at first at once, then after a rest"
        assert caplog.text.count("cannot be opened") == 1
        assert "cannot be opened" in owner.vectors.trouble()
        assert (tmp_path / "chroma" / "collections").exists() is kept
    owner.vectors._chroma._again = 0.0  # it has rested
    tend(owner)
    assert owner.vectors.trouble() is None
    assert owner.vectors.neighbours(FACT, embedder, vector(embedder, TEXTS[0]), 3)


def test_a_chroma_that_could_not_be_opened_is_opened_in_the_same_process(tmp_path, owner, embedder):
    """B3: chromadb keeps what it could not open for the next client, which then failed by it."""
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    (tmp_path / "chroma").write_text("a file where a folder should be", "utf-8")
    owner.tend()
    assert not owner.vectors.approximate()
    assert (tmp_path / "chroma").is_file(), "what day1 did not make stays"
    (tmp_path / "chroma").unlink()
    owner.vectors._chroma._again = 0.0  # it has rested
    owner.tend()
    assert owner.vectors.approximate()


def test_a_chroma_that_ended_its_process_is_not_opened_again(tmp_path, owner, embedder, caplog):
    learn(owner, *TEXTS)
    embed_all(owner, embedder)
    tend(owner)
    owner.close()
    (tmp_path / "chroma.opening").touch()
    owner = LocalIndex(tmp_path, chroma=True)
    tend(owner)
    assert "built anew" in caplog.text
    asked = vector(embedder, TEXTS[0])
    assert len(owner.vectors.neighbours(FACT, embedder, asked, 9)) == len(TEXTS)
    assert not (tmp_path / "chroma.opening").exists()
    owner.close()


def test_a_lost_index_begins_chroma_anew(tmp_path, owner, embedder):
    learn(owner, *VERSIONS)
    embed_all(owner, embedder)
    tend(owner)
    truncate_vectors(tmp_path)
    fresh = LocalIndex(tmp_path)
    with pytest.raises(IndexLost):
        fresh.vectors.cosines(embedder, vector(embedder, "x"), [1])
    numbers = learn(fresh, *TEXTS)
    embed_all(fresh, embedder)
    asked = vector(embedder, TEXTS[0])
    assert owner.vectors.neighbours(FACT, embedder, asked, 9) is None
    tend(owner)
    assert set(owner.vectors.neighbours(FACT, embedder, asked, 9)) == set(numbers)
    fresh.close()


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
