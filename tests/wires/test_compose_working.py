"""Working sessions over HTTP: merged, bounded, bound to a user, and cleaned of what is redacted."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.records.desk import Desk
from tests.engine import FOLDER, engine, ledger_rows
from tests.flows.opened_store import opened
from tests.wires.compose_client import WALLET, ComposeClient, composing
from tests.wires.served_toolsets import served

DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("working") / "store") as client:
        yield client


@pytest.fixture
def client(server: ComposeClient) -> ComposeClient:
    return server.on_a_branch()


def update(client: ComposeClient, **more: Any) -> Any:
    answer = client.ok(
        "sessions_working_update", **{"sessionId": "s1", "agentWallet": WALLET, **more}
    )
    assert answer["success"] is True
    return answer["session"]


def read(client: ComposeClient, **more: Any) -> Any:
    given = {"sessionId": "s1", "agentWallet": WALLET, **more}
    return client.ok("sessions_working_get", **given)["session"]


def test_a_session_is_read_as_it_was_written(client: ComposeClient) -> None:
    written = update(client, context=["One.", "Two."], entities={"ann": {"is": "admin"}}, state={"step": 1}, threadId="th1")  # fmt: skip
    assert written == read(client)
    assert written["workingMemory"] == {
        "context": ["One.", "Two."],
        "entities": {"ann": {"is": "admin"}},
        "state": {"step": 1},
    }
    assert (written["sessionId"], written["agentWallet"], written["threadId"]) == (
        "s1",
        WALLET,
        "th1",
    )
    assert (written["compressed"], "userAddress" in written, "metadata" in written) == (False,) * 3
    assert written["expiresAt"] == written["lastAccessedAt"] + DAY_MS
    assert written["createdAt"] == written["lastAccessedAt"]


def test_updates_are_merged_unless_they_replace(client: ComposeClient) -> None:
    update(client, context=["a", "b"], state={"x": 1, "y": 1}, metadata={"m": 1})
    merged = update(client, context=["b", "c"], state={"y": 2}, metadata={"n": 1})
    assert merged["workingMemory"]["context"] == ["a", "b", "c"]
    assert merged["workingMemory"]["state"] == {"x": 1, "y": 2}
    assert merged["metadata"] == {"m": 1, "n": 1}
    replaced = update(client, context=["z"], state={}, replace=True)
    assert replaced["workingMemory"]["context"] == ["z"]
    assert replaced["workingMemory"]["state"] == {}
    assert replaced["metadata"] == {"m": 1, "n": 1}


def test_an_update_of_nothing_begins_a_session(client: ComposeClient) -> None:
    assert update(client)["workingMemory"] == {"context": [], "entities": {}, "state": {}}


def test_turns_stand_in_it_until_the_caller_replaces_the_lines(client: ComposeClient) -> None:
    update(client, context=["Mine."])
    for number in range(30):
        client.ok("turn_record", agentWallet=WALLET, sessionId="s1", threadId="th1", turnId=f"t{number}", userMessage=f"Q{number}", assistantMessage=f"A{number}")  # fmt: skip
    lines = read(client)["workingMemory"]["context"]
    assert lines[0] == "Mine."
    assert lines[1:] == [f"{role}: {text}{n}" for n in range(5, 30) for role, text in (("user", "Q"), ("assistant", "A"))]  # fmt: skip
    assert update(client, context=["Z"], replace=True)["workingMemory"]["context"] == ["Z"]


def test_reading_writes_nothing(client: ComposeClient) -> None:
    update(client, context=["a"])
    first = read(client)
    assert [read(client) for _ in range(3)] == [first] * 3


def test_sessions_are_bound_to_their_first_user(client: ComposeClient) -> None:
    update(client, userAddress="ann", context=["of ann"])
    assert read(client)["userAddress"] == "ann"  # who knows the id of the session
    assert read(client, userAddress="ann")["workingMemory"]["context"] == ["of ann"]
    client.refused(
        404, "sessions_working_get", sessionId="s1", agentWallet=WALLET, userAddress="bo"
    )
    client.refused(404, "sessions_working_get", sessionId="s1", agentWallet="other")
    for other in (
        {"userAddress": "bo"},
        {},
        {"userAddress": "ann", "scope": "local", "haiId": "d"},
    ):
        given = {"sessionId": "s1", "agentWallet": WALLET, "context": ["mine"], **other}
        assert client.refused(409, "sessions_working_update", **given)["code"] == "conflict"
    answer = client.ok("turn_record", agentWallet=WALLET, userAddress="bo", sessionId="s1", userMessage="I am bo.")  # fmt: skip
    assert (answer["stored"]["transcript"], answer["stored"]["working"]) == (True, False)
    assert read(client)["workingMemory"]["context"] == ["of ann"]


def test_wallets_and_sessions_do_not_run_into_one_another(client: ComposeClient) -> None:
    pairs = [("a", 'b","c'), ('a","b', "c"), ("a,b", "c"), ("a", "b,c"), ("A", "b,c"), ("a/b", "c")]
    for number, (wallet, session) in enumerate(pairs):
        update(client, agentWallet=wallet, sessionId=session, context=[f"{number}"])
    for number, (wallet, session) in enumerate(pairs):
        found = read(client, agentWallet=wallet, sessionId=session)
        assert found["workingMemory"]["context"] == [f"{number}"]


def test_a_session_is_of_its_branch(server: ComposeClient) -> None:
    one, two = server.on_a_branch(), server.on_a_branch()
    update(one, context=["a"])
    two.refused(404, "sessions_working_get", sessionId="s1", agentWallet=WALLET)


def test_writers_at_once_lose_nothing_that_was_acknowledged(client: ComposeClient) -> None:
    def write(number: int) -> tuple[int, str]:
        line = f"line {number}"
        given = {"sessionId": "s1", "agentWallet": WALLET, "context": [line]}
        return client.send("sessions_working_update", **given).status_code, line

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(write, range(24)))
    assert {status for status, _ in answers} == {200}
    assert set(read(client)["workingMemory"]["context"]) == {line for _, line in answers}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"context": [""]}, "context.0"),
        ({"context": ["a\0"]}, "context.0"),
        ({"context": ["x" * 32_769]}, "context.0"),
        ({"context": ["x"] * 1_001}, "context"),
        ({"context": [f"{n}{'x' * 30_000}" for n in range(3)]}, "context"),
        ({"state": {"a": "x" * 32_769}}, "state"),
        ({"entities": []}, "entities"),
        ({"replace": "perhaps"}, "replace"),
        ({"scope": "local"}, "haiId"),
        ({"agentWallet": None}, "agentWallet"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_arguments_are_named(
    client: ComposeClient, arguments: dict[str, Any], field: str
) -> None:
    given = {"sessionId": "s1", "agentWallet": WALLET, **arguments}
    given = {name: value for name, value in given.items() if value is not None}
    assert client.problems("sessions_working_update", **given) == [field]


def test_a_session_that_would_grow_too_long_stays_as_it_was(client: ComposeClient) -> None:
    update(client, context=["short"], state={"a": "x" * 30_000})
    update(client, entities={"b": "x" * 30_000})
    given = {"sessionId": "s1", "agentWallet": WALLET, "metadata": {"c": "x" * 31_000}}
    assert client.problems("sessions_working_update", **given) == ["metadata"]
    assert "metadata" not in read(client)
    assert update(client, state={}, metadata=given["metadata"], replace=True)["metadata"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    with opened(tmp_path / "store", create=True) as store:
        yield store


def at(store: OpenStore, instant: int) -> None:
    store.clock = lambda: instant


def test_a_session_ends_a_day_after_the_last_write(store: OpenStore) -> None:
    with served(store) as http:
        client, start = ComposeClient(http), store.clock()
        first = update(client, context=["a"], userAddress="ann")
        at(store, start + 86_000_000_000)
        assert update(client, context=["b"], userAddress="ann")["createdAt"] == first["createdAt"]
        at(store, start + 2 * 86_000_000_000)
        assert read(client)["workingMemory"]["context"] == ["a", "b"]
        at(store, start + 3 * 86_500_000_000)
        client.refused(404, "sessions_working_get", sessionId="s1", agentWallet=WALLET)
        again = update(client, context=["c"], userAddress="bo")
        assert again["workingMemory"]["context"] == ["c"]
        assert again["userAddress"] == "bo"
        assert again["createdAt"] > first["createdAt"]


SECRET = "The door opens with plover."


def test_what_is_redacted_leaves_the_working_session_and_the_ledger(
    store: OpenStore, tmp_path: Path
) -> None:
    with served(store) as http:
        client = ComposeClient(http)
        client.ok("turn_record", agentWallet=WALLET, sessionId="s1", userMessage=SECRET, assistantMessage="Noted.")  # fmt: skip
        update(client, context=[f"Know: {SECRET}"], state={SECRET: [SECRET]}, entities={"door": SECRET}, metadata={"of": SECRET})  # fmt: skip
        row_id = client.day1("memory_search_messages", query="door opens")["result"][0][
            "message_id"
        ]
        (desk,) = store.repo.ledger.records(Desk)
        assert desk.value.count(SECRET) == 5  # the message is an id
        client.day1("memory_redact", id=row_id, confirm=row_id)
        assert SECRET not in json.dumps(read(client))
        assert read(client)["workingMemory"]["context"] == ["Know: [redacted]", "assistant: Noted."]
    store.close()
    assert "plover" not in str(ledger_rows(tmp_path / "store"))
    files = {path.name: path.read_bytes() for path in (tmp_path / "store").glob("ledger.db*")}
    assert ("ledger.db" in files) == (engine() == FOLDER)
    assert [name for name, content in files.items() if b"plover" in content] == []


def test_a_redacted_text_that_is_written_again_is_not_shown(store: OpenStore) -> None:
    with served(store) as http:
        client = ComposeClient(http)
        fact_id = client.ok("remember", agentWallet=WALLET, content=SECRET)["memory"]["id"]
        client.ok("items_delete", id=fact_id, hardDelete=True, agentWallet=WALLET)
        written = update(client, context=["The wall is red.", SECRET])
        for shown in (written, read(client)):
            assert shown["workingMemory"]["context"] == ["The wall is red."]
        asked = {"agentWallet": WALLET, "sessionId": "s1", "query": "What opens the door?"}
        assert "plover" not in str(client.ok("context_assemble", **asked, includeRaw=True))


def test_a_removed_message_leaves_the_working_session(client: ComposeClient) -> None:
    client.ok("turn_record", agentWallet=WALLET, sessionId="s1", userMessage="Wrong.", assistantMessage="Right.")  # fmt: skip
    row_id = client.day1("memory_search_messages", query="wrong")["result"][0]["message_id"]
    client.day1("memory_remove", ids=[row_id], reason="It was wrong.")
    assert read(client)["workingMemory"]["context"] == ["assistant: Right."]
