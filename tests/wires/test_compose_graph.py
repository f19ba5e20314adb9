"""Graph memory of Compose: `graph_add`, `graph_search` and `list`."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.wires.compose_client import WALLET, ComposeClient, composing


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


@pytest.fixture
def client(served: ComposeClient) -> ComposeClient:
    return served.on_a_branch()


def said(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content, "name": "extra"}


def add(client: ComposeClient, *texts: str, **more: Any) -> list[dict[str, Any]]:
    messages = [said("user", text) for text in texts]
    added: list[dict[str, Any]] = client.ok("graph_add", messages=messages, **{"agentWallet": WALLET, **more})  # fmt: skip
    return added


def memories(items: list[dict[str, Any]]) -> list[str]:
    return [item["memory"] for item in items]


def test_what_users_said_becomes_facts_word_for_word(client: ComposeClient) -> None:
    messages = [said("system", "Be brief."), said("user", "I live  in Rome!"), said("assistant", "Nice."), said("user", "I sail.")]  # fmt: skip
    added = client.ok(
        "graph_add", messages=messages, agent_id=WALLET, user_id="ann", runId="r1", threadId="t1",
        metadata={"topic": "life"}, enableGraph=True,
    )  # fmt: skip
    assert memories(added) == ["I live  in Rome!", "I sail."]
    first = added[0]
    assert (first["agent_id"], first["user_id"], first["run_id"]) == (WALLET, "ann", "r1")
    assert first["metadata"] == {"topic": "life"}
    assert first["relations"] == []
    assert datetime.fromisoformat(first["created_at"]).tzinfo is not None
    assert datetime.fromisoformat(first["updated_at"]) == datetime.fromisoformat(first["created_at"])  # fmt: skip
    row = client.day1("memory_get", id=first["id"])["row"]
    assert row["category"] == "fact"
    assert row["detail"]["runId"] == "r1"


def test_the_same_words_again_are_one_fact(client: ComposeClient) -> None:
    first = add(client, "I sail.", "I sail.", "I cook.")
    assert first[0]["id"] == first[1]["id"] != first[2]["id"]
    assert [item["id"] for item in add(client, "I cook.", "I sail.")] == [first[2]["id"], first[0]["id"]]  # fmt: skip
    assert len(client.ok("list", agentWallet=WALLET)) == 2
    assert add(client, "I sail.", userAddress="ann")[0]["id"] != first[0]["id"]


def test_no_messages_add_nothing(client: ComposeClient) -> None:
    assert add(client) == []
    assert add(client, "<day1-memory>\n- I sail.\n</day1-memory>") == []
    assert client.ok("graph_add", agentWallet=WALLET, messages=[said("assistant", "Hi")]) == []


def test_a_search_finds_facts_best_first(client: ComposeClient) -> None:
    add(client, "The mill stands by the river.", "The river is cold in spring.", "Ann sails.")
    found = client.ok("graph_search", query="mill by the river", agent_id=WALLET)
    assert memories(found)[0] == "The mill stands by the river."
    assert found[0]["score"] >= found[1]["score"] > 0
    assert len(client.ok("graph_search", query="river", agentWallet=WALLET, limit=1)) == 1
    assert client.ok("graph_search", query="river", agentWallet="0xb2") == []


def test_a_search_is_narrowed_by_metadata_thread_and_run(client: ComposeClient) -> None:
    add(client, "The river one.", threadId="t1", runId="r1", metadata={"n": 1, "k": "a"})
    add(client, "The river two.", threadId="t2", runId="r2", metadata={"n": 2, "k": "a"})
    add(client, "The river three.")

    def found(**narrowing: Any) -> set[str]:
        answer = client.ok("graph_search", query="river", agentWallet=WALLET, **narrowing)
        return {item["memory"].split()[2].rstrip(".") for item in answer}

    assert found() == {"one", "two", "three"}
    assert found(filters={"n": 1}) == {"one"}
    assert found(filters={"k": "a", "n": 3}) == set()
    assert found(threadId="t1") == {"one", "three"}
    assert found(runId="r2") == {"two"}
    assert found(layers=["graph"], rerank=True) == {"one", "two", "three"}


def test_relations_that_touch_a_name_stand_beside_a_fact(client: ComposeClient) -> None:
    ends = {"source_entity": "Auth Service", "relation_type": "depends_on", "target_entity": "Ledger"}  # fmt: skip
    relation = client.day1("memory_write_relation", **ends)["id"]
    client.day1("memory_write_relation", **{**ends, "target_entity": "Hidden"}, space="agent:0xb2")
    added = add(client, "The auth service is slow.", "An author serves tea.", "The ledger is big.")
    shown = {"id": relation, "source": "Auth Service", "relationship": "depends_on", "target": "Ledger"}  # fmt: skip
    assert [item["relations"] for item in added] == [[shown], [], [shown]]
    found = client.ok("graph_search", query="slow auth service", agentWallet=WALLET)
    assert found[0]["relations"] == [shown]


def test_the_list_has_the_newest_first_and_no_other_owner(client: ComposeClient) -> None:
    add(client, "one", "two")
    add(client, "three", userAddress="ann")
    add(client, "four", userAddress="bo")
    add(client, "five", scope="local", haiId="d")
    client.day1("memory_write_fact", fact_text="shared")
    assert memories(client.ok("list", agentWallet=WALLET)) == ["shared", "two", "one"]
    assert memories(client.ok("list", agentWallet=WALLET, userAddress="ann"))[:2] == ["shared", "three"]  # fmt: skip
    assert memories(client.ok("list", agentWallet=WALLET, limit=1)) == ["shared"]


def test_redacted_facts_leave_the_place_to_others(client: ComposeClient) -> None:
    added = add(client, *(f"number {n}" for n in range(6)))
    for item in client.ok("list", agentWallet=WALLET, limit=2):
        client.day1("memory_redact", id=item["id"], confirm=item["id"])
    gone = {item["id"] for item in added} - {i["id"] for i in client.ok("list", agentWallet=WALLET)}
    assert len(gone) == 2
    assert len(client.ok("list", agentWallet=WALLET, limit=2)) == 2


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"role": "user"}, "content"), ({"role": "user", "content": 5}, "content"),
        ({"role": "user", "content": " "}, "content"), ({"role": "user", "content": "a\0"}, "content"),
        ({"role": "assistant", "content": None}, "content"), ({"content": "x"}, "role"),
        ({"role": "user", "content": "a" * 32_769}, "content"),
    ],
)  # fmt: skip
def test_a_message_without_role_or_content_is_named(
    served: ComposeClient, message: dict[str, Any], field: str
) -> None:
    messages = [said("user", "fine"), message]
    problems = served.problems("graph_add", agentWallet=WALLET, messages=messages)
    assert problems == [f"messages.1.{field}"]


@pytest.mark.parametrize(
    ("operation", "arguments", "field"),
    [
        ("graph_add", {}, "messages"),
        ("graph_add", {"messages": [{"role": "user", "content": "x"}] * 1_001}, "messages"),
        ("graph_add", {"messages": [], "agentWallet": "w", "agent_id": "v"}, "agentWallet"),
        ("graph_add", {"messages": [], "userAddress": "u"}, "agentWallet"),
        ("graph_add", {"messages": [], "agentWallet": "w" * 300}, "agentWallet"),
        ("graph_search", {}, "query"),
        ("graph_search", {"query": " "}, "query"),
        ("graph_search", {"query": "a\0"}, "query"),
        ("graph_search", {"query": "x", "limit": 0}, "limit"),
        ("graph_search", {"query": "x", "limit": 201}, "limit"),
        ("graph_search", {"query": "x", "layers": ["none"]}, "layers.0"),
        ("graph_search", {"query": "x", "filters": "a"}, "filters"),
        ("graph_search", {"query": "x", "user_id": "u", "userAddress": "v", "agentWallet": "w"}, "userAddress"),
        ("list", {"agentWallet": "w", "limit": 201}, "limit"),
        ("list", {"agentWallet": "w", "limit": "many"}, "limit"),
        ("list", {"agentWallet": "w" * 300}, "agentWallet"),
    ],
)  # fmt: skip
def test_bad_input_is_named(
    served: ComposeClient, operation: str, arguments: dict[str, Any], field: str
) -> None:
    assert served.problems(operation, **arguments) == [field]
