"""Looking into the layers of memory, and ranking documents that memory does not keep."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.hashing_embedder import HashingEmbedder
from tests.wires.compose_client import WALLET, ComposeClient, composing

LAYERS = ("working", "scene", "graph", "patterns", "archives", "vectors")
SPACE = f"agent:{WALLET}"
DOCUMENTS: list[dict[str, Any]] = [
    {"text": "Trains run to Porto.", "n": 1},
    {"content": "The river of Lisbon is wide.", "score": "mine"},
    {"memory": "Lisbon has trams."},
    {"document": "Nothing of it.", "deep": {"a": [1, None]}},
    {"summary": "A river."},
]


@pytest.fixture(scope="module", params=["words", "vectors"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ComposeClient]:
    embedder = HashingEmbedder() if request.param == "vectors" else None
    with composing(tmp_path_factory.mktemp("looking") / "store", embedder) as client:
        client.by_meaning = embedder is not None  # type: ignore[attr-defined]  # for these tests
        yield client


@pytest.fixture
def client(server: ComposeClient) -> ComposeClient:
    return server.on_a_branch()


@pytest.mark.parametrize("operation", ["layers_search", "items_search"])
def test_each_layer_has_a_list_and_a_total(client: ComposeClient, operation: str) -> None:
    texts = {"graph": None, "patterns": "skill", "archives": "archive", "vectors": "session"}
    for layer, category in texts.items():
        fact = {"fact_text": f"The river of Lisbon, by {layer}.", "category": category}
        client.day1("memory_write_fact", space=SPACE, **fact)
    asked = {"agentWallet": WALLET, "query": "river of Lisbon"}
    answer = client.ok(operation, **asked)
    assert answer["query"] == "river of Lisbon"
    assert answer["totals"] == {layer: int(layer in texts) for layer in LAYERS}
    for layer in texts:
        (entry,) = answer["layers"][layer]
        assert entry["content"] == f"The river of Lisbon, by {layer}."
        assert {"id", "score", "source", "agentWallet", "decayScore", "accessCount", "createdAt"} <= entry.keys()  # fmt: skip
        assert entry["agentWallet"] == WALLET
    chosen = client.ok(operation, **asked, layers=["archives", "scene"])
    assert chosen["totals"] == {"archives": 1, "scene": 0}
    assert client.ok(operation, query="river of Lisbon")["totals"]["graph"] == 0


def test_a_limit_counts_in_each_layer(client: ComposeClient) -> None:
    for number in range(25):
        for category in (None, "archive"):
            text = f"The river of Lisbon, number {number}, {category}."
            client.day1("memory_write_fact", fact_text=text, category=category, space=SPACE)
    asked = {"agentWallet": WALLET, "query": "river of Lisbon"}
    for limit, found in ((None, 6), (1, 1), (20, 20)):
        more = {} if limit is None else {"limit": limit}
        totals = client.ok("layers_search", **asked, **more)["totals"]
        assert totals["graph"] == totals["archives"] == found


def test_messages_of_other_threads_are_in_the_layer_vectors(client: ComposeClient) -> None:
    message = client.day1("memory_log_message", role="user", content="The river of Lisbon?")
    (entry,) = client.ok("layers_search", query="river of Lisbon")["layers"]["vectors"]
    assert (entry["id"], entry["source"]) == (message["message_id"], "session")


@pytest.mark.parametrize("operation", ["layers_search", "items_search"])
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"query": ""}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 21}, "limit"),
        ({"limit": 201}, "limit"),
        ({"layers": ["all"]}, "layers.0"),
        ({"scope": "local"}, "haiId"),
        ({"userAddress": "ann"}, "agentWallet"),
        ({"agentWallet": "a", "agent_id": "b"}, "agentWallet"),
        ({"filters": []}, "filters"),
    ],
)
def test_bad_input_is_refused_by_its_field(
    server: ComposeClient, operation: str, arguments: dict[str, Any], field: str
) -> None:
    assert server.problems(operation, **{"query": "Lisbon", **arguments}) == [field]


def test_documents_are_ranked_and_not_changed(server: ComposeClient) -> None:
    response = server.send("rerank", query="the river of Lisbon", documents=DOCUMENTS)
    results = response.json()["results"]
    assert results[0]["index"] == 1
    assert sorted(result["index"] for result in results) == [0, 1, 2, 3, 4]
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert scores[0] > scores[-1]
    for result in results:
        document = DOCUMENTS[result["index"]]
        assert result == {**document, "index": result["index"], "score": result["score"]}
    by_meaning = server.by_meaning  # type: ignore[attr-defined]  # see the fixture
    assert ("keyword only" in response.headers.get("Day1-Notes", "")) is not by_meaning
    assert "Day1-Commit" not in response.headers


def test_at_most_top_k_documents_are_answered(server: ComposeClient) -> None:
    everything = server.ok("rerank", query="river Lisbon", documents=DOCUMENTS)["results"]
    best = server.ok("rerank", query="river Lisbon", documents=DOCUMENTS, topK=2)["results"]
    assert best == everything[:2]
    assert server.ok("rerank", query="river", documents=[])["results"] == []
    assert len(server.ok("rerank", query="a", documents=[{"text": "b"}] * 200)["results"]) == 200


def test_ranked_documents_are_not_stored(client: ComposeClient) -> None:
    client.ok("rerank", query="zebra", documents=[{"text": "A zebra crossed the road."}])
    assert client.day1("memory_search", query="zebra")["result"] == []
    assert sum(client.ok("layers_search", query="zebra")["totals"].values()) == 0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"documents": [{"text": "b"}] * 201}, "documents"),
        ({"documents": [{"text": "b"}, {"title": "c"}]}, "documents.1"),
        ({"documents": [{"text": " ", "content": "b"}]}, "documents.0"),
        ({"documents": [{"text": 5}]}, "documents.0"),
        ({"documents": ["b"]}, "documents.0"),
        ({"topK": 0}, "topK"),
        ({"query": "\0"}, "query"),
    ],
)
def test_what_cannot_be_ranked_is_named(
    server: ComposeClient, arguments: dict[str, Any], field: str
) -> None:
    request = {"query": "a", "documents": [{"text": "b"}], **arguments}
    assert server.problems("rerank", **request) == [field]
