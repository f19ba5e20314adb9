"""Tokens and branches: a bound token reaches one wallet, and a loop on a branch stays off main."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wires.compose_client import ComposeClient, composing
from tests.wires.compose_contract import CONTRACT

SAID: dict[str, Any] = {"messages": [{"role": "user", "content": "The mill is open."}]}
SESSION: dict[str, Any] = {"sessionId": "s", "threadId": "t"}
CALLS: dict[str, dict[str, Any]] = {
    "context_assemble": {"query": "mill"},
    "turn_record": {**SESSION, **SAID, "turnId": "1"},
    "remember": {"content": "The mill has 90 spindles."},
    "loop": {"step": "pre_turn", "query": "mill"},
    "graph_add": SAID,
    "graph_search": {"query": "mill"},
    "list": {},
    "vector_search": {"query": "mill"},
    "vector_index": {"content": "The mill is old.", "source": "knowledge"},
    "transcript_store": {**SESSION, **SAID, "tokenCount": 1},
    "transcript_get": {"id": "s"},
    "transcripts_index": {**SESSION, **SAID},
    "sessions_working_get": {"sessionId": "s"},
    "sessions_working_update": {"sessionId": "s", "context": ["A line."]},
    "sessions_compress": {"sessionId": "s", "coordinatorModel": "any"},
    "layers_search": {"query": "mill"},
    "items_search": {"query": "mill"},
    "items_get": {"id": "fact_1"},
    "items_update": {"id": "fact_1", "metadata": {}},
    "items_delete": {"id": "fact_1"},
    "conflicts_resolve": {"id": "fact_1", "resolution": "keep"},
    "stats_get": {},
    "evals_run": {"testCases": [{"query": "mill", "expected": "spindles"}]},
    "patterns_list": {},
    "patterns_get": {"patternId": "fact_1"},
    "skills_list": {},
    "skills_get": {"skillId": "fact_1"},
    "jobs_create": {"type": "decay_update"},
    "archives_sync": {"archiveId": "fact_1"},
}
"""Arguments of each operation that takes `agentWallet`, beside it."""
BY_LISTS = ("jobs_create", "schedules_create", "schedules_list", "schedules_delete")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ComposeClient]]:
    """Clients of one server: without a token, and with the tokens of two agents."""
    with composing(tmp_path_factory.mktemp("tokens") / "store") as client:
        assert client.ok("context_assemble", agentWallet="ann", query="mill")["prompt"] is None
        clients, admin = {"nobody": client}, dict[str, str]()
        for name, scope in (("root", "admin"), ("ann", "merge"), ("bob", "merge")):
            bound = {} if name == "root" else {"agent_id": name}
            made = client.http.post("/api/v1/token_create", json={"name": name, "scope": scope, **bound}, headers=admin)  # fmt: skip
            headers = {"Authorization": f"Bearer {made.json()['secret']}"}
            admin = admin or headers
            clients[name] = ComposeClient(client.http, **headers)
        yield clients


def test_each_operation_that_takes_a_wallet_is_called_here() -> None:
    takes = {
        name
        for name, facts in CONTRACT["operations"].items()
        if "agentWallet" in facts["parameters"] or "'agentWallet'" in str(facts["request"])
    }
    assert takes == CALLS.keys()


@pytest.mark.parametrize("operation", CALLS)
def test_a_bound_token_reaches_its_wallet_only(
    guarded: dict[str, ComposeClient], operation: str
) -> None:
    ann = guarded["ann"]
    if operation == "sessions_compress":
        ann.ok("turn_record", agentWallet="ann", **CALLS["turn_record"])
    for wallet in ("bob", "Ann", "ann2"):
        ann.refused(403, operation, agentWallet=wallet, **CALLS[operation])
    own = ann.send(operation, agentWallet="ann", **CALLS[operation])
    assert own.status_code in {200, 400, 404}, own.text


@pytest.mark.parametrize("operation", BY_LISTS)
def test_a_bound_token_names_no_other_wallet_in_a_list(
    guarded: dict[str, ComposeClient], operation: str
) -> None:
    more = {"type": "decay_update"} if operation == "jobs_create" else {}
    guarded["ann"].refused(403, operation, agentWallets=["ann", "bob"], **more)
    guarded["ann"].ok(operation, agentWallets=["ann"], **more)


@pytest.mark.parametrize("operation", CONTRACT["operations"])
def test_without_a_token_nothing_is_answered_once_there_is_one(
    guarded: dict[str, ComposeClient], operation: str
) -> None:
    facts = CONTRACT["operations"][operation]
    named = {name: "x" for name, part in facts["parameters"].items() if part["in"] == "path"}
    guarded["nobody"].refused(401, operation, **named)


def test_a_loop_on_a_branch_stays_off_main_until_it_is_merged(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    me, query = {"agentWallet": "helper", "userAddress": "ann"}, "spindles of the mill"
    with composing(tmp_path_factory.mktemp("branches") / "store") as main:
        main.day1("memory_branch_create", branch_name="try")
        branch = ComposeClient(main.http, **{"Day1-Branch": "try"})
        branch.ok("loop", step="pre_turn", query=query, **me)
        branch.ok("loop", step="post_turn", userMessage="The mill has 90 spindles.", **me)
        branch.ok("loop", step="remember", content="The mill in Selm has 90 spindles.", **me)
        assert "90 spindles" in branch.ok("loop", step="pre_turn", query=query, **me)["prompt"]
        assert main.ok("loop", step="pre_turn", query=query, **me)["prompt"] is None
        main.day1("memory_branch_merge", source_branch="try", target_branch="main", strategy="auto")
        prompt = main.ok("loop", step="pre_turn", query=query, **me)["prompt"]
        assert "The mill in Selm has 90 spindles." in prompt
