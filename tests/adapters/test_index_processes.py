"""Processes that share an index: they learn together, are killed, and wait for no lock."""

import signal
import subprocess
from pathlib import Path

import pytest

from day1.adapters.index.database import Database
from day1.adapters.index.index import LocalIndex
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.forkserver import python
from tests.suites.index_suite import TEXTS, embed_all, learn, vector
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

ROOT = Path(__file__).parents[2]


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
    arguments = [*python(), "-c", PEER, str(folder), point, str(first), str(last)]
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


def test_two_that_use_an_embedder_first_at_once_embed_each_text_once(
    tmp_path, embedder, monkeypatch
):
    slow, quick = LocalIndex(tmp_path), LocalIndex(tmp_path)
    numbers = learn(slow, *TEXTS)
    writing = Database.writing

    def embed_before(*arguments):
        monkeypatch.setattr(Database, "writing", writing)
        embed_all(quick, embedder)
        return writing(*arguments)

    monkeypatch.setattr(Database, "writing", embed_before)
    assert slow.vectors.pending(embedder) == 0  # it had seen that the embedder was not used yet
    embed_all(slow, embedder)
    asked = vector(embedder, TEXTS[0])
    for index in (slow, quick, LocalIndex(tmp_path)):
        assert index.vectors.nearest(embedder, asked, numbers, 1)[0] == {
            numbers[0]: pytest.approx(1)
        }
        index.close()
