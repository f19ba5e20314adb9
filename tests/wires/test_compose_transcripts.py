"""Transcripts over HTTP: stored once however often they come, and read back in their order."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.wires.compose_client import WALLET, ComposeClient, composing

SAID = [
    {"role": "user", "content": "Deploy the gateway."},
    {"role": "assistant", "content": "ok"},
    {"role": "user", "content": "And the proxy."},
    {"role": "assistant", "content": "ok"},
]
OF = {"agentWallet": WALLET, "sessionId": "s1", "threadId": "th1"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("transcripts") / "store") as client:
        yield client


@pytest.fixture
def client(server: ComposeClient) -> ComposeClient:
    return server.on_a_branch()


def store(client: ComposeClient, messages: list[dict[str, Any]], **more: Any) -> Any:
    return client.ok("transcript_store", **{**OF, "messages": messages, "tokenCount": 7, **more})


def index(client: ComposeClient, messages: list[dict[str, Any]], **more: Any) -> Any:
    return client.ok("transcripts_index", **{**OF, "messages": messages, **more})


def read(client: ComposeClient, name: str = "s1", **more: Any) -> Any:
    return client.ok("transcript_get", id=name, agentWallet=WALLET, **more)


def texts(client: ComposeClient, name: str = "s1") -> list[str]:
    return [message["content"] for message in read(client, name)["messages"]]


def test_a_transcript_comes_back_as_it_was_stored(client: ComposeClient) -> None:
    calls = [{"name": "ship", "args": {"what": ["gateway"]}}]
    said: list[dict[str, Any]] = [
        SAID[0],
        {**SAID[1], "toolCalls": calls, "timestamp": 1_700_000_000_000},
    ]
    assert store(client, said, summary="A deploy.", metadata={"tag": "x"}) == {"success": True}
    found = read(client)
    assert found["messages"][1] == said[1]
    assert [message["role"] for message in found["messages"]] == ["user", "assistant"]
    assert (found["summary"], found["tokenCount"], found["metadata"]) == (
        "A deploy.",
        7,
        {"tag": "x"},
    )
    assert (found["sessionId"], found["threadId"], found["scope"]) == ("s1", "th1", "global")
    assert "userAddress" not in found
    assert found == read(client, "th1") == read(client, "th1", type="threadId")


def test_without_a_summary_none_is_shown(client: ComposeClient) -> None:
    store(client, SAID)
    found = read(client)
    assert ("summary" in found, found["tokenCount"], found["metadata"]) == (False, 7, {})


def test_a_transcript_stored_again_adds_nothing(client: ComposeClient) -> None:
    first = client.send("transcript_store", **OF, messages=SAID, tokenCount=7)
    again = client.send("transcript_store", **OF, messages=SAID, tokenCount=7)
    assert first.headers["Day1-Pending"] == again.headers["Day1-Pending"] == "6"
    assert texts(client) == [message["content"] for message in SAID]


def test_a_transcript_that_grew_adds_the_new_messages(client: ComposeClient) -> None:
    for count in (1, 2, 4, 3):
        store(client, SAID[:count], tokenCount=count)
    assert texts(client) == [message["content"] for message in SAID]
    assert read(client)["tokenCount"] == 3


def test_a_transcript_of_recorded_turns_adds_nothing(client: ComposeClient) -> None:
    for number in range(2):
        said = SAID[number * 2 : number * 2 + 2]
        client.ok("turn_record", **OF, turnId=f"t{number}", messages=said)
    assert index(client, SAID) == {"indexed": True, "messageCount": 4, "vectorCount": 0}
    assert texts(client) == [message["content"] for message in SAID]


def test_many_stores_of_one_transcript_at_once_are_one(client: ComposeClient) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: store(client, SAID), range(12)))
    assert texts(client) == [message["content"] for message in SAID]


def test_what_somebody_removed_does_not_come_back(client: ComposeClient) -> None:
    store(client, SAID)
    hits = client.day1("memory_search_messages", query="proxy")["result"]
    client.day1("memory_remove", ids=[hits[0]["message_id"]], reason="It was wrong.")
    assert index(client, SAID)["messageCount"] == 3
    assert texts(client) == [SAID[0]["content"], "ok", "ok"]


def test_another_session_of_the_thread_is_a_transcript_of_its_own(client: ComposeClient) -> None:
    store(client, SAID, summary="First.")
    store(client, SAID[:1], sessionId="s2", summary="Second.")
    assert (len(texts(client)), len(texts(client, "s2"))) == (4, 1)
    assert len(texts(client, "th1")) == 5
    assert [read(client, name).get("summary") for name in ("s1", "s2", "th1")] == [
        "First.",
        "Second.",
        None,
    ]


def test_metadata_is_merged_and_a_summary_replaced(client: ComposeClient) -> None:
    store(client, SAID, summary="Old words.", metadata={"a": 1, "b": 1})
    store(client, SAID, summary="New words.", metadata={"b": 2})
    index(client, SAID, tokenCount=11)
    found = read(client)
    assert (found["summary"], found["metadata"]) == ("New words.", {"a": 1, "b": 2})
    assert found["tokenCount"] == 11
    kept = client.day1("memory_search", query="words", types=["observation"])["result"]
    assert [hit["fact_text"] for hit in kept] == ["New words."]


def test_metadata_of_a_session_do_not_grow_without_end(client: ComposeClient) -> None:
    store(client, SAID, metadata={"a": "x" * 30_000})
    given = {**OF, "messages": [*SAID, SAID[0]], "tokenCount": 1, "metadata": {"b": "x" * 3_000}}
    assert client.problems("transcript_store", **given) == ["metadata"]
    assert len(texts(client)) == 4


def test_a_session_of_a_device_is_read_with_its_name_only(client: ComposeClient) -> None:
    device = {"scope": "local", "haiId": "phone"}
    store(client, SAID, **device)
    client.refused(404, "transcript_get", id="s1", agentWallet=WALLET)
    path = f"/api/memory/transcript-get/s1?agentWallet={WALLET}&scope=local&haiId=phone"
    found = client.http.get(path, headers=client.headers).json()
    assert (len(found["messages"]), found["scope"], found["haiId"]) == (4, "local", "phone")


def test_indexing_can_also_fill_the_working_session(client: ComposeClient) -> None:
    index(client, SAID)
    client.refused(404, "sessions_working_get", sessionId="s1", agentWallet=WALLET)
    for _ in range(2):
        index(client, SAID, rememberWorkingMemory=True)
    session = client.ok("sessions_working_get", sessionId="s1", agentWallet=WALLET)["session"]
    lines = [f"{message['role']}: {message['content']}" for message in SAID]
    assert session["workingMemory"]["context"] == lines
    assert session["threadId"] == "th1"


def test_what_is_redacted_is_nowhere(client: ComposeClient) -> None:
    said = [SAID[0], {"role": "user", "content": "The vault opens with plover."}]
    vault = {"sessionId": "vault", "threadId": "vault"}  # rows are redacted on every branch
    store(client, said, summary="About a vault.", **vault)
    row_id = client.day1("memory_search_messages", query="vault opens")["result"][0]["message_id"]
    client.day1("memory_redact", id=row_id, confirm=row_id)
    store(client, said, tokenCount=8, **vault)  # its text is known to be redacted
    assert texts(client, "vault") == [SAID[0]["content"], "[redacted]"]
    (record,) = client.day1("memory_search", query="vault", types=["observation"])["result"]
    client.day1("memory_redact", id=record["id"], confirm=record["id"])
    found = read(client, "vault")
    assert ("summary" in found, found["metadata"]) == (False, {})
    again = client.send(
        "transcript_store", **{**OF, **vault}, messages=said, tokenCount=9, summary="New."
    )
    assert "redacted" in again.headers["Day1-Notes"]
    assert "summary" not in read(client, "vault")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"messages": [{"role": "user", "content": " "}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": "x" * 32_769}]}, "messages.0.content"),
        ({"messages": [SAID[0]] * 1_001}, "messages"),
        ({"messages": "x"}, "messages"),
        ({"tokenCount": -1}, "tokenCount"),
        ({"tokenCount": 2**60}, "tokenCount"),
        ({"tokenCount": None}, "tokenCount"),
        ({"sessionId": None}, "sessionId"),
        ({"threadId": "x" * 256}, "threadId"),
        ({"summary": ""}, "summary"),
        ({"summaryEmbedding": ["a"]}, "summaryEmbedding.0"),
        ({"metadata": {"a": 2**60}}, "metadata"),
        ({"scope": "local"}, "haiId"),
        ({"agentWallet": None}, "agentWallet"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_arguments_are_named(
    client: ComposeClient, arguments: dict[str, Any], field: str
) -> None:
    given = {**OF, "messages": SAID, "tokenCount": 1, **arguments}
    given = {name: value for name, value in given.items() if value is not None}
    assert client.problems("transcript_store", **given) == [field]


def test_the_type_of_an_id_is_one_of_two(client: ComposeClient) -> None:
    assert client.problems("transcript_get", id="s1", type="thread") == ["type"]
