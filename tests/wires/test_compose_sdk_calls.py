"""Requests in the form of the contract's own TypeScript client, and answers as it reads them.

That client sends headers of its account, an empty object where an operation has no body, and
booleans of a query as `true`; it reads the named fields of the answers.
"""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.wires.compose_client import composing, described

HEADERS = {
    "x-session-user-address": "0xann",
    "x-chain-id": "43113",
    "Idempotency-Key": "a-key",
}
ME = {"agentWallet": "0xA1b2", "userAddress": "0xann"}
SAID = [{"role": "user", "content": "My favourite colour is azure."}]
SESSION = {"sessionId": "s1", "threadId": "t1"}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client.http


def sent(http: httpx2.Client, operation: str, method: str, path: str, **what: Any) -> Any:
    """Send a request; the answer has status 200 and is as described."""
    answer = http.request(method, f"/api/memory{path}", headers=HEADERS, **what)
    assert answer.status_code == 200, answer.text
    described(operation, 200).validate(answer.json())
    return answer.json()


def test_calls_of_the_contracts_own_client_run_unchanged(http: httpx2.Client) -> None:
    def call(operation: str, method: str, path: str, **what: Any) -> Any:
        return sent(http, operation, method, path, **what)

    saved = call("remember", "POST", "/remember", json={**ME, "content": "My favourite colour is azure.", "type": "preference", "confidence": 1})  # fmt: skip
    assert saved["success"]
    item = saved["memory"]["id"]
    budget = {"maxCharacters": 900}
    asked = {**ME, "query": "What is my favourite colour?", "limit": 6, "budget": budget}
    recalled = call("context_assemble", "POST", "/context/assemble", json=asked)
    assert "azure" in recalled["prompt"]
    assert recalled["contextUsage"]["characters"] <= 900
    turn = {**ME, **SESSION, "turnId": "one", "messages": SAID, "contextId": recalled["contextId"]}
    assert call("turn_record", "POST", "/turns/record", json=turn)["turnId"] == "one"
    looped = call("loop", "POST", "/loop", json={**ME, "step": "pre_turn", "query": "colour"})
    assert looped["loop"]["step"] == "pre_turn"
    found = call("items_search", "POST", "/items/search", json={**ME, "query": "colour", "layers": ["graph"]})  # fmt: skip
    assert found["layers"]["graph"]
    assert call("items_get", "GET", f"/items/{item}", params=ME)["item"]["content"]
    changed = call("items_update", "PATCH", f"/items/{item}", json={**ME, "metadata": {"a": 1}})
    assert changed["updated"]
    indexed = call("transcripts_index", "POST", "/transcripts/index", json={**ME, **SESSION, "messages": SAID, "rememberWorkingMemory": True})  # fmt: skip
    assert indexed["messageCount"] == 1
    updated = call("sessions_working_update", "PATCH", "/sessions/s1/working", json={**ME, "context": ["colour"]})  # fmt: skip
    assert updated["session"]["sessionId"] == "s1"
    shown = call("sessions_working_get", "GET", "/sessions/s1/working", params={"agentWallet": ME["agentWallet"]})  # fmt: skip
    assert "colour" in shown["session"]["workingMemory"]["context"]
    compressed = call("sessions_compress", "POST", "/sessions/s1/compress", json={"agentWallet": ME["agentWallet"], "coordinatorModel": "any"})  # fmt: skip
    assert compressed["summary"]
    job = call("jobs_create", "POST", "/jobs", json={"type": "decay_update", "agentWallet": ME["agentWallet"]})  # fmt: skip
    assert call("jobs_get", "GET", f"/jobs/{job['jobId']}")["status"] == "completed"
    loops = call("loops_list", "GET", "/loops")["loops"]
    assert call("loops_get", "GET", f"/loops/{loops[0]['id']}")["loop"] == loops[0]
    unknown = call("patterns_validate", "POST", "/patterns/fact_none/validate", json={})
    assert unknown["valid"] is False
    made = call("schedules_create", "POST", "/schedules", json={"agentWallets": ["helper"]})
    assert made["created"]
    assert len(call("schedules_list", "GET", "/schedules")["schedules"]) == 5
    gone = call("items_delete", "DELETE", f"/items/{item}", params={**ME, "hardDelete": "false"})
    assert gone == {"deleted": True, "hardDeleted": False}
