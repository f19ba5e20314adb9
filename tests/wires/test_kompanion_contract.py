"""The contract of seed 003: schemas, errors, tokens, and what is refused."""

import json
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wires.http_server import WIRES, HttpServer, HttpSession
from tests.wires.kompanion_client import METAL, Both, clients, contents
from tests.wires.mcp_session import WAIT_S, Session
from tests.wires.raw_pipe import RawPipe
from tests.wires.test_mcp_context_tokens import tokens
from tests.wires.test_mcp_resources import BRANCHES, listen

OBJECT, TEXT, NUMBER = {"type": "object"}, {"type": "string"}, {"type": "number"}
WHOLE = {"type": "integer"}
TEXTS, NUMBERS = {"type": "array", "items": TEXT}, {"type": "array", "items": NUMBER}
SEED: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "save_context": (
        {"namespace": TEXT, "key": TEXT, "content": {}, "tags": TEXTS, "ttl_seconds": NUMBER},
        ["namespace", "content"],
        ["id", "created_at"],
    ),
    "recall_context": (
        {"namespace": TEXT, "key": TEXT, "tags": TEXTS, "limit": WHOLE, "since": TEXT},
        ["namespace"],
        ["items"],
    ),
    "embed_text": ({"model": TEXT, "texts": TEXTS}, ["texts"], ["model", "vectors"]),
    "upsert_memory": (
        {
            "namespace": TEXT,
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["text"],
                    "properties": {
                        "id": TEXT,
                        "text": TEXT,
                        "metadata": OBJECT,
                        "embedding": NUMBERS,
                    },
                },
            },
        },
        ["namespace", "items"],
        ["upserted"],
    ),
    "search_memory": (
        {
            "namespace": TEXT,
            "query": {
                "type": "object",
                "properties": {"text": TEXT, "embedding": NUMBERS, "k": WHOLE, "filter": OBJECT},
            },
        },
        ["namespace", "query"],
        ["matches"],
    ),
    "warm_cache": ({"namespace": TEXT, "since": TEXT}, ["namespace"], ["queued"]),
    "sync_semantic": (
        {"namespace": TEXT, "max_batch": WHOLE},
        ["namespace"],
        ["processed", "pending"],
    ),
}
"""By tool what it takes, what of that is needed, and what it answers."""
ADDED = {
    "save_context": {"request_id", "sensitivity"},
    "upsert_memory": {"request_id"},
    "search_memory": {"full"},
}
BOUNDS = {"minimum", "maximum", "maxItems", "additionalProperties"}


@pytest.fixture(scope="module", params=WIRES)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    with clients(request.param, tmp_path_factory.mktemp("kompanion") / "store") as both:
        yield both


def unbound(schema: Any) -> Any:
    """A schema without bounds, which the seed leaves open."""
    if isinstance(schema, list):
        return [unbound(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: unbound(part) for key, part in schema.items() if key not in BOUNDS}


@pytest.mark.line("S3-002", "S3-005", "S3-009")
def test_the_schemas_are_those_of_the_seed(both: Both, record_property: Any) -> None:
    tools = both.kompanion.tools
    assert list(tools) == list(SEED)
    for name, (takes, needed, answers) in SEED.items():
        schema = unbound(tools[name].input_schema)
        given = schema["properties"]
        assert set(given) - set(takes) == ADDED.get(name, set())
        assert {argument: given[argument] for argument in takes} == takes
        assert schema["required"] == needed
        output = tools[name].output_schema
        assert output is not None
        assert set(answers) <= set(output["properties"])
        assert set(answers) <= set(output["required"])
    cost = tokens(both.kompanion)
    record_property("summary", f"7 tools: {cost} tokens (cl100k_base)")
    assert cost <= 700


HOSTILE: list[tuple[str, dict[str, Any], str]] = [
    ("save_context", {**METAL, "content": 1, "ttl_seconds": 0}, "ttl_seconds"),
    ("save_context", {**METAL, "content": 1, "ttl_seconds": -1}, "ttl_seconds"),
    ("save_context", {**METAL, "content": 1, "ttl_seconds": 4e9}, "ttl_seconds"),
    ("save_context", {**METAL, "content": "x" * 2_000_000}, "content"),
    ("save_context", {**METAL, "content": ["a\0"]}, "content"),
    ("save_context", {"namespace": "project:a\0b", "content": 1}, "namespace"),
    ("save_context", {"namespace": "x" * 300, "content": 1}, "namespace"),
    ("save_context", {"namespace": "", "content": 1}, "namespace"),
    ("save_context", {"namespace": ":", "content": 1}, "namespace"),
    ("save_context", METAL, "content"),
    ("save_context", {**METAL, "content": 1, "sensitivity": "top"}, "sensitivity"),
    ("save_context", {**METAL, "content": 1, "colour": "red"}, "colour"),
    ("recall_context", {**METAL, "limit": 0}, "limit"),
    ("recall_context", {**METAL, "since": "yesterday"}, "since"),
    ("embed_text", {"texts": [""]}, "texts"),
    ("embed_text", {"texts": ["a"] * 257}, "texts"),
    ("upsert_memory", {**METAL, "items": [{"text": ""}]}, "items"),
    ("upsert_memory", {**METAL, "items": [{"text": "a", "embedding": [0, 0]}]}, "items"),
    ("upsert_memory", {**METAL, "items": [{"text": "a", "embedding": []}]}, "items"),
    ("upsert_memory", {**METAL, "items": [{"text": "a", "embedding": [1e39]}]}, "items"),
    (
        "upsert_memory",
        {**METAL, "items": [{"id": "1", "text": "a"}, {"id": "1", "text": "b"}]},
        "id twice",
    ),
    ("upsert_memory", {**METAL, "items": [{"text": "a"}] * 1_001}, "items"),
    ("search_memory", {**METAL, "query": {}}, "a query needs"),
    ("search_memory", {**METAL, "query": {"text": "a", "k": 0}}, "query.k"),
    ("search_memory", {**METAL, "query": {"embedding": [0.0] * 384}}, "query.embedding"),
    ("search_memory", {**METAL, "query": {"embedding": [1, 2, 3]}}, "3 numbers"),
    ("sync_semantic", {**METAL, "max_batch": 0}, "max_batch"),
]


@pytest.mark.line("S3-014")
@pytest.mark.parametrize(("tool", "given", "named"), HOSTILE, ids=lambda v: str(v)[:40])
def test_bad_input_is_refused_by_name(
    both: Both, tool: str, given: dict[str, Any], named: str
) -> None:
    answer = both.kompanion.call(tool, given)
    assert answer.is_error
    error = answer.structured["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["code"] == "invalid_request"
    assert named in error["message"]
    assert contents(both.kompanion, **METAL) == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused(tmp_path: Path, number: str) -> None:
    with RawPipe(tmp_path / "store", "kompanion") as pipe:
        given = f'{{"namespace":"a","items":[{{"text":"t","embedding":[{number}]}}]}}'
        answer = pipe.call("upsert_memory", given)
        assert answer["isError"]
        assert answer["structuredContent"]["error"]["code"] == "invalid_request"
        saved = pipe.call("save_context", f'{{"namespace":"a","content":[{number}]}}')
        assert saved["isError"]
        assert "content: numbers must be finite" in json.dumps(saved)


def test_without_a_model_no_vector_is_made_up(both: Both) -> None:
    """They would look like vectors, and find nothing."""
    for tool, more in (("embed_text", {"texts": ["a"]}), ("warm_cache", METAL)):
        error = both.kompanion.call(tool, more).structured["error"]
        assert error["code"] == "embedder_unavailable"
        assert "DAY1_EMBEDDER__KIND=none" in error["message"]
    both.kompanion.refused("sync_semantic", "embedder_unavailable", **METAL)


def test_an_unknown_tool_is_refused_in_the_same_form(both: Both) -> None:
    error = both.kompanion.call("memory_search", {"query": "a"}).structured["error"]
    assert error["code"] == "unknown_tool"
    assert error["details"]["tools"] == sorted(SEED)


@pytest.mark.line("S3-012", "S3-013")
def test_over_http_a_token_is_needed_as_soon_as_one_was_made(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        secret, reader = server.token("root"), ""
        reader = server.token("reader", "read", secret)
        for headers in ({}, {"Authorization": "Bearer day1_wrong"}):
            plain = server.ask("POST", "/api/kompanion/save_context", json={}, headers=headers)
            framed = server.ask("POST", "/mcp/kompanion", json={}, headers=headers)
            assert plain.status == framed.status == 401
            for error in (plain.body["error"], framed.body["error"]["data"]):
                assert set(error) == {"code", "message", "details"}
                assert error["code"] == "unauthorized"
        with HttpSession(server, path="/mcp/combined", token=secret) as every:
            assert len(every.tools) == 79
            assert not [name for name in every.tools if "." in name]
            assert "id" in _dotted(every, "kom.memory.v1.save_context", {**METAL, "content": 1})
            dotted = _dotted(every, "kom.memory.v1.recall_context", METAL)
            assert [item["content"] for item in dotted["items"]] == [1]
        with HttpSession(server, path="/mcp/kompanion", token=secret) as own:
            assert list(own.tools) == list(SEED)
            unknown = _dotted(own, "kom.memory.v1.recall_context", METAL)
            assert unknown["error"]["code"] == "unknown_tool"
        with HttpSession(server, path="/mcp/kompanion", token=reader) as own:
            assert contents(own, **METAL) == [1]
            refused = own.call("save_context", {**METAL, "content": 2})
            assert refused.structured["error"]["code"] == "forbidden"


def _dotted(session: Session, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = session.begin(name, lambda *_: None, **arguments).result()
    found: dict[str, Any] = answer.structured_content
    return found


def test_a_protected_branch_takes_nothing(both: Both) -> None:
    day1, own = both.day1, both.kompanion
    day1.ok("memory_branch_create", branch_name="guarded")
    day1.ok("memory_branch_protect", branch_name="guarded", requires=["review"])
    there = {"day1/branch": "guarded"}
    for tool, more in (
        ("save_context", {**METAL, "content": 1}),
        ("upsert_memory", {**METAL, "items": [{"text": "a"}]}),
    ):
        answer = own.call(tool, more, there)
        assert answer.structured["error"]["code"] == "branch_protected"
        assert set(answer.structured["error"]) == {"code", "message", "details"}


@pytest.mark.line("S3-015")
def test_listeners_are_told_that_memory_was_updated(tmp_path: Path) -> None:
    with (
        HttpServer(tmp_path / "store") as server,
        HttpSession(server, path="/mcp/kompanion") as own,
        server.http.stream("GET", "/review/events") as page,
    ):
        lines = page.iter_lines()
        assert next(lines).startswith("retry")
        heard: queue.Queue[str] = queue.Queue()
        task = own._portal.start_task_soon(listen, own, f"{BRANCHES}/main", heard)
        assert heard.get(timeout=WAIT_S) == "listening"
        own.ok("save_context", **METAL, content=1)
        assert heard.get(timeout=WAIT_S) == f"{BRANCHES}/main"
        task.cancel()
        assert "event: memory.updated" in lines
        told = json.loads(next(lines).removeprefix("data: "))
        assert told["branch"] == "main"
