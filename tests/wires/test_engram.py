"""engram's eleven tools by a real client: over stdio, and over HTTP where that could differ."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_server import MODEL, Answer, ChatServer, document
from tests.lesson_pairs import DIFFERENT
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import ROOT, Session, environment
from tests.wires.test_mcp_context_tokens import tokens

NAMES = """
memory_store memory_search memory_judge memory_status memory_config memory_export memory_import
memory_consolidate_preview memory_consolidate memory_consolidate_apply memory_insights
""".split()  # noqa: SIM905 - one line for each would hide the order
LESSON = {
    "context": "Uploads failed at night",
    "action": "Raised the client timeout to 30 seconds",
    "result": "Uploads pass",
}
WIRES = ["stdio", "http"]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A client of a store to which nothing is written."""
    with Session(tmp_path_factory.mktemp("calm") / "store", toolsets="engram") as session:
        yield session


@pytest.fixture(params=WIRES)
def engram(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """A client of the toolset alone, on a new store, by keywords."""
    folder = tmp_path / "store"
    if request.param == "stdio":
        with Session(folder, toolsets="engram") as session:
            yield session
    else:
        with (
            HttpServer(folder) as server,
            HttpSession(server, path="/mcp/engram") as session,
        ):
            yield session


def store(session: Session, /, **more: Any) -> dict[str, Any]:
    return session.ok("memory_store", **{**LESSON, **more})


def lesson(number: int, **more: Any) -> dict[str, Any]:
    return {
        "context": f"Case {number} of the parser",
        "action": f"Tried variant number {number}",
        "result": f"Outcome {number}",
        **more,
    }


def stripped(exported: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = exported["memories"]
    return found


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
    assert arguments["memory_search"] == ["query", "limit", "project"]
    stored = takes["memory_store"]["properties"]
    assert list(stored) == ["context", "action", "result", "memory_type", "tags", "project"]
    assert "|".join(stored["memory_type"]["enum"]) == types
    assert arguments["memory_judge"] == ["memory_id", "query", "score"]
    assert arguments["memory_consolidate_preview"] == ["stale_days", "min_score"]
    assert arguments["memory_consolidate"] == ["stale_days", "min_score"]
    assert takes["memory_config"]["properties"]["action"]["enum"] == ["get", "set"]
    insights = takes["memory_insights"]["properties"]
    assert insights["action"]["enum"] == ["list", "generate", "delete"]


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
def test_the_configuration_is_read_and_never_set(tmp_path: Path) -> None:
    key = "sk-" + "k" * 30
    settings = {
        "DAY1_CHAT__URL": "http://user:geheim@127.0.0.1:9/v1",
        "DAY1_CHAT__MODEL": "m",
        "DAY1_CHAT__KEY": key,
    }
    with Session(tmp_path / "store", toolsets="engram", **settings) as engram:
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
        assert stripped(other.ok("memory_export")) == stripped(exported)
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
        (1, {"id": "a", "created_at": "2025-01-01", "result": "x" * 32_769}, None),
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
        {"context": "x" * 20_000, "result": "x" * 20_000},
        {"branch": "main"},
    ],
)
def test_a_lesson_that_cannot_be_is_refused(calm: Session, wrong: dict[str, Any]) -> None:
    calm.refused("memory_store", "invalid_request", **{**LESSON, **wrong})


@pytest.mark.line("S4-013", "S4-014")
def test_a_preview_writes_nothing_and_says_the_same_twice(engram: Session) -> None:
    store(engram)
    store(engram, project="metal")
    store(engram, **{**LESSON, "action": LESSON["action"] + "."})  # without a model: another row
    before = engram.everything([])
    first = engram.call("memory_consolidate_preview")
    assert first.document == engram.call("memory_consolidate_preview").document
    assert first.structured["duplicates"] == 1
    planned = engram.ok("memory_consolidate")
    assert planned["degraded"]
    (one,) = planned["recommendations"]
    assert (one["action"], one["confidence"]) == ("merge", 0.9)
    assert planned["digest"] == engram.ok("memory_consolidate")["digest"]
    assert engram.everything([]) == before


@pytest.mark.line("S4-015")
def test_applying_is_one_commit_and_a_revert_brings_all_back(engram: Session) -> None:
    for number in range(4):
        store(engram, **lesson(number))
    store(engram)
    store(engram, **{**LESSON, "result": LESSON["result"] + "."})
    before = engram.ok("memory_export")["memories"]
    old = {"stale_days": 0}
    plan = engram.ok("memory_consolidate", **old)
    assert {one["action"] for one in plan["recommendations"]} == {"merge", "archive"}
    engram.refused("memory_consolidate_apply", "refused", **old)
    engram.refused("memory_consolidate_apply", "plan_changed", expect=plan["digest"])
    least = {"min_confidence": 0.8}
    done = engram.ok("memory_consolidate_apply", expect=plan["digest"], **old, **least)
    assert (done["merged"], done["archived"], done["deleted"]) == (1, 0, 0)
    assert engram.ok("memory_export")["count"] == 5
    with Session(engram.folder) as day1:
        day1.ok("memory_revert", commit=done["written"]["commit"])
    assert engram.ok("memory_export")["memories"] == before
    rest = engram.ok("memory_consolidate", **old)
    whole = engram.ok("memory_consolidate_apply", expect=rest["digest"], **old)
    assert (whole["merged"], whole["archived"]) == (1, 5)


def test_a_relation_to_a_row_that_is_gone_is_garbage(engram: Session) -> None:
    kept = store(engram)["id"]
    for number in range(3):
        store(engram, **lesson(number))
    gone = store(engram, **lesson(7))["id"]
    with Session(engram.folder) as day1:
        for end in (gone, kept, "an entity"):
            day1.ok(
                "memory_write_relation",
                source_entity=kept,
                target_entity=end,
                relation_type="leads_to",
            )
        day1.ok("memory_retract_fact", fact_id=gone)
    assert engram.ok("memory_consolidate_preview")["garbage"] == 1
    done = engram.ok("memory_consolidate_apply")
    assert (done["merged"], done["archived"], done["deleted"]) == (0, 0, 1)
    assert engram.ok("memory_consolidate_preview")["garbage"] == 0


@pytest.mark.line("S4-016", "S4-017")
def test_insights_name_their_lessons_and_never_feed_on_themselves(engram: Session) -> None:
    cause = "Renewed the token before it expired"
    ids = [
        store(engram, memory_type="bugfix", **lesson(number, action=cause))["id"]
        for number in range(3)
    ]
    made = engram.ok("memory_insights", action="generate")
    (insight,) = made["insights"]
    assert sorted(insight["source_ids"]) == sorted(ids)
    assert insight["memory_type"] == "insight"
    assert cause in insight["text"]
    for _ in range(3):
        again = engram.ok("memory_insights", action="generate")
        assert (again["generated"], again["replaced"]) == (0, 0)
        assert again["insights"] == made["insights"]
    ids.append(store(engram, memory_type="bugfix", **lesson(9, action=cause))["id"])
    newer = engram.ok("memory_insights", action="generate")
    assert (newer["generated"], newer["replaced"]) == (1, 1)
    (insight,) = engram.ok("memory_insights")["insights"]
    assert sorted(insight["source_ids"]) == sorted(ids)
    engram.refused("memory_insights", "refused", action="delete", id=ids[0])
    engram.refused("memory_insights", "not_found", action="delete", id="fact_0")
    engram.refused("memory_insights", "invalid_request", action="delete")
    gone = engram.ok("memory_insights", action="delete", id=insight["id"])
    assert gone["insights"] == []
    with Session(engram.folder) as day1:
        day1.ok("memory_revert", commit=gone["written"]["commit"])
    assert engram.ok("memory_insights")["insights"] == [insight]


@pytest.mark.line("S4-002")
@pytest.mark.parametrize("wire", WIRES)
def test_only_what_differs_in_wording_is_one_lesson(wire: str, tmp_path: Path) -> None:
    """With the real model: the sixteen pairs stay 32 rows, a full stop makes no second one."""
    folder = tmp_path / "store"
    if wire == "stdio":
        with Session(folder, toolsets="engram", DAY1_EMBEDDER__KIND="minilm") as session:
            stay_apart(session)
    else:
        with (
            HttpServer(folder, DAY1_EMBEDDER__KIND="minilm") as server,
            HttpSession(server, path="/mcp/engram") as session,
        ):
            stay_apart(session)


def stay_apart(engram: Session) -> None:
    for pair in DIFFERENT:
        for one in pair:
            parts = {"context": one.context, "action": one.action, "result": one.result}
            assert not engram.ok("memory_store", **parts)["deduplicated"]
    assert engram.ok("memory_status")["memory_count"] == 32
    first = store(engram)
    again = store(engram, action=LESSON["action"] + ".")
    assert (again["id"], again["updated"]) == (first["id"], True)
    assert again["merged_into"] == first["id"]
    assert store(engram, action=LESSON["action"] + ".")["updated"] is False
    assert store(engram, project="metal")["id"] != first["id"]
    assert store(engram, memory_type="pattern")["id"] != first["id"]
    with Session(engram.folder) as day1:
        shown = json.dumps(day1.ok("memory_history", id=first["id"]))
    assert f"{LESSON['action']}." in shown
    assert f"{LESSON['action']}\\\\n" in shown or f"{LESSON['action']}\\n" in shown


STORING = """
import sys
from tests.wires.mcp_session import Session
from pathlib import Path
from tests.wires.test_engram import LESSON
with Session(Path(sys.argv[1]), toolsets="engram") as session:
    print(len({session.ok("memory_store", **LESSON)["id"] for _ in range(50)}))
"""


def test_processes_that_store_the_same_at_once_make_one_row(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with Session(folder, toolsets="engram") as engram:
        begun = [
            subprocess.Popen(
                [sys.executable, "-c", STORING, str(folder)],
                cwd=ROOT,
                env=environment(folder),
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        told = [process.communicate(timeout=300)[0] for process in begun]
        assert told == ["1\n"] * 2
        assert engram.ok("memory_status")["memory_count"] == 1


@pytest.mark.line("S4-007")
def test_votes_lift_a_memory_and_not_too_far(tmp_path: Path) -> None:
    with Session(tmp_path / "store", toolsets="engram") as engram:
        store(engram, **lesson(1, context="The parser and the lexer and the printer"))
        store(engram, **lesson(2, context="The parser"))
        query = "parser lexer printer"
        _, other = engram.found("memory_search", query=query)
        engram.ok("memory_judge", memory_id=other["id"], query=query, score=1.0)
        found = engram.found("memory_search", query=query)
        (lifted,) = [hit for hit in found if hit["id"] == other["id"]]
        gained = lifted["score"] - other["score"]
        assert 0 < gained <= 0.15 * (1 - other["score"]) + 1e-6


def test_on_a_branch_only_that_branch_is_consolidated_until_it_is_merged(tmp_path: Path) -> None:
    with Session(tmp_path / "store", toolsets="engram") as engram:
        for number in range(4):
            store(engram, **lesson(number))
        store(engram)
        store(engram, **{**LESSON, "result": LESSON["result"] + "."})
        with Session(engram.folder) as day1:
            day1.ok("memory_branch_create", branch_name="try")
            there = {"day1/branch": "try"}
            done = engram.call("memory_consolidate_apply", {}, meta=there)
            assert done.structured["written"]["branch"] == "try"
            assert done.structured["merged"] == 1
            assert engram.ok("memory_export")["count"] == 6
            review = day1.ok("review_open", source_branch="try")
            day1.ok("review_merge", review_id=review["id"])
        assert engram.ok("memory_export")["count"] == 5


def test_a_model_that_fails_on_a_group_leaves_the_others_their_recommendations(
    tmp_path: Path,
) -> None:
    def answer(asked: dict[str, Any]) -> Answer:
        if "Case 3" in str(document(asked)):
            return 500, {}, b""
        said = {"action": "merge", "best": 0, "confidence": 0.6, "reason": "They are one."}
        content = {"choices": [{"message": {"content": json.dumps(said)}}]}
        return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()

    with ChatServer().serving() as model:
        model.answer = answer
        settings = {"URL": model.url, "MODEL": MODEL, "TRIES": "1", "TIMEOUT_S": "5"}
        env = {f"DAY1_CHAT__{name}": value for name, value in settings.items()}
        with Session(tmp_path / "store", toolsets="engram", **env) as engram:
            for number in range(1, 5):
                for dot in ("", "."):
                    given = lesson(number)
                    store(engram, **{**given, "result": given["result"] + dot})
            plan = engram.ok("memory_consolidate")
            assert not plan["degraded"]
            assert len(plan["recommendations"]) == 3
            assert {one["confidence"] for one in plan["recommendations"]} == {0.6}
            (error,) = plan["errors"]
            assert error["code"] == "chat_unavailable"
            assert len(error["ids"]) == 2
            asked = len(model.asked)
            done = engram.ok("memory_consolidate_apply", expect=plan["digest"])
            assert done["merged"] == 3
            assert len(model.asked) == asked, "the plan that was seen is done, not another one"
