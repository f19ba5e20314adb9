"""Items of Compose one by one: read, corrected, archived, deleted softly and for good."""

import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.engine import needs_files
from tests.forkserver import python
from tests.wires.compose_client import WALLET, ComposeClient, composing

OF = {"agentWallet": WALLET}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


@pytest.fixture
def client(served: ComposeClient) -> ComposeClient:
    return served.on_a_branch()


def remember(client: ComposeClient, content: str = "Ann prefers tea.", **more: Any) -> str:
    fact_id: str = client.ok("remember", content=content, **{**OF, **more})["memory"]["id"]
    return fact_id


def message(client: ComposeClient, text: str = "Is there tea?", **more: Any) -> str:
    """The id of a message of a recorded turn."""
    said = [{"role": "user", "content": text}]
    client.ok("turn_record", sessionId="s1", threadId="t1", messages=said, **{**OF, **more})
    found = client.day1("memory_search_messages", query=text)["result"]
    return next(str(hit["message_id"]) for hit in found if hit["content"] == text)


def get(client: ComposeClient, item_id: str, **more: Any) -> dict[str, Any]:
    item: dict[str, Any] = client.ok("items_get", id=item_id, **{**OF, **more})["item"]
    return item


def without_use(item: dict[str, Any]) -> dict[str, Any]:
    """An item but for its uses: each look at it is one."""
    return {k: v for k, v in item.items() if k not in {"accessCount", "lastAccessedAt"}}


def test_a_fact_is_shown_with_all_that_is_known(client: ComposeClient) -> None:
    fact_id = remember(
        client, type="preference", userAddress="Ann", threadId="t1", retention="for ever",
        confidence=0.5, metadata={"a": 1}, scope="local", haiId="phone",
    )  # fmt: skip
    device = {"userAddress": "Ann", "scope": "local", "haiId": "phone"}
    item = get(client, fact_id, **device)
    assert item == {
        "id": fact_id, "content": "Ann prefers tea.", "score": 1.0, "source": "fact",
        "agentWallet": WALLET, "userAddress": "Ann", "threadId": "t1", "scope": "local",
        "haiId": "phone", "decayScore": 1.0, "accessCount": 0, "createdAt": item["createdAt"],
        "metadata": {"a": 1}, "type": "preference", "retention": "for ever", "confidence": 0.5,
        "status": "active",
    }  # fmt: skip
    client.refused(404, "items_get", id=fact_id, **OF)
    client.refused(404, "items_get", id=fact_id, **OF, userAddress="Ann")
    client.refused(404, "items_get", id=fact_id, **OF, userAddress="ann", scope="local", haiId="phone")  # fmt: skip


def test_a_message_is_an_item(client: ComposeClient) -> None:
    item = get(client, message(client, userAddress="ann"), userAddress="ann")
    assert (item["content"], item["source"]) == ("Is there tea?", "session")
    assert (item["userAddress"], item["threadId"], item["scope"]) == ("ann", "t1", "global")
    client.refused(404, "items_get", id=item["id"], **OF)


def test_a_use_is_counted_and_shown(client: ComposeClient) -> None:
    fact_id = remember(client)
    client.ok("graph_search", query="tea", **OF)
    item = get(client, fact_id)
    assert item["accessCount"] == 1
    assert item["lastAccessedAt"] >= item["createdAt"]
    assert get(client, fact_id)["accessCount"] == 2


def test_ids_of_others_and_of_nobody_are_told_alike(client: ComposeClient) -> None:
    theirs = remember(client, agentWallet="0xb2")
    told = client.refused(404, "items_get", id=theirs, **OF)
    unknown = client.refused(404, "items_get", id="fact_01JD", **OF)
    observation = client.day1("memory_write_observation", observation_type="insight", summary="Tea")["id"]  # fmt: skip
    other = client.refused(404, "items_get", id=observation, **OF)
    assert {error["message"] for error in (told, unknown, other)} == {told["message"]}
    for operation, more in (("items_update", {"content": "x"}), ("items_delete", {}), ("items_delete", {"hardDelete": True})):  # fmt: skip
        client.refused(404, operation, id=theirs, **OF, **more)
    assert get(client, theirs, agentWallet="0xb2")["content"] == "Ann prefers tea."


def test_a_fact_is_corrected_in_one_commit(client: ComposeClient) -> None:
    fact_id = remember(client, metadata={"a": 1}, retention="7d")
    count = len(client.day1("memory_log")["result"])
    answer = client.ok(
        "items_update", id=fact_id, content="Ann prefers coffee.", metadata={"b": 2},
        confidence=0.25, retention="for ever", **OF,
    )  # fmt: skip
    assert answer["updated"]
    item = answer["item"]
    assert (item["content"], item["metadata"]) == ("Ann prefers coffee.", {"b": 2})
    assert (item["confidence"], item["retention"]) == (0.25, "for ever")
    assert item["updatedAt"] > item["createdAt"]
    assert without_use(get(client, fact_id)) == without_use(item)
    assert client.day1("memory_get", id=fact_id)["row"].get("expires_at") is None
    assert len(client.day1("memory_log")["result"]) - count == 2, "the added fact and the change"
    again = client.ok("items_update", id=fact_id, content="Ann prefers coffee.", **OF)
    assert not again["updated"]
    assert without_use(again["item"]) == without_use(item)
    assert not client.ok("items_update", id=fact_id, **OF)["updated"]


def test_an_expired_item_is_not_found(client: ComposeClient) -> None:
    past = "2001-01-01"
    fact_id = remember(client)
    client.day1("memory_update_fact", fact_id=fact_id, expires_at=past)
    client.refused(404, "items_get", id=fact_id, **OF)
    client.refused(404, "items_update", id=fact_id, retention="7d", **OF)


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_an_archived_fact_is_in_no_list_and_comes_back(client: ComposeClient, status: str) -> None:
    fact_id = remember(client)
    assert client.ok("items_update", id=fact_id, status=status, **OF)["item"]["status"] == status
    assert get(client, fact_id)["status"] == status
    assert client.day1("memory_get", id=fact_id)["row"]["status"] == "archived"
    assert client.ok("list", **OF) == []
    assert client.ok("graph_search", query="tea", **OF) == []
    assert not client.ok("items_update", id=fact_id, status=status, **OF)["updated"]
    assert client.ok("items_update", id=fact_id, status="active", **OF)["updated"]
    assert get(client, fact_id)["status"] == "active"
    assert [item["id"] for item in client.ok("graph_search", query="tea", **OF)] == [fact_id]


def test_a_superseded_fact_comes_back(client: ComposeClient) -> None:
    old, new = (remember(client, text, metadata={"key": "drink"}) for text in ("Tea.", "Coffee."))
    assert get(client, old)["status"] == "superseded"
    client.ok("items_update", id=old, status="active", **OF)
    assert {item["id"] for item in client.ok("list", **OF)} == {old, new}


def test_only_an_item_that_fits_is_changed(client: ComposeClient) -> None:
    fact_id = remember(client, metadata={"a": 1}, threadId="t1")
    for other in ({"filters": {"a": 2}}, {"threadId": "t2"}):
        client.refused(404, "items_update", id=fact_id, content="x", **OF, **other)
    assert client.ok("items_update", id=fact_id, content="x", filters={"a": 1}, threadId="t1", **OF)["updated"]  # fmt: skip


def test_a_message_stays_as_it_was_said(client: ComposeClient) -> None:
    said = message(client)
    problems = client.problems("items_update", id=said, content="x", status="archived", confidence=0.1, **OF)  # fmt: skip
    assert set(problems) == {"content", "status", "confidence"}
    assert not client.ok("items_update", id=said, **OF)["updated"]


def test_concurrent_updates_lose_nothing(client: ComposeClient) -> None:
    fact_id = remember(client)
    updates: list[dict[str, Any]] = [
        {"metadata": {"a": 1}}, {"retention": "for ever"}, {"confidence": 0.5}, {"status": "archived"},
    ]  # fmt: skip
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda more: client.ok("items_update", id=fact_id, **OF, **more), updates))
    item = get(client, fact_id)
    assert (item["metadata"], item["retention"]) == ({"a": 1}, "for ever")
    assert (item["confidence"], item["status"]) == (0.5, "archived")


def test_a_soft_delete_is_found_by_nothing_and_restorable(client: ComposeClient) -> None:
    fact_id, said = remember(client), message(client)
    label = client.day1("memory_snapshot", label="before")["snapshot_id"]
    for item_id in (fact_id, said):
        answer = client.ok("items_delete", id=item_id, **OF)
        assert answer == {"deleted": True, "hardDeleted": False}
        asked: list[tuple[str, dict[str, Any]]] = [
            ("items_get", {}),
            ("items_delete", {}),
            ("items_update", {"metadata": {}}),
        ]
        for operation, more in asked:
            client.refused(404, operation, id=item_id, **OF, **more)
    assert client.ok("list", **OF) == []
    assert client.ok("vector_search", query="tea", **OF)["results"] == []
    for item_id in (fact_id, said):
        client.day1("memory_restore", id=item_id, to=label)
        assert get(client, item_id)["id"] == item_id
    assert [item["id"] for item in client.ok("list", **OF)] == [fact_id]


def test_a_hard_delete_leaves_the_text_nowhere(tmp_path: Path) -> None:
    """In no answer and not in the index; after `day1 gc` in no file."""
    needs_files()
    words, folder = "zqgonezq prefers tea", tmp_path / "store"
    with composing(folder) as client:
        fact_id = remember(client, f"{words}.")
        kept = remember(client, "Bo sails.", metadata={"key": "Bo"})
        said = message(client, f"{words}!")
        softly = remember(client, f"{words} softly", metadata={"key": "k"})
        client.ok("items_delete", id=softly, **OF)
        client.ok("graph_search", query=words, **OF)
        for item_id in (fact_id, said, softly):
            response = client.send("items_delete", id=item_id, hardDelete=True, **OF)
            assert response.json() == {"deleted": True, "hardDeleted": True}
            assert "day1 gc --purge-redacted" in response.headers["Day1-Notes"]
            client.refused(404, "items_get", id=item_id, **OF)
            client.refused(404, "items_delete", id=item_id, hardDelete=True, **OF)
        said_again = [{"role": "user", "content": f"{words}."}]
        client.refused(403, "remember", content=f"{words}.", **OF)
        merged = {"conflictPolicy": "merge", "metadata": {"key": "Bo"}}
        client.refused(403, "remember", content=f"{words}.", **merged, **OF)
        client.refused(403, "items_update", id=kept, content=f"{words}.", **OF)
        assert get(client, kept)["content"] == "Bo sails."
        client.refused(403, "graph_add", messages=said_again, **OF)
        client.refused(403, "vector_index", content=f"{words}.", source="fact", **OF)
        asked: list[tuple[str, dict[str, Any]]] = [
            ("list", {}),
            ("graph_search", {"query": "tea"}),
            ("stats_get", {}),
            ("vector_search", {"query": "tea"}),
            ("transcript_get", {"id": "s1"}),
        ]
        answers = [client.send(name, **OF, **more).text for name, more in asked]
        assert not any("zqgone" in answer for answer in answers)
        assert [item["id"] for item in client.ok("list", **OF)] == [kept]
    assert _with_word(folder, "index*") == []
    command = [*python(), "-m", "day1", "gc", "--purge-redacted"]
    env = {**os.environ, "DAY1_HOME": str(folder), "DAY1_EMBEDDER__KIND": "none"}
    subprocess.run(command, env=env, check=True, capture_output=True)
    assert _with_word(folder, "*") == []


def _with_word(folder: Path, pattern: str) -> list[str]:
    files = [path for path in folder.rglob(pattern) if path.is_file()]
    assert files
    return [path.name for path in files if b"zqgone" in path.read_bytes()]


def test_a_hard_delete_needs_the_scope_of_a_redaction(tmp_path: Path) -> None:
    with composing(tmp_path / "store") as client:
        fact_id = remember(client)
        admin, writer, reader = (
            ComposeClient(client.http, Authorization=f"Bearer {secret}")
            for scope in ("admin", "write", "read")
            for secret in (_token(client, scope),)
        )
        for limited in (writer, reader):
            limited.refused(403, "items_delete", id=fact_id, hardDelete=True, **OF)
            limited.refused(403, "items_delete", id="fact_none", hardDelete=True, **OF)
        reader.refused(403, "items_delete", id=fact_id, **OF)
        reader.refused(403, "items_update", id=fact_id, content="x", **OF)
        assert get(reader, fact_id)["content"] == "Ann prefers tea."
        admin.day1("memory_branch_protect", branch_name="main", requires=["review"])
        admin.refused(403, "items_delete", id=fact_id, **OF)
        assert admin.ok("items_delete", id=fact_id, hardDelete=True, **OF)["hardDeleted"]


def _token(client: ComposeClient, scope: str) -> str:
    """A token, made with the first token as soon as there is one."""
    made = client.day1("token_create", name=scope, scope=scope)
    client.headers.setdefault("Authorization", f"Bearer {made['secret']}")
    return str(made["secret"])


def test_a_secret_item_is_shown_to_its_owner_alone(client: ComposeClient) -> None:
    fact_id = remember(client, "The door opens with plover.", metadata={"sensitivity": "secret"})
    item = get(client, fact_id)
    assert item["content"] == "The door opens with plover."
    assert "vectorId" not in item
    assert client.ok("graph_search", query="door", **OF) == []
    client.refused(404, "items_get", id=fact_id, agentWallet="0xb2")
    shared = client.day1(
        "memory_write_fact", fact_text="The gate opens with 4712.", sensitivity="secret"
    )["id"]
    assert get(client, shared)["content"] == "[secret]"
    assert client.ok("items_get", id=shared)["item"]["content"] == "The gate opens with 4712."


@pytest.mark.parametrize(
    ("operation", "arguments", "field"),
    [
        ("items_update", {"content": ""}, "content"), ("items_update", {"content": "a\0"}, "content"),
        ("items_update", {"content": "a" * 32_769}, "content"),
        ("items_update", {"confidence": -1}, "confidence"),
        ("items_update", {"status": "deleted"}, "status"),
        ("items_update", {"retention": "0h"}, "retention"),
        ("items_update", {"metadata": 3}, "metadata"),
        ("items_update", {"agentWallet": "w" * 300}, "agentWallet"),
        ("items_delete", {"hardDelete": "perhaps"}, "hardDelete"),
        ("items_get", {"includeEmbedding": "perhaps"}, "includeEmbedding"),
        ("items_get", {"agentWallet": "w" * 300}, "agentWallet"),
    ],
)  # fmt: skip
def test_bad_input_is_named(
    served: ComposeClient, operation: str, arguments: dict[str, Any], field: str
) -> None:
    assert served.problems(operation, id="fact_1", **{**OF, **arguments}) == [field]
