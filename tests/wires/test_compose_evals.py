"""Evaluations: a hit is what was expected, and not just any result."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.layers.eval_run import EvalRun
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened
from tests.wires.compose_client import WALLET, ComposeClient
from tests.wires.served_toolsets import served

SPACE = f"agent:{WALLET}"
KNOWN = {
    "Where does Ada live?": "Ada lives in Lisbon near the river.",
    "What does Bo drink?": "Bo drinks black tea at five.",
    "When does the deploy job run?": "The deploy job runs on Friday nights.",
}
ABSENT = {
    "What does Cy drive?": "Cy drives a red van.",
    "Who feeds the cat?": "Dee feeds the cat twice a day.",
    "How tall is the tower?": "The tower is 80 metres tall.",
}


@pytest.fixture(scope="module", params=["words", "vectors"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenStore]:
    folder: Path = tmp_path_factory.mktemp("evals") / "store"
    with opened(folder, create=True) as store:
        if request.param == "vectors":
            store.search = replace(store.search, embedder=HashingEmbedder())
        yield store


@pytest.fixture(scope="module")
def server(store: OpenStore) -> Iterator[ComposeClient]:
    with served(store) as http:
        yield ComposeClient(http)


@pytest.fixture
def client(server: ComposeClient) -> ComposeClient:
    client = server.on_a_branch()
    for text in KNOWN.values():
        client.day1("memory_write_fact", fact_text=text, space=SPACE)
    return client


def run(client: ComposeClient, *cases: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.ok("evals_run", agentWallet=WALLET, testCases=list(cases), **more)  # fmt: skip
    return answer


def test_three_known_and_three_absent_facts_are_a_recall_of_one_half(client: ComposeClient) -> None:
    cases = [{"query": q, "expected": text} for q, text in {**KNOWN, **ABSENT}.items()]
    answer = run(client, *cases)
    assert answer["status"] == "completed"
    assert [result["hit"] for result in answer["results"]] == [True] * 3 + [False] * 3
    assert [result["query"] for result in answer["results"]] == [case["query"] for case in cases]
    scores, results = answer["scores"], answer["results"]
    returned = sum(result["returned"] for result in results)
    characters = sum(result["contextCharacters"] for result in results)
    assert scores == {
        "recallAtK": 0.5,
        "precisionAtK": round(3 / returned, 6),
        "avgContextCharacters": round(characters / 6, 6),
        "cases": 6,
    }
    assert answer["avgSearchLatencyMs"] > 0


def test_an_evaluation_is_recorded_with_its_commit_and_without_text(
    store: OpenStore, client: ComposeClient
) -> None:
    (question, text), *_ = KNOWN.items()
    response = client.send("evals_run", agentWallet=WALLET, testCases=[{"query": question, "expected": text}])  # fmt: skip
    record = store.repo.ledger.record(EvalRun, response.json()["evalRunId"])
    assert record is not None
    assert record.commit == response.headers["Day1-Commit"]
    assert record.scores["recall"] == 1.0
    assert [result["hit"] for result in record.results] == [True]
    assert question not in str(record)
    assert text not in str(record)


def test_a_hit_is_the_expected_row_or_all_expected_words_in_one_text(client: ComposeClient) -> None:
    (question, text), *_ = KNOWN.items()
    fact = client.ok("items_search", agentWallet=WALLET, query=question)["layers"]["graph"][0]
    assert fact["content"] == text
    expected: list[tuple[dict[str, str], bool]] = [
        ({"expectedMemoryId": fact["id"]}, True),
        ({"expectedMemoryId": "fact_unknown"}, False),
        ({"expected": "RIVER lives ada"}, True),
        ({"expected": "river live"}, False),
        ({"expected": "Lisbon tea"}, False),
        ({"expected": "Lisbon tea", "expectedMemoryId": fact["id"]}, True),
        ({"expected": "!?"}, False),
    ]
    answer = run(client, *({"query": question, **each} for each, _ in expected))
    assert [result["hit"] for result in answer["results"]] == [hit for _, hit in expected]


def test_no_results_are_no_precision(client: ComposeClient) -> None:
    answer = run(client, {"query": "Ada?", "expected": "Ada"}, layers=["archives"])
    assert answer["results"] == [{"query": "Ada?", "hit": False, "returned": 0, "contextCharacters": 0}]  # fmt: skip
    assert answer["scores"]["precisionAtK"] == 0


def test_an_evaluation_is_no_use(client: ComposeClient) -> None:
    run(client, {"query": "Where does Ada live?", "expected": "Lisbon"})
    found = client.ok("items_search", agentWallet=WALLET, query="Where does Ada live?")
    assert {entry["accessCount"] for entry in found["layers"]["graph"]} == {0}


@pytest.mark.parametrize(
    ("cases", "field"),
    [
        ([], "testCases"),
        ([{"query": "a"}], "testCases.0"),
        ([{"query": "a", "expected": "b"}, {"query": "a"}], "testCases.1"),
        ([{"expected": "b"}], "testCases.0.query"),
        ([{"query": "a", "expected": " "}], "testCases.0.expected"),
        ([{"query": "a", "expected": "b"}] * 201, "testCases"),
    ],
)
def test_cases_that_expect_nothing_are_refused(
    server: ComposeClient, cases: list[dict[str, str]], field: str
) -> None:
    assert server.problems("evals_run", agentWallet=WALLET, testCases=cases) == [field]
