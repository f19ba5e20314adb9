"""What all requests of Compose have in common: bodies, paths, methods, spellings, tokens."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.wires.compose_client import WALLET, ComposeClient, composing
from tests.wires.compose_contract import CONTRACT

PREFIX = "/api/memory"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
OPERATIONS: dict[str, Any] = CONTRACT["operations"]
WITH_BODY = [name for name, facts in OPERATIONS.items() if facts["request"] is not None]
SEGMENTS = sorted({facts["path"].split("/")[3] for facts in OPERATIONS.values()} - {"{agentWallet}"})  # fmt: skip
"""The names that paths begin with."""
FOUR_MIB = 4 * 1024 * 1024


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


def address(path: str) -> str:
    """A path with a name in the place of each parameter."""
    return re.sub(r"{\w+}", "some-name", path)


def asked(client: ComposeClient, operation: str, content: str | bytes) -> Any:
    facts = OPERATIONS[operation]
    return client.http.request(facts["method"], address(facts["path"]), content=content)


@pytest.mark.parametrize("operation", WITH_BODY)
def test_a_body_that_is_no_object_is_named(client: ComposeClient, operation: str) -> None:
    bodies = ("{", b'{"query": "\xff"}', "[]", '"x"', "null", "[" * 100_000, '{"a": ' + "9" * 5_000 + "}")  # fmt: skip
    for body in bodies:
        answer = asked(client, operation, body)
        assert answer.status_code == 400, answer.text
        (problem,) = answer.json()["error"]["details"]["problems"]
        assert problem["argument"] == "body"
        assert "JSON" in problem["problem"]


@pytest.mark.parametrize("operation", WITH_BODY)
def test_a_body_above_four_mebibytes_is_refused(client: ComposeClient, operation: str) -> None:
    answer = asked(client, operation, json.dumps({"pad": "x" * FOUR_MIB}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_long")


def test_a_body_of_nearly_four_mebibytes_is_taken(client: ComposeClient) -> None:
    client.ok("context_assemble", agentWallet=WALLET, query="x", pad="x" * (FOUR_MIB - 1_000))


def test_unknown_fields_are_taken(client: ComposeClient) -> None:
    other: dict[str, Any] = {"unknown": {"a": [1]}}
    message = {"role": "user", "content": "Is it open?", **other}
    client.ok("turn_record", agentWallet=WALLET, messages=[message], **other)
    client.ok("remember", agentWallet=WALLET, content="It is open.", **other)
    client.ok("list", agentWallet=WALLET, unknown="x")


@pytest.mark.parametrize("path", sorted({facts["path"] for facts in OPERATIONS.values()}))
def test_a_wrong_method_is_refused(client: ComposeClient, path: str) -> None:
    served = {facts["method"] for facts in OPERATIONS.values() if facts["path"] == path}
    for method in {*METHODS} - served:
        answer = client.http.request(method, address(path), content="{}")
        assert answer.status_code == 405, (method, answer.text)
        assert {*answer.headers["Allow"].split(", ")} == served
        assert "error" in answer.json()


@pytest.mark.parametrize("segment", SEGMENTS)
def test_the_beginning_of_a_path_is_never_a_wallet(client: ComposeClient, segment: str) -> None:
    client.ok("remember", agentWallet=segment, content=f"{segment} is a wallet too.")
    served = {f["method"] for f in OPERATIONS.values() if f["path"] == f"{PREFIX}/{segment}"}
    for method in METHODS:
        answer = client.http.request(method, f"{PREFIX}/{segment}", content="{}")
        assert "is a wallet too" not in answer.text
        assert (answer.status_code == 405) == (method not in served), (method, answer.text)
    found = client.ok("items_search", agentWallet=segment, query="Which is a wallet?")
    assert f"{segment} is a wallet too." in str(found)


def test_a_name_of_the_path_may_stand_in_the_body_too(client: ComposeClient) -> None:
    of = {"agentWallet": WALLET, "context": ["A line."]}
    path = f"{PREFIX}/sessions/s1/working"
    answer = client.http.patch(path, json={**of, "sessionId": "s1"})
    assert answer.status_code == 200, answer.text
    for spelling in ("sessionId", "session_id"):
        answer = client.http.patch(path, json={**of, spelling: "s2"})
        assert answer.status_code == 400
        (problem,) = answer.json()["error"]["details"]["problems"]
        assert problem["argument"] == "sessionId"


@pytest.mark.parametrize("spelling", ["agent_id", "agent_wallet"])
def test_a_name_of_the_query_may_be_spelled_otherwise(client: ComposeClient, spelling: str) -> None:
    kept = client.ok("remember", agentWallet=WALLET, content=f"Kept by {spelling}.")
    path = f"{PREFIX}/items/{kept['memory']['id']}"
    found = client.http.get(path, params={spelling: WALLET})
    assert found.status_code == 200, found.text
    both = client.http.get(path, params={spelling: "0xb2", "agentWallet": WALLET})
    assert both.status_code == 400
    (problem,) = both.json()["error"]["details"]["problems"]
    assert (problem["argument"], spelling in problem["problem"]) == ("agentWallet", True)


def test_a_name_twice_in_the_query_is_named(client: ComposeClient) -> None:
    answer = client.http.get(f"{PREFIX}/{WALLET}?limit=1&limit=2")
    assert answer.status_code == 400
    assert [each["argument"] for each in answer.json()["error"]["details"]["problems"]] == ["limit"]
