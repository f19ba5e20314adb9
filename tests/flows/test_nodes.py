"""Several machines share a store, each with an index of its own, and perhaps a Chroma server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
from pydantic import SecretStr

from day1.adapters.index.index import LocalIndex
from day1.app.background import background_worker
from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.settings import EmbedderSettings, IndexSettings, SearchSettings, Settings, StoreSettings
from tests import servers
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import MERGE, call, write
from tests.waiting import until
from tests.wires.mcp_session import Session

SECRET = "The zanzibar password is mandragora."
WORDS = (b"zanzibar", b"mandragora")
Node = Callable[..., OpenStore]


@pytest.fixture
def node(tmp_path: Path, dolt_database: str) -> Iterator[Node]:
    """Open the store on the server as another machine does, which is known by its folder."""
    with ExitStack() as opened:

        def make(name: str) -> OpenStore:
            settings = Settings(
                home=tmp_path / name,
                store=StoreSettings(url=SecretStr(dolt_database)),
                embedder=EmbedderSettings(kind="none"),
                search=SearchSettings(chroma=False),
            )
            store = open_store(settings, create=True)
            object.__setattr__(store.search, "embedder", HashingEmbedder())
            opened.callback(store.close)
            return store

        yield make


def found(store: OpenStore, query: str, mode: str = "keyword", **more: object) -> list[str]:
    answer = call(store, "memory_search", query=query, search_type=mode, **more)
    return [hit["fact_text"] for hit in answer["result"]]


def holding(folder: Path) -> list[str]:
    """The files of a machine in which a word of the secret is."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in WORDS)
    ]


def test_what_one_machine_writes_another_finds_at_once(node: Node) -> None:
    one, other = node("one"), node("other")
    write(one, "The gateway drops calls.")
    assert found(other, "gateway") == ["The gateway drops calls."]
    call(one, "memory_branch_create", branch_name="side")
    write(one, "The gateway runs on Tuesdays.", branch="side")
    assert found(other, "Tuesdays") == []
    assert found(other, "Tuesdays", branch="side") == ["The gateway runs on Tuesdays."]
    call(other, "memory_branch_merge", **MERGE)
    assert found(one, "Tuesdays") == ["The gateway runs on Tuesdays."]


def test_a_machine_that_lags_says_so_or_waits(node: Node) -> None:
    one, other = node("one"), node("other")
    write(one, *(f"The gateway drops call {number}." for number in range(40)))
    answer = call(other, "memory_search", query="gateway", search_type="vector")
    assert "pending_vectors: 24" in answer["read"]["notes"]
    answer = call(other, "memory_search", query="gateway", search_type="vector", wait=True)
    assert answer["read"]["notes"] == []
    object.__setattr__(other.search, "words_wait_s", 0.0)
    write(one, "Late news of the gateway.")
    answer = call(other, "memory_search", query="news", search_type="keyword")
    assert answer["result"] == []
    assert "the index lags" in str(answer["read"]["notes"])
    assert found(other, "news", wait=True) == ["Late news of the gateway."]


def test_what_one_machine_redacts_leaves_the_index_of_another_that_stays(
    node: Node, tmp_path: Path
) -> None:
    one, other = node("one"), node("other")
    secret = call(one, "memory_write_fact", fact_text=SECRET)["id"]
    assert found(other, "zanzibar", "vector", wait=True) == [SECRET]
    assert holding(tmp_path / "other") != []
    worker = background_worker(other)
    worker.start()
    try:
        call(one, "memory_redact", id=secret, confirm=secret)
        assert found(other, "zanzibar") == []
        until(lambda: holding(tmp_path / "other") == [], "the other machine forgets")
    finally:
        worker.stop()
    assert holding(tmp_path / "one") == []


def test_what_was_redacted_while_a_machine_was_off_is_gone_when_it_opens_the_store(
    node: Node, tmp_path: Path
) -> None:
    one, other = node("one"), node("other")
    secret = call(one, "memory_write_fact", fact_text=SECRET)["id"]
    assert found(other, "zanzibar", "vector", wait=True) == [SECRET]
    (vectors,) = (tmp_path / "other" / "vectors").glob("*.f32")
    vector = HashingEmbedder().embed([SECRET])[0].tobytes()
    assert vector in vectors.read_bytes()
    other.close()
    call(one, "memory_redact", id=secret, confirm=secret)
    assert holding(tmp_path / "other") != []
    node("other").close()
    assert holding(tmp_path / "other") == []
    assert vector not in vectors.read_bytes()


def test_processes_of_two_machines_see_what_the_other_does(
    dolt_database: str, tmp_path: Path
) -> None:
    url = {"DAY1_STORE__URL": dolt_database}
    with Session(tmp_path / "one", **url) as one, Session(tmp_path / "other", **url) as other:
        secret = one.ok("memory_write_fact", fact_text=SECRET)["id"]
        assert [hit["id"] for hit in other.found("memory_search", query="zanzibar")] == [secret]
        assert holding(tmp_path / "other") != []
        one.ok("memory_redact", id=secret, confirm=secret)
        assert other.found("memory_search", query="zanzibar") == []
        until(lambda: holding(tmp_path / "other") == [], "the other machine forgets")


# A Chroma server, whichever engine keeps the rows


@pytest.fixture
def served(tmp_path: Path, own_chroma: servers.ChromaServer) -> Iterator[OpenStore]:
    """A store whose rows are all too many to be compared, in a process that stays."""
    settings = Settings(
        home=tmp_path / "store",
        embedder=EmbedderSettings(kind="none"),
        search=SearchSettings(exact_rows=0),
        index=IndexSettings(chroma_url=own_chroma.url),
    )
    store = open_store(settings, create=True, serves=True)
    object.__setattr__(store.search, "embedder", HashingEmbedder())
    yield store
    store.close()


def test_a_search_goes_on_without_the_chroma_server_and_says_so(
    served: OpenStore, own_chroma: servers.ChromaServer
) -> None:
    texts = [f"The gateway drops call {number}." for number in range(60)]
    write(served, *texts)
    wanted = {"query": "call 7 of the gateway", "search_type": "vector", "wait": True}
    best = call(served, "memory_search", **wanted)["result"]
    while served.search.index.update_neighbours():
        pass
    assert cast(LocalIndex, served.search.index).vectors.approximate()
    answer = call(served, "memory_search", **wanted)
    assert answer["result"] == best
    assert answer["read"]["notes"] == []
    own_chroma.kill()
    for _ in range(2):
        answer = call(served, "memory_search", **wanted)
        assert answer["result"] == best
        assert answer["read"]["notes"] == [
            "the Chroma server does not answer: the search compared all vectors"
        ]
    own_chroma.up()
    while served.search.index.update_neighbours():
        pass
    assert call(served, "memory_search", **wanted)["read"]["notes"] == []
