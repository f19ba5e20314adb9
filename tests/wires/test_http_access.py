"""Tokens: who may come in, what each scope opens, and that a limited one sees its branches only."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from day1.model.access.permissions import SCOPES
from day1.toolsets import TOOLSETS
from tests.waiting import until
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.minimal_arguments import prepared

OPERATIONS = {
    operation.name: operation
    for toolset in TOOLSETS.values()
    if toolset.namespace is TOOLSETS["core"].namespace  # other products' have tests of their own
    for operation in toolset.operations
}
HIDDEN = ("milk", "Tea?", "Ada")
"""Words of what stands on main and beside it."""


class Guarded(NamedTuple):
    server: HttpServer
    admin: str
    limited: str
    """May do anything on branches `mine/*`."""
    least: dict[str, dict[str, Any]]
    """Arguments that name what is on main, by operation."""
    commit: str
    """The tip of main."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("access") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:
        admin = server.token("root")
        limited = server.token("limited", "admin", admin, branches=["mine/*"])
        with HttpSession(server, token=admin) as session:
            session.ok("memory_branch_create", branch_name="mine/work")
            session.ok("memory_write_fact", fact_text="Mine alone.", branch="mine/work")
            arguments = prepared(session, "main")
            session.ok("memory_snapshot", branch="main", label="secret mark")
            commit = session.ok("memory_timeline", branch="main")["read"]["commit"]
        yield Guarded(server, admin, limited, arguments, commit)


def routes(server: HttpServer, admin: str) -> list[tuple[str, str]]:
    document = server.ask("GET", "/api/v1/openapi.json", admin).body
    every = [("POST", path) for path in document["paths"]]
    for path in ("/mcp", "/mcp/", "/mcp/all", "/mcp/core14", "/mcp/admin"):
        every += [("POST", path), ("GET", path), ("DELETE", path)]
    return [*every, ("GET", "/metrics"), ("GET", "/api/v1/openapi.json"), ("GET", "/nothing")]


@pytest.mark.parametrize("token", [None, "day1_wrong", "x" * 10_000])
def test_every_route_refuses_who_has_no_token(guarded: Guarded, token: str | None) -> None:
    server = guarded.server
    for method, path in routes(server, guarded.admin):
        answer = server.ask(method, path, token, json={} if method == "POST" else None)
        assert (answer.status, answer.code) == (401, "unauthorized"), path
        assert answer.headers["www-authenticate"] == "Bearer"
    assert server.ask("GET", "/health").status == 200
    assert server.ask("GET", "/ready").status == 200


def test_a_token_is_not_taken_from_the_address(guarded: Guarded) -> None:
    path = f"/api/v1/openapi.json?token={guarded.admin}&access_token={guarded.admin}"
    assert guarded.server.ask("GET", path).status == 401


def test_secrets_are_kept_nowhere(guarded: Guarded) -> None:
    for path in guarded.server.folder.parent.rglob("*"):
        if path.is_file():
            assert guarded.admin.encode() not in path.read_bytes(), path
    listed = guarded.server.ok("token_list", guarded.admin)["result"]
    assert guarded.admin not in json.dumps(listed)
    assert {one["name"]: one["scope"] for one in listed}["root"] == "admin"


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_opens_what_needs_it_or_less_and_nothing_else(guarded: Guarded, scope: str) -> None:
    server = guarded.server
    token = server.token(f"of {scope}", scope, guarded.admin, branches=["none"])
    for name, operation in OPERATIONS.items():
        answer = server.post(name, token, wrong_argument=1)
        opened = SCOPES.index(operation.needs) <= SCOPES.index(scope)
        assert answer.code == ("invalid_request" if opened else "forbidden"), name
    with HttpSession(server, token=token) as session:
        refused = session.call("memory_write_fact", {"fact_text": "x", "branch": "none"})
        code = refused.structured["error"]["code"]
        assert code == ("unknown_branch" if scope != "read" else "forbidden")


def test_who_may_only_read_lists_what_is_held_and_decides_nothing(guarded: Guarded) -> None:
    token = guarded.server.token("reader", "read", guarded.admin)
    assert guarded.server.ok("memory_held", token, branch="main")["items"] == []
    for action in ("take", "edit", "dismiss"):
        answer = guarded.server.post(
            "memory_held", token, branch="main", action=action, id="held_1"
        )
        assert answer.code == "forbidden"


def test_what_each_operation_needs_is_said_in_one_place() -> None:
    needs = {name: op.needs for name, op in OPERATIONS.items() if op.needs not in {"read", "write"}}
    assert needs == {
        "review_approve": "merge",
        "review_merge": "merge",
        "memory_revert": "merge",
        "memory_branch_protect": "admin",
        "memory_redact": "admin",
        "token_create": "admin",
        "token_list": "admin",
        "token_revoke": "admin",
    }


def test_a_revoked_or_expired_token_opens_nothing(guarded: Guarded) -> None:
    server = guarded.server
    token = server.token("short", "read", guarded.admin)
    with HttpSession(server, token=token) as session:
        assert server.post("memory_timeline", token).status == 200
        revoked = server.ok("token_revoke", guarded.admin, name="short")
        assert revoked["state"] == "revoked"
        assert server.post("memory_timeline", token).status == 401
        with pytest.raises(Exception, match="needs a live token"):
            session.call("memory_timeline")
    assert server.post("token_revoke", guarded.admin, name="short").status == 404


def test_a_token_that_is_bound_writes_as_its_agent_only(guarded: Guarded) -> None:
    server = guarded.server
    token = server.token("of ada", "write", guarded.admin, branches=["ada"], agent_id="ada")
    server.ok("memory_branch_create", guarded.admin, branch_name="ada", parent_branch="mine/work")
    fact = {"fact_text": "Bound.", "branch": "ada"}
    server.ok("memory_write_fact", token, **fact)
    assert (
        server.ok("memory_list", token, type="fact", branch="ada")["rows"][0]["agent_id"] == "ada"
    )
    assert server.post("memory_write_fact", token, **fact, agent_id="bo").code == "forbidden"
    path, said = "/api/v1/memory_write_fact", {"Day1-Agent-Id": "bo"}
    assert server.ask("POST", path, token, headers=said, json=fact).code == "forbidden"
    with HttpSession(server, token=token) as session:
        refused = session.call("memory_write_fact", fact, {"day1/agent_id": "bo"})
        assert refused.structured["error"]["code"] == "forbidden"
    there = server.ok("memory_write_fact", token, fact_text="Its one branch.", agent_id="ada")
    assert there["written"]["branch"] == "ada"


def beyond(guarded: Guarded) -> dict[str, list[dict[str, Any]]]:
    """Ways that lead from a branch of one's own to what is on main."""
    commit, mine, least = guarded.commit, "mine/work", guarded.least
    fact = least["memory_update_fact"]["fact_id"]
    conversation = least["memory_fork_conversation"]["conversation_id"]
    bundle = least["knowledge_bundle_import"]["bundle_id"]
    return {
        "memory_list": [
            {"type": kind, "branch": mine, "at": at}
            for kind in ("fact", "message", "conversation")
            for at in (commit, "secret mark")
        ]
        + [{"type": "message", "branch": mine, "conversation_id": conversation}],
        "memory_get": [
            {"id": fact, "branch": mine, "at": at} for at in (None, commit, "secret mark")
        ],
        "memory_log": [{"branch": mine, "before": commit}],
        "memory_graph": [{}],
        "memory_search": [
            {"query": "who drinks milk", "branch": mine, "types": ["fact", "message"]},
            {"query": "milk", "branch": mine, "at": commit},
        ],
        "memory_time_travel": [{"timestamp": "2100-01-01", "query": "milk", "branch": mine}],
        "memory_restore": [
            {"to": to, "branch": mine, "confirm": mine} for to in ("secret mark", commit)
        ]
        + [{"to": "2100-01-01", "branch": mine, "id": fact}],
        "memory_branch_create": [{"branch_name": "mine/fork"}],
        "memory_branch_create_curated": [
            {"branch_name": "mine/chosen", "parent_branch": mine, "fact_ids": [fact]}
        ],
        "memory_branch_merge": [
            {"source_branch": "main", "target_branch": mine, "strategy": how}
            for how in ("auto", "squash")
        ]
        + [
            {
                "source_branch": "main",
                "target_branch": mine,
                "strategy": "cherry_pick",
                "items": [fact],
            }
        ],
        "memory_merge_preview": [{"source_branch": "main", "target_branch": mine}],
        "memory_branch_diff": [
            {"source_branch": "main", "target_branch": mine},
            {"source_branch": mine, "target_branch": "main"},
        ],
        "memory_cherry_pick_conversation": [
            {"conversation_id": conversation, "target_branch": mine, "source_branch": "main"},
            {"conversation_id": conversation, "target_branch": mine},
        ],
        "memory_handoff_create": [{"source_branch": "main", "target_branch": mine}],
        "knowledge_bundle_import": [{"bundle_id": bundle, "target_branch": mine}],
        "memory_template_instantiate": [
            {
                "template_name": least["memory_template_create"]["name"],
                "target_branch_name": "mine/made",
            }
        ],
        "memory_history": [{"id": fact, "branch": mine}],
        "memory_blame": [{"id": fact, "branch": mine}],
        "memory_revert": [{"commit": commit, "branch": mine}],
        "review_open": [
            {"source_branch": "main", "target_branch": mine},
            {"source_branch": mine, "target_branch": "main"},
        ],
        "memory_redact": [{"id": fact, "confirm": fact, "branch": mine}],
        "memory_snapshot_list": [{}],
        "memory_branch_topology": [{}, {"root_branch": mine}],
        "memory_held": [{"branch": mine}],
        "memory_agent_timeline": [{"agent_id": "ada"}],
        "memory_session_context": [{"session_id": "session of main"}],
        "memory_search_task": [{"query": "milk", "task_id": least["memory_task_join"]["task_id"]}],
        "verify_fact": [{"fact_id": fact, "branch": mine, "context": "milk?"}],
        "token_create": [{"name": "wider", "scope": "admin"}],
        "token_list": [{}],
    }


def test_a_limited_token_reaches_nothing_of_main_by_any_operation(guarded: Guarded) -> None:
    server, before = guarded.server, everything(guarded)
    ways = beyond(guarded)
    for name in OPERATIONS:
        asked = [*ways.get(name, []), guarded.least.get(name, {})]
        for arguments in asked:
            arguments = {key: value for key, value in arguments.items() if value is not None}
            answer = server.post(name, guarded.limited, **arguments)
            assert answer.status < 500, (name, answer)
            leaked = _unsaid(answer.body, arguments)
            assert not leaked, (name, arguments, answer.body)
    assert server.ok("memory_list", guarded.limited, type="fact", branch="mine/work")["total"] >= 1
    assert everything(guarded) == before


def _unsaid(answer: Any, arguments: dict[str, Any]) -> list[str]:
    """Hidden words of an answer that the question did not bring, and hidden branches' names."""
    said, text = json.dumps(arguments), json.dumps(answer)
    words = (*HIDDEN, '"main"', "main/source", "secret mark", "of-main", "of main")
    return [word for word in words if word in text and word not in said]


def everything(guarded: Guarded) -> dict[str, Any]:
    """What main and its neighbours hold, without what the limited token may change."""
    with HttpSession(guarded.server, token=guarded.admin) as session:
        state = session.everything(["main", "main/source"])
    return {name: state[name] for name in ("main", "main/source", "merges", "templates", "tokens")}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_limited_token_reaches_nothing_of_main_by_mcp(guarded: Guarded, mode: str) -> None:
    with HttpSession(guarded.server, token=guarded.limited, mode=mode) as session:

        async def resources() -> str:
            listed = await session._client.list_resources()
            return str(listed)

        listed = session._portal.call(resources)
        assert "mine%2Fwork" in listed
        assert "main" not in listed
        assert "secret mark" not in listed
        fact = guarded.least["memory_update_fact"]["fact_id"]
        for uri in ("day1://branches/main", f"day1://branches/main/facts/{fact}"):
            with pytest.raises(MCPError) as caught:
                session._portal.call(session._client.read_resource, uri)
            assert not any(word in str(caught.value) for word in HIDDEN)
        names = [one["branch_name"] for one in session.found("memory_branch_list")]
        assert set(names) <= {"mine/work", "mine/made", "mine/fork", "mine/chosen"}


def test_a_limited_token_hears_nothing_of_main(guarded: Guarded) -> None:
    heard: list[str] = []
    with HttpSession(guarded.server, token=guarded.limited) as session:

        async def listen() -> None:
            hidden = ["day1://branches/main", "day1://branches"]
            uris = [*hidden, "day1://branches/mine%2Fwork"]
            async with session._client.listen(resource_subscriptions=uris) as stream:
                heard.append("listening")
                async for event in stream:
                    assert isinstance(event, ResourceUpdated)
                    heard.append(event.uri)

        task = session._portal.start_task_soon(listen)
        until(lambda: heard, "the stream is open")
        guarded.server.ok("memory_write_fact", guarded.admin, fact_text="Unheard.", branch="main")
        guarded.server.ok("memory_branch_create", guarded.admin, branch_name="unheard")
        mine = {"fact_text": "Heard.", "branch": "mine/work"}
        guarded.server.ok("memory_write_fact", guarded.admin, **mine)
        until(lambda: len(heard) > 1, "an event of the token's own branch")
        task.cancel()
    assert heard == ["listening", "day1://branches/mine%2Fwork"]


def test_a_session_belongs_to_the_token_that_opened_it(guarded: Guarded) -> None:
    server = guarded.server
    other = server.token("other", "read", guarded.admin)
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    accept = {"Accept": "application/json, text/event-stream"}
    url = f"{server.address}/mcp"

    def post(token: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        said = {**accept, "Authorization": f"Bearer {token}", **headers}
        return server.http.post(url, json=body, headers=said)

    session = post(guarded.admin, initialize).headers["mcp-session-id"]
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert post(guarded.admin, ask, **{"Mcp-Session-Id": session}).status_code == 200
    assert post(other, ask, **{"Mcp-Session-Id": session}).status_code == 404


def test_who_asks_too_often_is_told_to_wait(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store", DAY1_HTTP__RATE="2") as server:
        answers = [server.post("memory_timeline") for _ in range(12)]
        slow = [answer for answer in answers if answer.status == 429]
        assert slow
        assert slow[0].code == "too_many_requests"
        assert float(slow[0].body["error"]["details"]["retry_after"]) <= 0.5
        assert slow[0].headers["retry-after"] == "1"
        assert server.ask("GET", "/health").status == 200
        time.sleep(int(answers[-1].headers["retry-after"]))  # as long as it was told to wait
        assert server.post("memory_timeline").status == 200


def test_the_first_token_shuts_out_who_has_none_for_good(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        assert server.post("memory_timeline").status == 200
        token = server.token("first")
        assert server.post("memory_timeline").status == 401
        server.ok("token_revoke", token, name="first")
        assert server.post("memory_timeline", token).status == 401
        assert server.post("memory_timeline").status == 401


def test_a_token_of_the_command_line_opens_the_server(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        line = CommandLine(tmp_path)
        line.env["DAY1_HOME"] = str(server.folder)
        token = line.json("token", "create", "cli", "--scope", "read")["secret"]
        assert server.post("memory_timeline").status == 401
        assert server.post("memory_timeline", token).status == 200
        assert server.post("memory_write_fact", token, fact_text="x").code == "forbidden"
