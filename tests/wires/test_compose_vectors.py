"""Vector memory of Compose: `vector_index`, `vector_search` and `stats_get`, with vectors."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from day1.interfaces.open_store import OpenStore
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened
from tests.wires.compose_client import WALLET, ComposeClient, composing
from tests.wires.served_toolsets import served

OF = {"agentWallet": WALLET}
FOREIGN = [0.0, 1.0, 0.0]
"""A vector of another model: the store's has 64 numbers."""


@pytest.fixture(scope="module")
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, embedder: HashingEmbedder) -> Iterator[OpenStore]:  # fmt: skip
    with opened(tmp_path_factory.mktemp("compose") / "store", create=True) as store:
        store.search = replace(store.search, embedder=embedder)
        yield store


@pytest.fixture(scope="module")
def server(store: OpenStore) -> Iterator[ComposeClient]:
    with served(store) as http:
        yield ComposeClient(http)


@pytest.fixture
def client(server: ComposeClient) -> ComposeClient:
    return server.on_a_branch()


@pytest.fixture(scope="module")
def wordless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    """A client of a store without a model."""
    with composing(tmp_path_factory.mktemp("wordless") / "store") as client:
        yield client


def index(client: ComposeClient, content: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.ok("vector_index", content=content, **{**OF, "source": "fact", **more})  # fmt: skip
    assert answer["success"]
    return answer


def found(client: ComposeClient, query: str = "river mill", **more: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = client.ok("vector_search", query=query, **{**OF, **more})["results"]  # fmt: skip
    return results


def contents(results: list[dict[str, Any]]) -> list[str]:
    return [result["content"] for result in results]


def vector_of(embedder: HashingEmbedder, text: str) -> list[float]:
    vector: list[float] = embedder.embed([text])[0].tolist()
    return vector


def test_texts_are_found_by_meaning_with_their_source(client: ComposeClient) -> None:
    for source in ("knowledge", "archive", "pattern", "session", "fact"):
        index(client, f"The {source} mill by the river.", source=source, threadId="t1")
    index(client, "Ann sails.")
    client.ok("turn_record", **OF, sessionId="s", threadId="t1", userMessage="Which river mill?", assistantMessage="x")  # fmt: skip
    results = found(client, "the mill by the river")
    by_content = {result["content"]: result for result in results}
    for source in ("knowledge", "archive", "pattern", "session", "fact"):
        result = by_content[f"The {source} mill by the river."]
        assert (result["source"], result["threadId"]) == (source, "t1")
        assert result["vectorId"] == result["id"]
        assert 0 < result["decayScore"] <= 1
    assert by_content["Which river mill?"]["source"] == "session"
    assert [r["score"] for r in results] == sorted((r["score"] for r in results), reverse=True)
    assert len(found(client, limit=2)) == 2
    assert found(client, agentWallet="0xb2") == []


def test_results_below_the_threshold_are_left_out(client: ComposeClient) -> None:
    index(client, "The mill by the river.")
    index(client, "Ann sails north.")
    best, *rest = found(client, "The mill by the river.")
    threshold = (best["score"] + max(r["score"] for r in rest)) / 2
    assert contents(found(client, "The mill by the river.", threshold=threshold)) == [best["content"]]  # fmt: skip
    assert found(client, threshold=1.01) == []


def test_a_given_query_vector_is_not_embedded(client: ComposeClient, embedder: HashingEmbedder) -> None:  # fmt: skip
    index(client, "The mill by the river.")
    index(client, "Ann sails north.")
    client.ok("turn_record", **OF, sessionId="s", threadId="t", userMessage="We go north.", assistantMessage="x")  # fmt: skip
    found(client)  # which embeds what waits
    vector, before = vector_of(embedder, "Ann sails north."), embedder.embedded
    results = found(client, "mill", queryEmbedding=vector)
    assert embedder.embedded == before
    assert results[0]["content"] == "Ann sails north."
    assert "We go north." in contents(results)


def test_a_vector_of_another_model_is_kept_and_compared(client: ComposeClient) -> None:
    given = index(client, "The mill by the river.", embedding=FOREIGN)
    index(client, "Ann sails north.")
    near = found(client, "x", queryEmbedding=[0.1, 0.9, 0.0])
    assert [result["id"] for result in near] == [given["id"]]
    assert near[0]["score"] > 0.9
    assert found(client, "x", queryEmbedding=[0.0, 0.0, 1.0], threshold=0.5) == []
    item = client.ok("items_get", id=given["id"], includeEmbedding=True, **OF)["item"]
    assert item["embedding"] == FOREIGN
    assert "embedding" not in client.ok("items_get", id=given["id"], **OF)["item"]


def test_the_vector_of_the_stores_model_is_shown_on_request(client: ComposeClient, embedder: HashingEmbedder) -> None:  # fmt: skip
    own = index(client, "Ann sails north.", embedding=vector_of(embedder, "Ann sails north."))
    item = client.ok("items_get", id=own["id"], includeEmbedding=True, **OF)["item"]
    assert item["embedding"] == pytest.approx(vector_of(embedder, "Ann sails north."))


def test_the_same_text_is_stored_once(client: ComposeClient) -> None:
    first = index(client, "Ann sails.", metadata={"a": 1})
    count = len(client.day1("memory_log")["result"])
    assert index(client, "Ann sails.")["id"] == first["id"]
    assert len(client.day1("memory_log")["result"]) == count
    assert index(client, "Ann sails.", embedding=FOREIGN, metadata={"b": 2})["id"] == first["id"]
    item = client.ok("items_get", id=first["id"], includeEmbedding=True, **OF)["item"]
    assert (item["embedding"], item["metadata"]) == (FOREIGN, {"a": 1, "b": 2})
    assert index(client, "Ann sails.", userAddress="ann")["id"] != first["id"]


def test_a_search_is_narrowed_by_metadata_and_thread(client: ComposeClient) -> None:
    index(client, "river mill one", metadata={"n": 1}, threadId="t1")
    index(client, "river mill two", threadId="t2")
    index(client, "river mill three")
    for thread in ("t1", "t2"):
        client.ok("turn_record", **OF, sessionId=thread, threadId=thread, userMessage=f"river mill {thread}", assistantMessage="x")  # fmt: skip
    assert contents(found(client, filters={"n": 1})) == ["river mill one"]
    threaded = set(contents(found(client, threadId="t1", threshold=0.1)))
    assert threaded == {"river mill one", "river mill three", "river mill t1"}


def test_an_owner_sees_the_vectors_of_his_spaces(client: ComposeClient) -> None:
    index(client, "river mill mine", userAddress="ann", embedding=FOREIGN)
    index(client, "river mill theirs", userAddress="bo", embedding=FOREIGN)
    index(client, "river mill of all", embedding=FOREIGN)
    for more in ({}, {"queryEmbedding": FOREIGN}):
        mine = set(contents(found(client, userAddress="ann", **more)))  # type: ignore[arg-type]  # of each
        assert mine == {"river mill mine", "river mill of all"}


def test_a_remembered_fact_waits_for_its_vector(client: ComposeClient) -> None:
    answer = client.ok("remember", content="Ann sails.", **OF)
    assert answer["vectorSaved"]
    assert answer["vectorId"] == answer["memory"]["id"]
    secret = client.ok("remember", content="plover", metadata={"sensitivity": "secret"}, **OF)
    assert not secret["vectorSaved"]
    assert "vectorId" not in secret


def test_without_a_model_no_vector_is_claimed(wordless: ComposeClient) -> None:
    client = wordless.on_a_branch()
    plain = index(client, "The mill by the river.")
    assert "vectorId" not in plain
    given = index(client, "Ann sails.", embedding=FOREIGN)
    assert given["vectorId"] == given["id"]
    response = client.send("vector_search", query="mill", **OF)
    assert contents(response.json()["results"]) == ["The mill by the river."]
    assert "vectorId" not in response.json()["results"][0]
    assert "keyword only" in response.headers["Day1-Notes"]
    assert contents(found(client, queryEmbedding=FOREIGN)) == ["Ann sails."]
    counts = client.ok("stats_get", **OF)
    assert (counts["totalVectors"], counts["byType"]) == (1, {"fact": 2})


def test_an_empty_store_counts_nothing(client: ComposeClient) -> None:
    zeros = {"totalVectors": 0, "totalTranscripts": 0, "avgDecayScore": 0, "oldestVector": 0, "newestVector": 0, "byType": {}}  # fmt: skip
    assert client.ok("stats_get", **OF) == zeros


def test_all_spaces_of_a_wallet_are_counted_without_their_texts(client: ComposeClient) -> None:  # fmt: skip
    first = index(client, "river one", source="knowledge")
    index(client, "river two", userAddress="ann", metadata={"category": "zqprivate"})
    client.ok("remember", content="river three", type="zqprivate", userAddress="ann", scope="local", haiId="d", **OF)  # fmt: skip
    index(client, "river four", agentWallet="0xa12")
    gone = index(client, "river five")
    client.ok("items_delete", id=gone["id"], **OF)
    for session in ("s1", "s2"):
        client.ok("turn_record", **OF, userAddress="ann", sessionId=session, threadId="t1", userMessage="a river", assistantMessage=f"of {session}")  # fmt: skip
    found(client)  # which embeds what waits
    response = client.send("stats_get", **OF)
    counts = response.json()
    assert "zqprivate" not in response.text
    assert counts["byType"] == {"fact": 2, "knowledge": 1, "session": 4}
    assert counts["totalTranscripts"] == 2
    assert counts["totalVectors"] == 7
    assert counts["avgDecayScore"] == pytest.approx(1, abs=0.001)
    created = client.ok("items_get", id=first["id"], **OF)["item"]["createdAt"]
    assert counts["oldestVector"] == created < counts["newestVector"]


def test_texts_that_wait_for_a_vector_are_not_counted(client: ComposeClient) -> None:
    said = [{"role": "user", "content": f"river number {n}"} for n in range(60)]
    client.ok("graph_add", messages=said, **OF)
    assert client.ok("stats_get", **OF)["totalVectors"] == 0
    response = client.send("vector_search", query="river", **OF)
    assert "pending_vectors" in response.headers["Day1-Notes"], "a search embeds some of them"
    assert 0 < client.ok("stats_get", **OF)["totalVectors"] < len(said)


@pytest.mark.parametrize(
    ("operation", "arguments", "field"),
    [
        ("vector_search", {"queryEmbedding": [0.5] * 65}, "queryEmbedding"),
        ("vector_search", {"queryEmbedding": []}, "queryEmbedding"),
        ("vector_search", {"queryEmbedding": [0.0] * 64}, "queryEmbedding"),
        ("vector_search", {"queryEmbedding": ["a"]}, "queryEmbedding.0"),
        ("vector_search", {"query": ""}, "query"),
        ("vector_search", {"limit": 0}, "limit"),
        ("vector_search", {"limit": 201}, "limit"),
        ("vector_search", {"threshold": "high"}, "threshold"),
        ("vector_search", {"agentWallet": "w" * 300}, "agentWallet"),
        ("vector_index", {"content": "a\0"}, "content"),
        ("vector_index", {"content": "a" * 32_769}, "content"),
        ("vector_index", {"source": "dream"}, "source"),
        ("vector_index", {"embedding": [0.0]}, "embedding"),
        ("vector_index", {"embedding": [1.0] * 4_097}, "embedding"),
        ("vector_index", {"metadata": "a"}, "metadata"),
        ("stats_get", {"agentWallet": "w" * 300}, "agentWallet"),
    ],
)  # fmt: skip
def test_bad_input_is_named(
    server: ComposeClient, operation: str, arguments: dict[str, Any], field: str
) -> None:
    fine = {**OF, "query": "x", "content": "x", "source": "fact"}
    assert server.problems(operation, **{**fine, **arguments}) == [field]
