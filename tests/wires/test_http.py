"""One server for a team: MCP in both eras, REST and probes over HTTP, behind one middleware."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine import FOLDER, engine
from tests.wires.http_server import HttpServer, HttpSession


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server without tokens."""
    with HttpServer(tmp_path_factory.mktemp("http") / "store", DAY1_HTTP__RATE="0") as served:
        yield served


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.line("S1-006")
def test_a_branch_is_written_reviewed_and_merged_over_http(server: HttpServer, mode: str) -> None:
    source = f"work/{mode}"
    with HttpSession(server, mode=mode) as agent:
        assert (agent.protocol == "2026-07-28") is (mode == "auto")
        agent.ok("memory_branch_create", branch_name=source)
        fact = agent.ok("memory_write_fact", fact_text=f"Tea is drunk {mode}.", branch=source)
        plan = agent.ok("memory_merge_preview", source_branch=source)
        assert plan["merged_count"] == 1
        merged = agent.ok(
            "memory_branch_merge", source_branch=source, strategy="auto", expect=plan["digest"]
        )
        assert merged["merged_count"] == 1
        found = agent.found("memory_search", query="who drinks tea", branch="main")
        assert fact["id"] in {hit["id"] for hit in found}


def test_rest_answers_what_mcp_answers(server: HttpServer) -> None:
    written = server.ok("memory_write_fact", fact_text="REST and MCP agree.", category="wires")
    with HttpSession(server) as agent:
        over_mcp = agent.ok("memory_search", query="agree", category="wires", search_type="keyword")
    over_rest = server.ok("memory_search", query="agree", category="wires", search_type="keyword")
    assert over_rest == over_mcp
    assert [hit["id"] for hit in over_rest["result"]] == [written["id"]]


def test_rest_takes_a_request_id_as_http_clients_name_it(server: HttpServer) -> None:
    """F4: `Idempotency-Key` is the argument `request_id`; what only reads needs none."""
    said = {"json": {"fact_text": "Said over HTTP."}, "headers": {"Idempotency-Key": "http-1"}}
    first = server.ask("POST", "/api/v1/memory_write_fact", **said)
    again = server.ask("POST", "/api/v1/memory_write_fact", **said)
    assert first.status == again.status == 200
    assert again.body["id"] == first.body["id"]
    other = {**said, "json": {"fact_text": "Said otherwise."}}
    refused = server.ask("POST", "/api/v1/memory_write_fact", **other)
    assert (refused.status, refused.code) == (409, "request_reused")
    read = {"json": {}, "headers": said["headers"]}
    assert server.ask("POST", "/api/v1/memory_branch_list", **read).status == 200
    for named in (None, "http-1"):
        in_both = {**said["json"], "request_id": named}
        answer = server.ask("POST", "/api/v1/memory_write_fact", **{**said, "json": in_both})
        assert answer.body["id"] == first.body["id"], "a client may write null for what is missing"
    in_both = {**said["json"], "request_id": "http-2"}
    differing = server.ask("POST", "/api/v1/memory_write_fact", **{**said, "json": in_both})
    assert (differing.status, differing.code) == (400, "invalid_request")
    problems = differing.body["error"]["details"]["problems"]
    assert [problem["argument"] for problem in problems] == ["request_id"]


def test_a_request_id_in_any_script_is_one_in_the_header_and_in_the_body(
    server: HttpServer,
) -> None:
    said = {"fact_text": "Said in any script."}
    header = {"Idempotency-Key": "Schlüssel-1".encode()}
    first = server.ask("POST", "/api/v1/memory_write_fact", json=said, headers=header)
    again = server.ok("memory_write_fact", **said, request_id="Schlüssel-1")
    assert again["id"] == first.body["id"]
    other = {**said, "fact_text": "Said otherwise."}
    refused = server.post("memory_write_fact", **other, request_id="Schlüssel-1")
    assert (refused.status, refused.code) == (409, "request_reused")


@pytest.mark.parametrize(
    ("operation", "arguments", "status", "code"),
    [
        ("memory_write_fact", {"fact_text": "x", "wrong": 1}, 400, "invalid_request"),
        (
            "memory_branch_diff",
            {"source_branch": "no", "target_branch": "main"},
            404,
            "unknown_branch",
        ),
        ("memory_branch_create", {"branch_name": "main"}, 409, "branch_exists"),
        ("memory_restore", {"to": "2020-01-01"}, 409, "confirmation_needed"),
        ("memory_nothing", {}, 404, "not_found"),
    ],
)
def test_errors_have_a_status_and_the_one_shape(
    server: HttpServer, operation: str, arguments: dict[str, Any], status: int, code: str
) -> None:
    answer = server.post(operation, **arguments)
    assert (answer.status, answer.code) == (status, code)
    assert set(answer.body["error"]) - {"next"} == {"code", "message", "details"}


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"null", b"[" * 100_000, b"9" * 5_000])
def test_what_is_no_json_object_is_refused(server: HttpServer, body: bytes) -> None:
    answer = server.ask("POST", "/api/v1/memory_write_fact", content=body)
    assert (answer.status, answer.code) == (400, "invalid_request")


def test_the_wrong_method_names_the_right_one(server: HttpServer) -> None:
    answer = server.ask("GET", "/api/v1/memory_search")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_the_probes_say_that_it_lives_and_works(server: HttpServer) -> None:
    assert server.ask("GET", "/health").body["status"] == "ok"
    assert server.ask("GET", "/ready").body == {"status": "ready", "access": "write"}
    counted = server.ask("GET", "/metrics").body
    assert 'day1_http_requests_total{part="ready",status="200"}' in counted
    # A server does not say how large its files are.
    assert ("day1_store_bytes" in counted) == (engine() == FOLDER)


@pytest.mark.parametrize("path", ["/health", "/metrics", "/mcp", "/api/v1/openapi.json", "/review"])
def test_a_page_of_another_site_reaches_nothing(server: HttpServer, path: str) -> None:
    assert server.ask("GET", path, headers={"Host": "rebound.example"}).status == 421
    assert server.ask("GET", path, headers={"Origin": "http://evil.example"}).status == 403
    assert server.ask("GET", path, headers={"Origin": "http://localhost:1"}).status == 403


@pytest.mark.parametrize("path", ["/api/v1/memory_write_fact", "/mcp", "/mcp/all"])
def test_a_body_may_not_be_longer_than_the_setting(server: HttpServer, path: str) -> None:
    answer = server.ask("POST", path, content=b"x" * 4_194_305)
    assert (answer.status, answer.code) == (413, "body_too_long")


def test_headers_name_the_branch_and_the_agent_of_a_call(server: HttpServer) -> None:
    server.ok("memory_branch_create", branch_name="by-header")
    said = {"Day1-Branch": "by-header", "Day1-Agent-Id": "ada"}
    body = {"fact_text": "Said by a header."}
    answer = server.ask("POST", "/api/v1/memory_write_fact", headers=said, json=body)
    assert answer.body["written"]["branch"] == "by-header"
    (row,) = server.ok("memory_list", type="fact", branch="by-header", limit=1)["rows"]
    assert row["agent_id"] == "ada"


@pytest.mark.parametrize("name", ["x" * 256, b"a\x01b".decode("latin-1")])
def test_a_name_in_a_header_is_held_against_the_rule_for_names(
    server: HttpServer, name: str
) -> None:
    said = {"Day1-Agent-Id": name}
    body = {"fact_text": "Never written."}
    answer = server.ask("POST", "/api/v1/memory_write_fact", headers=said, json=body)
    assert (answer.status, answer.code) == (400, "invalid_request")


def test_a_name_in_a_header_may_be_in_any_script(server: HttpServer) -> None:
    said = {"Day1-Agent-Id": "Zoë".encode()}
    body = {"fact_text": "Said by Zoë.", "branch": "main"}
    assert server.ask("POST", "/api/v1/memory_write_fact", headers=said, json=body).status == 200
    (row,) = server.ok("memory_list", type="fact", limit=1)["rows"]
    assert row["agent_id"] == "Zoë"


def test_a_path_makes_no_line_of_its_own_in_the_log(server: HttpServer) -> None:
    server.ask("GET", "/x%0A2026-01-01 INFO forged")
    assert "\n2026-01-01 INFO forged" not in server.log.read_text(encoding="utf-8")


def test_a_client_that_is_named_has_a_head_of_its_own(server: HttpServer) -> None:
    server.ok("memory_branch_create", branch_name="of-one")
    said = {"Day1-Client": "one"}

    def active(headers: dict[str, str]) -> str:
        answer = server.ask("POST", "/api/v1/memory_timeline", headers=headers, json={})
        branch: str = answer.body["read"]["branch"]
        return branch

    nobody = server.post("memory_branch_switch", branch_name="of-one")
    assert nobody.code == "refused"
    switch = "/api/v1/memory_branch_switch"
    assert server.ask("POST", switch, headers=said, json={"branch_name": "of-one"}).status == 200
    assert active(said) == "of-one"
    assert active({"Day1-Client": "two"}) == "main"
    assert active({}) == "main"


def test_a_session_of_2025_has_a_head_of_its_own(server: HttpServer) -> None:
    server.ok("memory_branch_create", branch_name="of-session")
    with HttpSession(server, mode="legacy") as one, HttpSession(server, mode="legacy") as other:
        one.ok("memory_branch_switch", branch_name="of-session")
        assert one.ok("memory_timeline")["read"]["branch"] == "of-session"
        assert other.ok("memory_timeline")["read"]["branch"] == "main"


def test_a_stream_begins_for_who_asks_for_past_events(server: HttpServer) -> None:
    """A session of 2025 has no past events: it goes on with those to come."""
    client = {"clientInfo": {"name": "x", "version": "1"}, "capabilities": {}}
    hello = {"method": "initialize", "params": {"protocolVersion": "2025-06-18", **client}}
    accept = {"Accept": "application/json, text/event-stream"}
    began = server.http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, **hello}, headers=accept)
    session = {**accept, "Mcp-Session-Id": began.headers["mcp-session-id"], "Last-Event-ID": "7"}
    with server.http.stream("GET", "/mcp", headers=session) as events:
        assert events.status_code == 200
        assert events.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize(
    ("path", "has", "lacks"),
    [
        ("/mcp", "memory_task_join", "memory_held"),
        ("/mcp/", "memory_task_join", "memory_held"),
        ("/mcp/core14", "memory_task_join", "memory_task_create"),
        ("/mcp/review", "memory_held", "memory_search"),
        ("/mcp/all", "memory_held", "token_create"),
    ],
)
def test_each_path_serves_its_tools(server: HttpServer, path: str, has: str, lacks: str) -> None:
    with HttpSession(server, path=path) as agent:
        assert has in agent.tools
        assert lacks not in agent.tools


def test_openapi_names_every_operation(server: HttpServer) -> None:
    document = server.ask("GET", "/api/v1/openapi.json").body
    assert document["openapi"] == "3.1.0"
    with HttpSession(server) as agent:
        assert {f"/api/v1/{name}" for name in agent.tools} <= set(document["paths"])
    references = json.dumps(document).split('"$ref": "#/components/')[1:]
    for reference in {one.split('"')[0] for one in references}:
        kind, name = reference.split("/")
        assert name in document["components"][kind]


def test_no_log_holds_what_was_written_or_asked(server: HttpServer) -> None:
    server.ok("memory_write_fact", fact_text="The xylophone is in the attic.")
    server.ok("memory_search", query="where is the xylophone")
    server.ask("GET", "/review/search?query=xylophone")
    server.post("memory_write_fact", fact_text="xylophone", xylophone=1)
    assert "xylophone" not in server.log.read_text(encoding="utf-8")


def test_a_server_stops_at_once_though_streams_are_open(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as served, HttpSession(served) as agent:
        agent.ok("memory_write_fact", fact_text="Written before the end.")
        with served.http.stream("GET", "/review/events") as events:
            assert events.status_code in {200, 404}
            started = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(30) == 0
            assert time.monotonic() - started < 8
    with HttpServer(tmp_path / "store") as again:
        (row,) = again.ok("memory_list", type="fact")["rows"]
        assert row["fact_text"] == "Written before the end."


def test_a_port_that_is_taken_is_named(server: HttpServer, tmp_path: Path) -> None:
    port = int(server.address.rpartition(":")[2])
    second = HttpServer(tmp_path / "store", port=port)
    with pytest.raises(AssertionError), second:
        pass
    assert f":{port} cannot be used" in second.log.read_text(encoding="utf-8")


def test_a_second_server_of_a_store_says_who_holds_it(server: HttpServer) -> None:
    second = HttpServer(server.folder)
    with pytest.raises(AssertionError), second:
        pass
    said = second.log.read_text(encoding="utf-8")
    holder = re.search(rf"{server.address} \(process (\d+)\) serves this store already", said)
    assert holder, said
    os.kill(int(holder[1]), 0)  # that process is there
    assert server.ask("GET", "/ready").status == 200


def test_a_killed_server_holds_nothing(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as killed:
        killed.process.kill()
        killed.process.wait()
    with HttpServer(tmp_path / "store") as again:
        assert again.ask("GET", "/ready").status == 200


def test_others_than_this_machine_need_a_token_from_the_start(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store"):
        pass  # it makes the store
    shut = HttpServer(tmp_path / "store", "--host", "0.0.0.0")
    with pytest.raises(AssertionError), shut:
        pass
    assert "day1 token create" in shut.log.read_text(encoding="utf-8")


def test_where_a_token_is_needed_a_missing_store_is_named_and_not_made(tmp_path: Path) -> None:
    """E7: on an empty volume `serve` says that there is no store, not that a token is missing."""
    shut = HttpServer(tmp_path / "store", "--host", "0.0.0.0")
    with pytest.raises(AssertionError), shut:
        pass
    said = shut.log.read_text(encoding="utf-8")
    assert "holds no day1 store; `day1 init` makes one." in said
    assert "token create" not in said
    assert not (tmp_path / "store" / "memory.db").exists()


def test_who_listens_on_all_addresses_says_one_that_can_be_opened(tmp_path: Path) -> None:
    """E7: the log does not name 0.0.0.0 as where the server is."""
    with HttpServer(tmp_path / "store") as first:
        token = first.token("root")
    with HttpServer(tmp_path / "store", "--host", "0.0.0.0") as server:
        assert server.address.startswith("http://127.0.0.1:")
        assert server.ask("GET", "/api/v1/openapi.json", token).status == 200
