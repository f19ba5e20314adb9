"""Several nodes that share a Chroma server: who puts in what, and what is gone stays away."""

import secrets
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.index.chroma_address import ChromaAddress
from day1.adapters.index.index import LocalIndex
from day1.errors import InvalidRequest
from day1.model.rows.kind import FACT
from day1.model.values.ids import content_hash
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.suites.index_suite import TEXTS, IndexSuite, embed_all, learn, long_text, vector
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

VERSIONS = [f"{text} Version {number}." for text in TEXTS for number in range(25)]


@pytest.fixture
def store() -> str:
    return secrets.token_hex(6)


@pytest.fixture
def node(tmp_path: Path, store: str, chroma_url: str):
    """Open a node of the store, or of another one."""
    opened = []

    def make(name: str, of: str = store, url: str = chroma_url) -> LocalIndex:
        address = ChromaAddress(url, "", lambda: of)
        opened.append(LocalIndex(tmp_path / name, chroma=True, chroma_server=address))
        return opened[-1]

    yield make
    for index in opened:
        index.close()


class TestLocalIndexWithAChromaServer(IndexSuite):
    @pytest.fixture
    def index(self, node):
        opened = node("one")
        opened.update_neighbours()
        return opened


def filled(index: LocalIndex, embedder: HashingEmbedder, *texts: str) -> list[int]:
    numbers = learn(index, *texts)
    embed_all(index, embedder)
    update_neighbours(index)
    return numbers


def update_neighbours(index: LocalIndex) -> None:
    while index.update_neighbours():
        pass


def near(index: LocalIndex, embedder: HashingEmbedder, text: str, limit: int) -> list[int] | None:
    return index.vectors.neighbours(FACT, embedder, vector(embedder, text), limit)


def rows(index: LocalIndex) -> set[str]:
    """What the server has of facts."""
    chroma: Any = index.vectors._chroma
    found = next(c for key, c in chroma._collections.items() if key[1] == "facts")
    return set(found.get(include=[])["ids"])


def test_neighbours_are_the_nearest(node, embedder):
    index = node("one")
    numbers = filled(index, embedder, *VERSIONS)
    asked = "Who retries a payment? Version 7"
    nearest, _ = index.vectors.nearest(embedder, vector(embedder, asked), numbers, 10)
    assert set(near(index, embedder, asked, 10) or ()) == set(nearest)


def test_nodes_number_texts_as_they_like_and_share_the_rows(node, embedder):
    one, other = node("one"), node("other")
    filled(one, embedder, *TEXTS)
    before = rows(one)
    numbers = filled(other, embedder, *reversed(TEXTS))
    assert rows(other) == before
    assert len(before) == len(TEXTS)
    for text, number in zip(reversed(TEXTS), numbers, strict=True):
        assert near(other, embedder, text, 1) == [number]


def test_each_passage_of_a_long_text_is_a_row(node, embedder):
    one, other = node("one"), node("other")
    text = long_text("zanzibar", "mandragora", "quetzal")
    learn(other, *TEXTS)
    filled(one, embedder, text)
    (number,) = filled(other, embedder, text)
    assert {row.split(".")[1] for row in rows(other)} >= {"0", "1", "2"}
    assert (near(other, embedder, "filler mandragora", 9) or []).count(number) >= 3


def test_what_only_another_node_has_followed_is_left_out(node, embedder):
    one, other = node("one"), node("other")
    (mine,) = filled(other, embedder, TEXTS[0])
    filled(one, embedder, *TEXTS[1:])
    assert set(near(other, embedder, TEXTS[1], 9) or ()) == {mine}
    assert other.vectors.trouble() is None


def test_stores_that_share_a_chroma_server_see_their_own_rows_only(node, embedder):
    mine, theirs = node("mine"), node("theirs", of="another")
    filled(theirs, embedder, *TEXTS)
    filled(mine, embedder, "Only this.")
    assert len(rows(mine)) == 1


def test_what_one_node_forgets_is_gone_for_all(node, embedder):
    one, other = node("one"), node("other")
    for index in (one, other):
        filled(index, embedder, *TEXTS)
    secret = content_hash(TEXTS[0])
    one.forget([secret])
    update_neighbours(one)
    assert not any(row.startswith(secret) for row in rows(other))
    # The other has not heard of it yet, lost its marks, and puts it in again.
    other.close()
    (Path(other._database.folder) / "index.db").unlink()
    late = node("other")
    filled(late, embedder, *TEXTS)
    assert any(row.startswith(secret) for row in rows(late))
    late.forget([secret])
    update_neighbours(late)
    assert not any(row.startswith(secret) for row in rows(one))
    assert len(rows(one)) == len(TEXTS) - 1


def test_a_redaction_is_carried_out_once_the_server_is_back(node, embedder, own_chroma):
    index = node("one", url=own_chroma.url)
    filled(index, embedder, *TEXTS)
    own_chroma.kill()
    index.forget([content_hash(TEXTS[0])])
    update_neighbours(index)
    own_chroma.up()
    update_neighbours(index)
    assert len(rows(index)) == len(TEXTS) - 1


def test_a_server_that_is_gone_hinders_nobody_and_is_caught_up_with(
    node, embedder, own_chroma, caplog
):
    index = node("one", url=own_chroma.url)
    filled(index, embedder, *TEXTS)
    assert index.vectors.approximate()
    own_chroma.kill()
    assert near(index, embedder, TEXTS[0], 3) is None
    assert not index.vectors.approximate()
    assert "does not answer" in index.vectors.trouble()
    for _ in range(3):
        assert not index.update_neighbours()
    assert caplog.text.count("does not answer") == 1
    (late,) = learn(index, "Written while it was away.")
    embed_all(index, embedder)
    own_chroma.up()
    update_neighbours(index)
    assert index.vectors.trouble() is None
    assert near(index, embedder, "Written while it was away.", 1) == [late]
    assert len(rows(index)) == len(TEXTS) + 1


def test_a_server_that_lost_everything_is_fed_again(node, embedder, own_chroma):
    index = node("one", url=own_chroma.url)
    filled(index, embedder, *VERSIONS)
    for collection in index.vectors._chroma._collections.values():
        index.vectors._chroma._client.delete_collection(collection.name)
    near(index, embedder, TEXTS[0], 3)
    update_neighbours(index)
    assert len(rows(index)) == len(VERSIONS)


def test_what_others_put_into_a_new_collection_is_not_taken_for_ones_own(node, embedder):
    one, other = node("one"), node("other")
    filled(one, embedder, *VERSIONS)
    filled(other, embedder, *TEXTS)
    for collection in one.vectors._chroma._collections.values():
        one.vectors._chroma._client.delete_collection(collection.name)
    for index in (one, other):  # each finds that the collection is gone, and begins the next
        near(index, embedder, TEXTS[0], 3)
        update_neighbours(index)
    assert len(rows(other)) == len(VERSIONS) + len(TEXTS)


def test_a_server_brought_back_from_an_older_copy_is_fed_again(node, embedder):
    index = node("one")
    filled(index, embedder, *VERSIONS)
    collection = next(iter(index.vectors._chroma._collections.values()))
    collection.delete(ids=[f"{content_hash(text)}.0" for text in VERSIONS[:50]])
    index.close()
    again = node("one")
    update_neighbours(again)
    assert len(rows(again)) == len(VERSIONS)


def test_two_processes_of_a_node_may_both_ask(node, embedder):
    one, other = node("one"), node("one")
    (number,) = filled(one, embedder, "Something.")
    update_neighbours(other)
    assert near(other, embedder, "Something.", 1) == [number]


@pytest.mark.parametrize(
    "url", ["chroma:8000", "ftp://chroma", "http://chroma:8000/path", "http://chroma:port", ""]
)
def test_an_address_of_no_server_is_refused(url):
    with pytest.raises(InvalidRequest, match="DAY1_INDEX__CHROMA_URL"):
        ChromaAddress(url, "", str)
