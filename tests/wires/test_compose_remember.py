"""`remember` of Compose: a durable fact, its conflicts, retention and repetitions."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from tests.wires.compose_client import WALLET, ComposeClient, composing

DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


@pytest.fixture
def client(served: ComposeClient) -> ComposeClient:
    return served.on_a_branch()


def remember(client: ComposeClient, content: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.ok("remember", agentWallet=WALLET, content=content, **more)
    return answer


def fact(client: ComposeClient, fact_id: str) -> dict[str, Any]:
    """The row of a fact, as day1's own operation shows it."""
    shown: dict[str, Any] = client.day1("memory_get", id=fact_id)["row"]
    return shown


def commits(client: ComposeClient) -> int:
    return len(client.day1("memory_log")["result"])


def test_a_fact_is_kept_with_all_that_is_said_of_it(client: ComposeClient) -> None:
    answer = remember(
        client, "Ann prefers tea.", type="preference", retention="for ever", confidence=0.8,
        userAddress="ann", threadId="t1", metadata={"topic": "drinks"},
    )  # fmt: skip
    assert answer["success"]
    assert answer["graphSaved"]
    assert not answer["vectorSaved"]
    assert "vectorId" not in answer, "there is no model"
    assert answer["loop"] == {
        "v": "compose.agent_memory_loop.v1",
        "step": "remember",
        "next": ["pre_turn", "post_turn", "remember"],
    }
    memory = answer["memory"]
    assert memory == {
        "id": memory["id"], "text": "Ann prefers tea.", "type": "preference",
        "retention": "for ever", "confidence": 0.8, "status": "active",
    }  # fmt: skip
    row = fact(client, memory["id"])
    assert row["category"] == "preference"
    assert row["agent_id"] == WALLET
    assert row["space"] == f"agent:{WALLET}/user:ann"
    assert row["detail"] == {
        "via": "compose", "agentWallet": WALLET, "userAddress": "ann", "threadId": "t1",
        "metadata": {"topic": "drinks"}, "retention": "for ever",
    }  # fmt: skip
    assert row.get("expires_at") is None


def test_the_type_is_fact_by_default(client: ComposeClient) -> None:
    assert remember(client, "Tea grows on hills.")["memory"]["type"] == "fact"


def test_the_same_content_again_writes_nothing(client: ComposeClient) -> None:
    first = remember(client, "Ann prefers tea.", retention="7d", metadata={"a": 1})
    count = commits(client)
    response = client.send("remember", agentWallet=WALLET, content="Ann prefers tea.", retention="7d", metadata={"a": 1})  # fmt: skip
    assert response.json()["memory"] == first["memory"]
    assert response.json()["graphSaved"]
    assert "nothing was written" in response.headers["Day1-Notes"]
    remember(client, "Ann prefers tea.", threadId="another")
    assert commits(client) == count
    assert len(client.ok("list", agentWallet=WALLET)) == 1


def test_more_about_the_same_content_changes_the_fact(client: ComposeClient) -> None:
    first = remember(client, "Ann prefers tea.", metadata={"a": 1, "b": 1})["memory"]
    again = remember(client, "Ann prefers tea.", type="preference", metadata={"b": 2})["memory"]
    assert again == {**first, "type": "preference"}
    assert fact(client, first["id"])["detail"]["metadata"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(("retention", "length"), [("7d", 7 * DAY_MS), ("12h", DAY_MS // 2), ("4W", 28 * DAY_MS)])  # fmt: skip
def test_a_span_ends_a_fact(client: ComposeClient, retention: str, length: int) -> None:
    row = fact(client, remember(client, "Ann is away.", retention=retention)["memory"]["id"])
    ends, begins = (datetime.fromisoformat(row[c]) for c in ("expires_at", "created_at"))
    assert abs((ends - begins).total_seconds() * 1000 - length) < 5_000
    assert row["detail"]["retention"] == retention


def test_a_rewording_supersedes_the_known_fact(client: ComposeClient) -> None:
    old = remember(client, "Ann prefers green tea in the morning.")["memory"]
    new = remember(client, "Ann prefers green tea in the early morning.")["memory"]
    assert new["id"] != old["id"]
    row = fact(client, old["id"])
    assert (row["status"], row["superseded_by"]) == ("superseded", new["id"])
    assert [item["id"] for item in client.ok("list", agentWallet=WALLET)] == [new["id"]]


@pytest.mark.parametrize("other", ["Ann prefers green tea.", "Ann does not prefer tea.", "Bo prefers tea."])  # fmt: skip
def test_a_different_fact_that_is_near_stays(client: ComposeClient, other: str) -> None:
    kept = remember(client, "Ann prefers black tea.")["memory"]
    remember(client, other)
    assert fact(client, kept["id"])["status"] == "active"
    assert len(client.ok("list", agentWallet=WALLET)) == 2


def test_the_same_key_is_a_conflict_whatever_the_words(client: ComposeClient) -> None:
    key = {"metadata": {"key": "drink"}}
    old = remember(client, "Ann prefers tea.", **key)["memory"]
    other = remember(client, "Ann prefers tea!", metadata={"key": "sister's drink"})["memory"]
    new = remember(client, "It is coffee by now.", **key)["memory"]
    assert fact(client, old["id"])["superseded_by"] == new["id"]
    assert fact(client, other["id"])["status"] == "active"


def test_keep_keeps_and_answers_the_known_fact(client: ComposeClient) -> None:
    key = {"metadata": {"key": "drink"}}
    old = remember(client, "Ann prefers tea.", **key)["memory"]
    count = commits(client)
    answer = remember(client, "It is coffee by now.", conflictPolicy="keep", **key)
    assert answer["memory"] == old
    assert not answer["graphSaved"]
    assert commits(client) == count
    assert remember(client, "Bo sails.", conflictPolicy="keep")["graphSaved"]


def test_merge_joins_words_and_metadata_in_one_commit(client: ComposeClient) -> None:
    old = remember(client, "Ann prefers green tea in the early morning.", metadata={"a": 1})["memory"]  # fmt: skip
    client.day1("memory_snapshot", label="before")
    count = commits(client)
    merged = remember(client, "Ann prefers green tea in the morning.", conflictPolicy="merge", metadata={"b": 2})["memory"]  # fmt: skip
    assert merged == old
    assert fact(client, old["id"])["detail"]["metadata"] == {"a": 1, "b": 2}
    assert commits(client) == count + 1


def test_merge_keeps_both_texts_of_one_key(client: ComposeClient) -> None:
    key = {"metadata": {"key": "drink"}}
    old = remember(client, "Ann prefers tea.", **key)["memory"]
    merged = remember(client, "On Sundays it is coffee.", conflictPolicy="merge", **key)["memory"]
    assert (merged["id"], merged["text"]) == (old["id"], "Ann prefers tea.\nOn Sundays it is coffee.")  # fmt: skip
    again = remember(client, "On Sundays it is coffee.", conflictPolicy="merge", **key)["memory"]
    assert again == merged


def test_a_fact_of_another_owner_is_no_conflict(client: ComposeClient) -> None:
    mine = remember(client, "Ann prefers tea.", userAddress="ann")["memory"]
    theirs = remember(client, "Ann prefers tea.", userAddress="bo")["memory"]
    above = remember(client, "Ann prefers tea.")["memory"]
    assert len({mine["id"], theirs["id"], above["id"]}) == 3


def test_what_memory_gave_is_not_remembered(client: ComposeClient) -> None:
    frame = "<day1-memory>\n- Bo sails.\n</day1-memory>"
    assert remember(client, f"{frame} Ann prefers tea.")["memory"]["text"] == "Ann prefers tea."
    assert client.problems("remember", agentWallet=WALLET, content=frame) == ["content"]


def test_a_secret_fact_is_kept_and_listed_nowhere(client: ComposeClient) -> None:
    secret = {"metadata": {"sensitivity": "secret"}}
    first = remember(client, "The door opens with plover.", **secret)["memory"]
    assert remember(client, "The door opens with plover.", **secret)["memory"] == first
    assert client.ok("list", agentWallet=WALLET) == []
    assert remember(client, "The door opens with plover.")["memory"]["id"] != first["id"]


def test_concurrent_facts_of_one_key_leave_one_active(client: ComposeClient) -> None:
    def one(number: int) -> str:
        answer = remember(client, f"The score is {number}.", metadata={"key": "score"})
        return str(answer["memory"]["id"])

    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(one, range(12)))
    assert len(set(ids)) == 12
    active = client.ok("list", agentWallet=WALLET)
    assert len(active) == 1
    chain = [fact(client, fact_id) for fact_id in ids]
    assert sum(row["status"] == "superseded" for row in chain) == 11


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""), ("content", " "), ("content", "a\0b"), ("content", "a" * 32_769),
        ("content", None), ("agentWallet", None), ("agentWallet", "w" * 300), ("agentWallet", ""),
        ("conflictPolicy", "overwrite"), ("confidence", 1.5), ("confidence", float("nan")),
        ("confidence", float("inf")), ("retention", "0d"), ("retention", "999999w"), ("retention", ""),
        ("type", "t" * 300), ("metadata", ["a"]), ("metadata", {"a": "x" * 40_000}),
        ("userAddress", "u\n"), ("scope", "all"),
    ],
)  # fmt: skip
def test_bad_input_is_named(served: ComposeClient, field: str, value: object) -> None:
    given = {"agentWallet": WALLET, "content": "Ann prefers tea.", field: value}
    arguments = {name: each for name, each in given.items() if each is not None}
    response = served.http.post("/api/memory/remember", content=json.dumps(arguments), headers={"content-type": "application/json"})  # fmt: skip
    assert response.status_code == 400
    assert [p["argument"] for p in response.json()["error"]["details"]["problems"]] == [field]


def test_a_device_needs_its_id(served: ComposeClient) -> None:
    asked = {"agentWallet": WALLET, "content": "x", "scope": "local"}
    assert served.problems("remember", **asked) == ["haiId"]
    assert served.ok("remember", **asked, haiId="d")["memory"]["text"] == "x"
