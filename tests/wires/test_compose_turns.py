"""Turns over HTTP: stored whole and once, found by searches, and shown as conversations."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened
from tests.wires.compose_client import WALLET, ComposeClient, composing
from tests.wires.served_toolsets import served

SAID = [
    {"role": "user", "content": "Which port has the gateway?"},
    {"role": "assistant", "content": "The gateway listens on 8787."},
]
TURN = {
    "agentWallet": WALLET,
    "threadId": "th1",
    "sessionId": "s1",
    "turnId": "t1",
    "messages": SAID,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("turns") / "store") as client:
        yield client


@pytest.fixture
def client(server: ComposeClient) -> ComposeClient:
    return server.on_a_branch()


def turn(client: ComposeClient, **more: Any) -> Any:
    return client.ok("turn_record", **{**TURN, **more})


def transcript(client: ComposeClient, name: str = "th1", **more: Any) -> Any:
    return client.ok("transcript_get", id=name, agentWallet=WALLET, **more)


def texts(client: ComposeClient, name: str = "th1", **more: Any) -> list[str]:
    return [message["content"] for message in transcript(client, name, **more)["messages"]]


def test_a_turn_is_answered_with_its_ids_and_what_was_stored(client: ComposeClient) -> None:
    answer = turn(client, contextId="ctx_AAAA")
    assert answer == {
        "loop": {
            "v": "compose.agent_memory_loop.v1",
            "step": "post_turn",
            "next": ["remember", "pre_turn"],
        },
        "success": True,
        "sessionId": "s1",
        "threadId": "th1",
        "turnId": "t1",
        "stored": {"transcript": True, "working": True, "vector": False, "graph": False},
    }


def test_turns_follow_one_another_with_their_tools(client: ComposeClient) -> None:
    events = [
        {"name": "grep", "args": {"p": "port"}, "result": "8787", "status": "ok"},
        {"name": "tool_end", "toolName": "edit", "input": {"f": "a"}, "output": " "},
    ]
    turn(client, toolEvents=events)
    turn(client, turnId="t2", messages=None, userMessage="And now?", assistantMessage="Still 8787.")
    found = transcript(client)
    assert [(message["role"], message["content"]) for message in found["messages"]] == [
        ("user", "Which port has the gateway?"),
        ("assistant", "The gateway listens on 8787."),
        ("tool", "8787"),
        ("tool", "The tool edit was called."),
        ("user", "And now?"),
        ("assistant", "Still 8787."),
    ]
    assert [message.get("toolCalls") for message in found["messages"][1:4]] == [
        None,
        [{"name": "grep", "args": {"p": "port"}, "status": "ok"}],
        [{"name": "edit", "args": {"f": "a"}}],
    ]
    assert (found["sessionId"], found["threadId"], found["agentWallet"]) == ("s1", "th1", WALLET)
    assert found["metadata"] == {}
    assert abs(found["createdAt"] - time.time() * 1000) < 60_000


def test_thirty_messages_of_one_turn_keep_their_order(client: ComposeClient) -> None:
    said = [{"role": "user", "content": f"Line {number}."} for number in range(30)]
    for number in range(3):
        turn(client, turnId=f"t{number}", messages=said[number * 10 : number * 10 + 10])
    assert texts(client) == [message["content"] for message in said]


def test_the_same_turn_again_writes_nothing_and_is_answered_alike(client: ComposeClient) -> None:
    before = client.send("turn_record", **TURN)
    turn(client, turnId="t2")
    again = [client.send("turn_record", **TURN) for _ in range(3)]
    assert {answer.text for answer in again} == {before.text}
    assert len(texts(client)) == 4
    assert {answer.headers["Day1-Pending"] for answer in again} == {"5"}  # a conversation, 4 rows


def test_one_turn_from_many_threads_is_one_turn(client: ComposeClient) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.send("turn_record", **TURN).text, range(20)))
    assert len({*answers}) == 1
    assert '"working":true' in answers[0].replace(" ", "")
    assert len(texts(client)) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"messages": SAID[:1]},
        {"messages": [*SAID, SAID[0]]},
        {"messages": SAID[::-1]},
        {"messages": [SAID[0], {**SAID[1], "content": "Another port."}]},
        {"modelUsed": "m"},
        {"sessionId": "s2"},
        {"toolEvents": [{"name": "grep"}]},
    ],
    ids=["fewer", "more", "order", "words", "model", "session", "tools"],
)
def test_the_same_turn_with_something_else_is_refused(
    client: ComposeClient, other: dict[str, Any]
) -> None:
    turn(client)
    assert client.refused(409, "turn_record", **{**TURN, **other})["code"] == "request_reused"
    assert len(texts(client)) == 2


@pytest.mark.parametrize("operation", ["turn_record", "loop"])
def test_a_turn_without_a_name_is_one_turn_under_one_key(
    client: ComposeClient, operation: str
) -> None:
    def record(key: str, thread: str | None = None, message: str = "Once.") -> Any:
        keyed = ComposeClient(client.http, **client.headers, **{"Idempotency-Key": key})
        step: dict[str, Any] = {"step": "post_turn"} if operation == "loop" else {}
        step["request_id"] = None  # as clients write what is missing
        named = {} if thread is None else {"threadId": thread}
        return keyed.send(operation, agentWallet=WALLET, userMessage=message, **named, **step)

    first, again = record("k1", "th1").json(), record("k1", "th1").json()
    assert first["turnId"] == again["turnId"]
    assert texts(client) == ["Once."]
    record("k2", "th1")
    assert texts(client) == ["Once.", "Once."]
    assert record("k1", "th1", "Else.").json()["error"]["code"] == "request_reused"
    assert record("k3").json()["threadId"] == record("k3").json()["threadId"]


def test_a_removed_message_does_not_come_back_by_a_repeat(client: ComposeClient) -> None:
    turn(client)
    (found,) = client.day1("memory_search_messages", query="gateway listens")["result"][:1]
    client.day1("memory_remove", ids=[found["message_id"]], reason="It was wrong.")
    error = client.refused(409, "turn_record", **TURN)
    assert (error["code"], "removed" in error["message"]) == ("request_reused", True)
    assert texts(client) == [SAID[0]["content"]]
    turn(client, turnId="t2")
    assert len(texts(client)) == 3


def test_a_redacted_turn_can_be_repeated_and_stays_hidden(client: ComposeClient) -> None:
    said = [SAID[0], {"role": "assistant", "content": "The vault opens with plover."}]
    thread = {"threadId": "vault", "messages": said}  # the row is redacted on every branch
    turn(client, **thread)
    hits = client.day1("memory_search_messages", query="vault opens")["result"]
    row_id = hits[0]["message_id"]
    client.day1("memory_redact", id=row_id, confirm=row_id)
    turn(client, **thread)
    assert texts(client, "vault") == [SAID[0]["content"], "[redacted]"]


def test_missing_ids_come_from_one_another(client: ComposeClient) -> None:
    def ids(**given: str) -> tuple[str, str, str]:
        answer = client.ok("turn_record", agentWallet=WALLET, userMessage="Hello.", **given)
        return answer["threadId"], answer["sessionId"], answer["turnId"]

    assert ids(threadId="a", turnId="t") == ("a", "a", "t")
    assert ids(sessionId="b", turnId="t") == ("b", "b", "t")
    made = ids(turnId="t")
    assert made == ids(turnId="t")
    assert made != ids(turnId="u")
    assert made[0] == made[1] != ids(turnId="t", userAddress="ann")[0]
    assert len({ids() for _ in range(3)}) == 3
    assert len(ids()[2]) > len("turn_") + 30


def test_what_memory_injected_is_cut_out(client: ComposeClient) -> None:
    frame = '<day1-memory branch="main">\nThe port is 80.\n</day1-memory>'
    said = [
        {"role": "system", "content": frame},
        {"role": "user", "content": f"{frame}Which port?"},
        {"role": "assistant", "content": "8787."},
    ]
    events = [{"name": "recall", "result": frame}]
    turn(client, messages=said, toolEvents=events)
    assert texts(client) == ["Which port?", "8787.", "The tool recall was called."]


def test_a_turn_of_frames_only_stores_nothing_and_says_so(client: ComposeClient) -> None:
    answer = turn(client, messages=[{"role": "user", "content": "<day1-memory>x</day1-memory>"}])
    assert answer["stored"] == dict.fromkeys(("transcript", "working", "vector", "graph"), False)
    client.refused(404, "transcript_get", id="th1", agentWallet=WALLET)


LONG = "x" * 32_769


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": "a\0b"}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": LONG}]}, "messages.0.content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{**SAID[0], "timestamp": 10**17}]}, "messages.0.timestamp"),
        (
            {"messages": [{**SAID[0], "toolCalls": [{"name": "t", "args": {"a": "x" * 30_000}}] * 2}]},
            "messages.0.toolCalls",
        ),
        ({"messages": [SAID[0]] * 1_001}, "messages"),
        ({"userMessage": "Something else."}, "userMessage"),
        ({"assistantMessage": SAID[0]["content"]}, "assistantMessage"),
        ({"userMessage": LONG, "messages": None}, "userMessage"),
        ({"toolEvents": [{"name": "t", "result": LONG}]}, "toolEvents.0.result"),
        ({"toolEvents": [{"result": "x"}]}, "toolEvents.0.name"),
        ({"turnId": ""}, "turnId"),
        ({"threadId": "a\nb"}, "threadId"),
        ({"agentWallet": "w" * 300}, "agentWallet"),
        ({"agentWallet": None}, "agentWallet"),
        ({"scope": "local"}, "haiId"),
        ({"modelUsed": "a", "model": "b"}, "modelUsed"),
        ({"totalTokens": 1, "tokenCount": 2}, "totalTokens"),
        ({"tokenCount": -1}, "totalTokens"),
        ({"summary": LONG}, "summary"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_bad_arguments_are_named(
    client: ComposeClient, arguments: dict[str, Any], field: str
) -> None:
    given = {name: value for name, value in {**TURN, **arguments}.items() if value is not None}
    assert client.problems("turn_record", **given) == [field]


def test_messages_beside_the_two_of_them_are_taken_if_they_agree(client: ComposeClient) -> None:
    said = [*SAID, {"role": "tool", "content": "8787"}]
    turn(client, messages=said, userMessage=SAID[0]["content"], assistantMessage=SAID[1]["content"])
    assert len(texts(client)) == 3


def test_a_turn_has_its_model_and_time(client: ComposeClient) -> None:
    turn(client, model="m1", messages=[SAID[0], {**SAID[1], "timestamp": 1_700_000_000_123}])
    assert transcript(client)["messages"][1]["timestamp"] == 1_700_000_000_123
    found = client.day1("memory_search_messages", query="gateway listens")["result"][0]
    assert found["happened_at"].startswith("2023-11-14T22:13:20.123")


def test_owners_do_not_see_the_threads_of_one_another(client: ComposeClient) -> None:
    owners: list[dict[str, str]] = [
        {"agentWallet": WALLET},
        {"agentWallet": WALLET, "userAddress": "ann"},
        {"agentWallet": WALLET, "userAddress": "bo"},
        {"agentWallet": WALLET, "userAddress": "bo", "scope": "local", "haiId": "d1"},
        {"agentWallet": "other"},
        {"agentWallet": f"{WALLET}/user:ann"},
    ]
    for number, owner in enumerate(owners):
        client.ok(
            "turn_record", **{**TURN, **owner, "messages": None, "userMessage": f"I am {number}."}
        )
    for number, owner in enumerate(owners):
        for kind, name in (("threadId", "th1"), ("sessionId", "s1")):
            found = client.ok("transcript_get", id=name, type=kind, **owner)
            assert [message["content"] for message in found["messages"]] == [f"I am {number}."]
            assert found.get("userAddress") == owner.get("userAddress")
            assert found.get("haiId") == owner.get("haiId")
    client.refused(404, "transcript_get", id="th1", agentWallet="third")
    client.refused(404, "transcript_get", id="th1")
    client.refused(404, "transcript_get", id="no", agentWallet=WALLET)


def test_a_turn_is_a_conversation_of_day1(client: ComposeClient) -> None:
    turn(client)
    hits = client.day1("memory_search_messages", query="gateway listens")["result"]
    assert hits[0]["content"] == SAID[1]["content"]
    (listed,) = client.day1("memory_list_conversations", agent_id=WALLET)["result"]
    assert (listed["message_count"], listed["session_id"]) == (2, "s1")
    assert listed["title"] == SAID[0]["content"]
    context = client.day1("memory_session_context", session_id="s1")
    assert SAID[1]["content"] in str(context)


def test_a_message_of_day1_goes_on_from_a_turn_and_a_turn_from_it(client: ComposeClient) -> None:
    turn(client)
    (listed,) = client.day1("memory_list_conversations", agent_id=WALLET)["result"]
    client.day1("memory_log_message", conversation_id=listed["conversation_id"], role="user", content="Aside.", tool_calls=["odd", {"name": 1}])  # fmt: skip
    turn(client, turnId="t2", messages=[{"role": "user", "content": "After."}])
    assert texts(client) == [*(message["content"] for message in SAID), "Aside.", "After."]
    assert texts(client, "s1") == [*(message["content"] for message in SAID), "After."]


def test_a_turn_describes_its_session_in_the_same_unit(client: ComposeClient) -> None:
    turn(client, summary="About ports.", metadata={"a": 1, "b": 1})
    turn(client, turnId="t2", metadata={"b": 2})
    turn(client, turnId="t3")
    found = transcript(client, "s1")
    assert (found["summary"], found["metadata"]) == ("About ports.", {"a": 1, "b": 2})
    assert len(found["messages"]) == 6
    turn(client, summary="Something old.", metadata={"a": 1, "b": 1}, turnId="t4")
    assert transcript(client)["summary"] == "Something old."
    assert client.send("turn_record", **{**TURN, "summary": "About ports."}).status_code == 200
    assert transcript(client)["summary"] == "Something old."


def test_a_thread_of_two_sessions_has_no_summary_of_one(client: ComposeClient) -> None:
    turn(client, summary="The first.")
    turn(client, turnId="t2", sessionId="s2", messages=SAID[:1])
    assert "summary" not in transcript(client)
    assert transcript(client)["sessionId"] == "s2"
    assert transcript(client, "s1")["summary"] == "The first."
    assert len(texts(client, "s2", type="sessionId")) == 1
    client.refused(404, "transcript_get", id="s2", type="threadId", agentWallet=WALLET)
    client.refused(404, "transcript_get", id="th1", type="sessionId", agentWallet=WALLET)


def test_two_branches_record_one_turn_and_merge_to_one(client: ComposeClient) -> None:
    name = client.headers["Day1-Branch"]
    client.day1("memory_branch_create", branch_name=f"{name}/b", parent_branch=name)
    other = ComposeClient(client.http, **{"Day1-Branch": f"{name}/b"})
    turn(client)
    turn(other)
    turn(other, turnId="t2", messages=[{"role": "user", "content": "Elsewhere."}])
    other.day1(
        "memory_branch_merge", source_branch=f"{name}/b", target_branch=name, strategy="auto"
    )
    assert texts(client) == [*(message["content"] for message in SAID), "Elsewhere."]
    assert client.day1("memory_held")["items"] == []


def test_a_protected_branch_takes_no_turn(client: ComposeClient) -> None:
    branch = client.headers["Day1-Branch"]
    client.day1("memory_branch_protect", branch_name=branch, requires=["review"])
    assert client.refused(403, "turn_record", **TURN)["code"] == "branch_protected"
    client.ok("sessions_working_update", sessionId="s1", agentWallet=WALLET, context=["No memory."])


def test_with_a_model_messages_have_vectors_or_wait_for_them(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store:
        store.search = replace(store.search, embedder=HashingEmbedder())
        with served(store) as http:
            client = ComposeClient(http)
            answer = turn(client)
            assert answer["stored"]["vector"] is True
            hits = client.day1("memory_search_messages", query="gateway listens")["result"]
            assert hits[0]["message_id"] == answer["vectorId"]
            assert hits[0]["content"] == SAID[1]["content"]
            of = {name: TURN[name] for name in ("agentWallet", "sessionId", "threadId", "messages")}
            counts = client.ok("transcripts_index", **of)
            assert counts == {"indexed": True, "messageCount": 2, "vectorCount": 2}


def test_a_text_that_looks_secret_is_noted(client: ComposeClient) -> None:
    key = "AKIA" + "A" * 16
    answer = client.send("turn_record", **{**TURN, "messages": [{"role": "user", "content": key}]})
    assert answer.status_code == 200
    assert "AWS" in answer.headers["Day1-Notes"]
