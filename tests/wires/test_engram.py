"""engram's eleven tools by a real client, over stdio and over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wires.engram_session import LESSON, lesson, served, store
from tests.wires.http_server import STDIO_DAILY
from tests.wires.mcp_session import Session
from tests.wires.test_mcp_context_tokens import tokens

NAMES = """
memory_store memory_search memory_judge memory_status memory_config memory_export memory_import
memory_consolidate_preview memory_consolidate memory_consolidate_apply memory_insights
""".split()  # noqa: SIM905 - one line for each would hide the order


@pytest.fixture(params=STDIO_DAILY)
def engram(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with served(request.param, tmp_path / "store") as session:
        yield session


@pytest.fixture(scope="module", params=STDIO_DAILY)
def calm(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Session]:
    """A client of a store to which nothing is written."""
    with served(request.param, tmp_path_factory.mktemp("calm") / "store") as session:
        yield session


ANSWERS = {
    "memory_store": "id updated created_at indexed deduplicated",
    "memory_search": "result",
    "memory_judge": "memory_id score degraded judgments",
    "memory_status": "memory_count indexed_count index_size pending_judgments hints",
    "memory_config": "config",
    "memory_export": "version memories exported_at count",
    "memory_import": "imported skipped indexed reindex",
    "memory_consolidate_preview": "duplicates stale garbage duplicate_groups stale_ids garbage_ids",
    "memory_consolidate": "analyzed_count recommendations errors degraded digest",
    "memory_consolidate_apply": "merged archived deleted applied errors",
    "memory_insights": "insights",
}
"""By tool what its answers have without exception, beside `read` or `written`."""


@pytest.mark.line("S4-001", "S4-003", "S4-005")
def test_the_tools_are_the_contracts(engram: Session) -> None:
    assert list(engram.tools) == NAMES
    assert tokens(engram) <= 1_100
    types = "decision|pattern|bugfix|context|antipattern"
    takes = {name: engram.tools[name].input_schema for name in NAMES}
    required = {name: schema.get("required", []) for name, schema in takes.items()}
    assert required == {
        **{name: [] for name in NAMES},
        "memory_store": ["context", "action", "result"],
        "memory_search": ["query"],
        "memory_judge": ["memory_id"],
        "memory_import": ["version", "memories"],
    }
    arguments = {name: list(schema["properties"]) for name, schema in takes.items()}
    assert arguments["memory_search"] == ["query", "limit", "project", "full"]
    stored = takes["memory_store"]["properties"]
    assert list(stored) == ["context", "action", "result", "memory_type", "tags", "project"]
    assert "|".join(stored["memory_type"]["enum"]) == types
    assert arguments["memory_judge"] == ["memory_id", "query", "score"]
    assert arguments["memory_consolidate_preview"] == ["stale_days", "min_score"]
    assert arguments["memory_consolidate"] == ["stale_days", "min_score"]
    assert takes["memory_config"]["properties"]["action"]["enum"] == ["get", "set"]
    insights = takes["memory_insights"]["properties"]
    assert insights["action"]["enum"] == ["list", "generate", "delete"]
    for name, keys in ANSWERS.items():
        output = engram.tools[name].output_schema
        assert output is not None
        assert set(output["required"]) - {"read", "written"} == set(keys.split()), name


@pytest.mark.line("S4-006", "S4-008")
def test_what_was_shown_waits_for_a_judgement(engram: Session) -> None:
    for number in range(3):
        store(engram, **lesson(number))
    assert engram.ok("memory_status")["pending_judgments"] == 0
    hits = engram.found("memory_search", query="variant of the parser")
    assert len(hits) == 3
    status = engram.ok("memory_status")
    assert (status["memory_count"], status["indexed_count"]) == (3, 3)
    assert status["pending_judgments"] == 3
    assert status["index_size"] > 10_000
    for left, hit in enumerate(hits, start=1):
        done = engram.ok("memory_judge", memory_id=hit["id"], query="variant", score=0.8)
        assert (done["score"], done["judgments"], done["degraded"]) == (0.8, 1, False)
        assert engram.ok("memory_status")["pending_judgments"] == 3 - left
    again = engram.ok("memory_judge", memory_id=hits[0]["id"], query="variant", score=0.1)
    assert again["judgments"] == 1, "one vote of an agent on a row for a query"
    told = str(engram.tools["memory_judge"].description)
    for line in ("0.8-1.0 directly solved", "0.5-0.7 useful context", "0.1-0.4 tangentially"):
        assert line in told


def test_a_memory_is_rated_without_a_score_by_what_it_has_of_the_query(engram: Session) -> None:
    made = store(engram)["id"]
    good = engram.ok("memory_judge", memory_id=made, query="client timeout of uploads")
    bad = engram.ok("memory_judge", memory_id=made, query="colour of the garden fence")
    assert good["degraded"]
    assert bad["degraded"]
    assert good["score"] > bad["score"] == 0.0
    assert engram.refused("memory_judge", "invalid_request", memory_id=made)["message"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"memory_id": "fact_0", "score": 0.5}, "not_found"),
        ({"memory_id": "5f1c", "score": 0.5}, "not_found"),
        ({"memory_id": "x" * 300, "score": 0.5}, "invalid_request"),
        ({"memory_id": "x\0", "score": 0.5}, "invalid_request"),
        ({"memory_id": "fact_0", "score": 1.1}, "invalid_request"),
        ({"memory_id": "fact_0", "score": -0.1}, "invalid_request"),
        ({"memory_id": "fact_0", "score": "NaN"}, "invalid_request"),
    ],
)
def test_a_vote_that_cannot_be_is_refused(
    calm: Session, arguments: dict[str, Any], code: str
) -> None:
    calm.refused("memory_judge", code, **arguments)


@pytest.mark.line("S4-009")
@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_the_configuration_is_read_and_never_set(wire: str, tmp_path: Path) -> None:
    key = "sk-" + "k" * 30
    settings = {
        "DAY1_CHAT__URL": "http://user:geheim@127.0.0.1:9/v1",
        "DAY1_CHAT__MODEL": "m",
        "DAY1_CHAT__KEY": key,
    }
    with served(wire, tmp_path / "store", **settings) as engram:
        told = engram.ok("memory_config")
        assert told["config"]["chat"]["has_api_key"] is True
        assert told["config"]["embedder"]["has_api_key"] is False
        text = json.dumps(told)
        for secret in (key, "geheim", "127.0.0.1", str(tmp_path)):
            assert secret not in text
        error = engram.refused("memory_config", "unsupported", action="set")
        assert error["details"]["number"] == 6008
        assert "[6008]" in error["message"]


@pytest.mark.line("S4-010", "S4-011", "S4-012")
def test_an_export_imported_elsewhere_exports_the_same(engram: Session, tmp_path: Path) -> None:
    store(engram, tags="auth, refactor", project="metal", memory_type="bugfix")
    kept = store(engram, **lesson(1))["id"]
    engram.ok("memory_judge", memory_id=kept, score=0.7)
    engram.found("memory_search", query="parser")
    given = {
        "id": "0b6f1e0e-1111-4222-8333-444455556666",
        "memory_type": "pattern",
        "context": "Slow joins",
        "action": "Added an index",
        "result": "Quick",
        "score": 0.25,
        "tags": "sql,index",
        "project": "metal",
        "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-02-01T00:00:00Z",
        "used_count": 4,
        "embedding": None,
        "superseded_by": None,
    }
    done = engram.ok("memory_import", version=1, memories=[given])
    assert (done["imported"], done["skipped"], done["indexed"]) == (1, 0, False)
    assert done["reindex"].startswith("day1 ")
    exported = engram.ok("memory_export")
    assert (exported["version"], exported["count"]) == (1, 3)
    form = set(given) - {"embedding", "superseded_by"}
    assert all(set(memory) == form for memory in exported["memories"])
    (same,) = [m for m in exported["memories"] if m["id"] == given["id"]]
    assert same == {name: given[name] for name in form}
    judged = engram.ok("memory_judge", memory_id=given["id"], score=0.25)
    assert judged["memory_id"] == given["id"]
    with Session(tmp_path / "other", toolsets="engram") as other:
        first = other.ok("memory_import", version=1, memories=exported["memories"])
        assert (first["imported"], first["skipped"]) == (3, 0)
        assert other.ok("memory_export")["memories"] == exported["memories"]
        again = other.ok("memory_import", version=1, memories=exported["memories"])
        assert (again["imported"], again["skipped"]) == (0, 3)


@pytest.mark.parametrize(
    ("version", "memory", "number"),
    [
        (2, {}, 6010),
        (0, {}, 6010),
        (1, {"id": "a"}, None),
        (1, {"id": "a", "created_at": "yesterday", "result": "r"}, None),
        (1, {"id": "a", "created_at": "2025-01-01", "result": " "}, None),
        (1, {"id": "a", "created_at": "2025-01-01", "result": "r", "score": 1.5}, None),
        (1, {"id": "a", "created_at": "2025-01-01", "result": "r", "used_count": -1}, None),
        (1, {"id": "a", "created_at": "2025-01-01", "result": "r", "project": "a:"}, None),
    ],
)
def test_a_broken_import_is_refused_whole(
    calm: Session, version: int, memory: dict[str, Any], number: int | None
) -> None:
    good = {"id": "b", "created_at": "2025-01-01", "result": "r"}
    memories = [good, memory] if memory else [good]
    error = calm.refused("memory_import", "invalid_request", version=version, memories=memories)
    assert error["details"].get("number") == number


@pytest.mark.parametrize(
    "wrong",
    [
        {"context": ""},
        {"context": " \n"},
        {"action": None},
        {"result": "a\0b"},
        {"memory_type": "insight"},
        {"project": "a:\0"},
        {"project": "x" * 300},
        {"tags": "x" * 300},
        {"tags": [1]},
        {"branch": "main"},
    ],
)
def test_a_lesson_that_cannot_be_is_refused(calm: Session, wrong: dict[str, Any]) -> None:
    calm.refused("memory_store", "invalid_request", **{**LESSON, **wrong})
