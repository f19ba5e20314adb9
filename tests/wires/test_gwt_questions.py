"""Questions by gwt's tools: attending, resolving, the trace and the bus, over stdio and HTTP."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import day1
from tests.wires.gwt_session import GwtSession, HttpGwtSession, served
from tests.wires.http_server import STDIO_DAILY, HttpServer

ROOT = Path(day1.__file__).parents[1]
PLANNERS = ["auto", "generic", "semantic", "structured", "graph", "hybrid"]
OTHERS = [
    f"{who} {did}."
    for who in ("Ann", "Ben", "Cleo", "Dan")
    for did in ("baked", "sang", "swam", "ran")
]
"""Notes about something else: a word tells more where few notes have it."""
UPLOAD = "Uploads of Kestrel wait for the lock of a mirror."
QUESTION = "Why do uploads of Kestrel wait?"


@pytest.fixture(params=STDIO_DAILY)
def gwt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GwtSession]:
    with served(request.param, tmp_path / "store") as session:
        for note in OTHERS:
            session.store(note)
        yield session


def places(session: GwtSession) -> set[str]:
    return {item["id"] for item in session.ok("gwt_inspect")["items"]}


@pytest.mark.line("S0-009", "S0-013", "S0-014")
def test_a_question_becomes_the_goal_and_its_evidence_is_broadcast(gwt: GwtSession) -> None:
    row_id = gwt.store(UPLOAD)
    attended = gwt.ok("gwt_attend", question=QUESTION, keywords=["lock"])
    assert (attended["question"], attended["planner"], attended["admit"]) == (
        *(QUESTION, "auto"),
        True,
    )
    assert attended["supported_planners"] == PLANNERS
    assert (attended["passes_requested"], attended["passes_completed"]) == (1, 1)
    plan = attended["evidence_plan"]
    assert set(plan) == {"strategy", "answer", "queries", "evidence", "metadata"}
    assert plan["queries"] == [f"{QUESTION} lock"]
    assert plan["evidence"][0] == UPLOAD
    assert plan["answer"] == ""
    assert attended["tool_call_count"] == len(attended["trace"]["calls"])
    assert attended["trace"]["calls"][-2:] == ["broadcast", "bus"]
    assert attended["read"]["branch"] == "main"
    assert row_id in attended["admitted_ids"]
    assert f"Goal: {QUESTION}" in attended["broadcast"]["text"]
    assert [item["id"] for item in attended["workspace"]] == [row_id]
    assert places(gwt) == {row_id}
    goal, *_ = reversed(gwt.ok("gwt_inspect", target="goals")["goals"])
    assert (goal["description"], goal["keywords"], goal["status"]) == (QUESTION, ["lock"], "active")
    gwt.ok("gwt_attend", question=QUESTION, keywords=["lock"])
    assert len(gwt.ok("gwt_inspect", target="goals")["goals"]) == 1, "it was asked again"


@pytest.mark.line("S0-015")
def test_without_admit_only_the_trace_changes(gwt: GwtSession) -> None:
    gwt.store(UPLOAD)
    before = {target: gwt.ok("gwt_inspect", target=target) for target in ("buffer", "goals")}
    attended = gwt.ok("gwt_attend", question=QUESTION, admit=False, passes=3)
    assert (attended["broadcast"], attended["admitted_ids"]) == (None, [])
    assert attended["evidence_plan"]["evidence"][0] == UPLOAD
    assert {target: gwt.ok("gwt_inspect", target=target) for target in before} == before
    assert places(gwt) == set()
    explained = gwt.ok("gwt_trace_explain")
    assert explained["question"] == QUESTION
    assert "admit was false" in explained["explanation"]
    assert set(explained["trace"]["calls"]) <= {"search", "links"}


def test_each_pass_searches_with_what_was_found_until_nothing_is_new(gwt: GwtSession) -> None:
    gwt.store(UPLOAD)
    mirror = gwt.store("That mirror was bought from Hale.")
    first = gwt.ok("gwt_attend", question=QUESTION, k=1, planner="semantic")
    assert mirror not in first["admitted_ids"]
    further = gwt.ok("gwt_attend", question=QUESTION, k=2, passes=10, planner="semantic")
    assert mirror in further["admitted_ids"]
    assert 1 < further["passes_completed"] < 10
    assert further["evidence_plan"]["queries"][1] in {UPLOAD, "That mirror was bought from Hale."}
    searches = [call for call in further["trace"]["calls"] if call == "search"]
    assert len(searches) == len(further["evidence_plan"]["queries"])


def test_linked_memories_enter_without_a_word_of_the_question(gwt: GwtSession) -> None:
    first = gwt.store(UPLOAD)
    second = gwt.store("Selm was moved to Porto.", link_to=first)
    third = gwt.store("Ines keeps bees.", link_to=second)
    alone = gwt.store("Omar paints boats.")
    question = "Why do uploads of Kestrel wait for the lock of a mirror?"
    gwt.ok("gwt_attend", question=question, planner="semantic")
    gwt.ok("gwt_broadcast")
    assert {first, second, third} <= places(gwt)
    assert alone not in places(gwt)


@pytest.mark.line("S0-010", "S0-014")
@pytest.mark.parametrize("planner", PLANNERS)
def test_each_planner_looks_in_its_own_way(gwt: GwtSession, planner: str) -> None:
    ada = gwt.store("name: Ada\nport: 8443")
    gwt.store("name: Bo\nport: 9000")
    far = gwt.store("Her desk is green.", link_to=ada)
    resolved = gwt.ok("gwt_resolve", question="What is the port of Ada?", planner=planner)
    plan = resolved["evidence_plan"]
    assert (resolved["question"], resolved["planner"]) == ("What is the port of Ada?", planner)
    assert plan["answer"] == ("" if planner == "generic" else "8443")
    assert plan["evidence"][0] == "name: Ada port: 8443"
    assert resolved["context_count"] == len(plan["evidence"])
    assert (far in plan["metadata"]["evidence_ids"]) == (planner in {"auto", "graph", "hybrid"})
    assert {*plan["metadata"]["calls"]} == {
        "auto": {"search", "links"},
        "generic": {"search"},
        "semantic": {"search"},
        "structured": {"collection"},
        "graph": {"search", "links"},
        "hybrid": {"collection", "search", "links"},
    }[planner]
    assert places(gwt) == set()


@pytest.mark.line("S0-010")
def test_an_answer_is_exact_or_empty(gwt: GwtSession) -> None:
    gwt.store("Ada's port was changed in May.")
    for planner in PLANNERS:
        plan = gwt.ok("gwt_resolve", question="What is the port of Ada?", planner=planner)
        assert plan["evidence_plan"]["answer"] == ""
    for number in (0.1, 0.2):
        gwt.store(json.dumps({"kind": "zorp", "weight": number}))
    plan = gwt.ok("gwt_resolve", question="What is the average weight?")["evidence_plan"]
    assert (plan["answer"], plan["strategy"]) == ("0.15", "structured")
    assert plan["metadata"]["operation"] == "average"
    attended = gwt.ok("gwt_attend", question="What is the average weight?")
    assert attended["evidence_plan"]["answer"] == "0.15"
    assert attended["context_count"] == len(attended["evidence_plan"]["evidence"]) == 2
    assert attended["admitted_ids"] == attended["evidence_plan"]["metadata"]["evidence_ids"]


@pytest.mark.line("S0-013")
@pytest.mark.parametrize("tool", ["gwt_attend", "gwt_resolve"])
def test_what_cannot_be_asked_is_refused(gwt: GwtSession, tool: str) -> None:
    refused = gwt.refused(tool, "invalid_request", question=QUESTION, planner="magic")
    assert refused["supported_planners"] == PLANNERS
    for arguments in ({"question": ""}, {"question": "a" * 32_768}, {"question": "x", "k": 0}):
        gwt.refused(tool, "invalid_request", **arguments)
    gwt.refused(tool, "invalid_request", question="x", k=201)
    if tool == "gwt_attend":
        for passes in (0, 11, 1.5):
            gwt.refused(tool, "invalid_request", question="x", passes=passes)


def test_long_questions_in_any_script_are_attended_to_again_and_again(gwt: GwtSession) -> None:
    for number in range(12):
        gwt.ok("gwt_attend", question=f"{number} " + "界" * 1_990)
    *_, newest = gwt.ok("gwt_inspect", target="goals")["goals"]
    assert newest["description"].startswith("11 ")
    assert newest["status"] == "active"


def test_who_may_only_read_attends_and_writes_no_memory(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store", DAY1_EMBEDDER__KIND="none") as server:
        admin = server.token("boss")
        read = server.token("reader", "read", admin)
        with (
            HttpGwtSession(server, path="/mcp/gwt", token=admin) as boss,
            HttpGwtSession(server, path="/mcp/gwt", token=read) as reader,
        ):
            for note in (*OTHERS, UPLOAD):
                boss.store(note)
            before = reader.everything([])
            attended = reader.ok("gwt_attend", question=QUESTION, passes=3)
            assert attended["admitted_ids"]
            reader.ok("gwt_broadcast")
            assert reader.ok("gwt_trace_explain")["question"] == QUESTION
            after = reader.everything([])
            changed = {name for name in before if before[name] != after[name]}
            assert changed == {"desks"}
            assert boss.ok("gwt_trace_explain")["status"] == "no_trace"


@pytest.mark.line("S0-016")
def test_a_trace_tells_what_was_done(gwt: GwtSession) -> None:
    assert set(gwt.ok("gwt_trace_explain")) == {"status", "message"}
    row_id = gwt.store("name: Ada\nport: 8443")
    attended = gwt.ok("gwt_attend", question="What is the port of Ada?")
    explained = gwt.ok("gwt_trace_explain")
    assert set(explained) == {
        *("status", "question", "planner", "strategy", "answer", "pass_count", "tool_call_count"),
        *("phases", "broadcast_bus", "explanation", "trace"),
    }
    assert (explained["answer"], explained["pass_count"]) == ("8443", 1)
    assert explained["trace"] == attended["trace"]
    assert explained["tool_call_count"] == attended["tool_call_count"]
    assert [each["phase"] for each in explained["phases"]] == [
        "search",
        "admit",
        "broadcast",
        "bus",
    ]
    assert explained["phases"][0]["item_ids"][0] == row_id
    assert "by lookup" in explained["explanation"]


def test_an_answer_that_may_not_be_shown_is_gone_from_the_trace(tmp_path: Path) -> None:
    with GwtSession(
        tmp_path / "store", toolsets="core,review,gwt", DAY1_EMBEDDER__KIND="none"
    ) as session:
        row_id = session.ok("memory_write_fact", fact_text="name: Ada\nport: 8443")["id"]
        session.ok("gwt_attend", question="What is the port of Ada?")
        assert session.ok("gwt_trace_explain")["answer"] == "8443"
        session.ok("memory_update_fact", fact_id=row_id, sensitivity="secret")
        explained = session.ok("gwt_trace_explain")
        assert explained["answer"] == ""
        assert "not visible any more" in explained["explanation"]
        assert "8443" not in str(explained) + str(session.ok("gwt_bus_inspect"))


@pytest.mark.line("S0-017", "S0-021", "S0-022")
def test_a_contradiction_is_flagged_by_the_bus(gwt: GwtSession) -> None:
    idle = gwt.ok("gwt_bus_inspect")
    assert (idle["status"], idle["summary"], idle["broadcast_bus"]["result"]) == ("idle", {}, None)
    ids = sorted(gwt.store(f"The client of Kestrel waits {n} s.") for n in (30, 60))
    done = gwt.ok("gwt_attend", question="How long does the client of Kestrel wait?")
    assert "contradict each other" in done["broadcast"]["text"]
    inspected = gwt.ok("gwt_bus_inspect")
    bus, result = inspected["broadcast_bus"], inspected["broadcast_bus"]["result"]
    assert bus["subscribers"] == ["recall", "exact", "contradiction", "gap"]
    assert bus["settings"]["accept_threshold"] == 0.5
    assert set(result) == {
        *("proposals", "accepted", "inhibited", "decisions", "summary", "proposal_groups"),
        "subscriber_reports",
    }
    (decision,) = result["decisions"]
    assert (decision["status"], decision["reason"]) == ("accepted", "accepted")
    assert decision["proposal"]["action"] == "flag_contradiction"
    assert decision["proposal"]["item_ids"] == ids
    assert bus["contradictions"] == [ids]
    assert inspected["summary"]["subscriber_status_counts"] == {"ok": 4}
    assert gwt.ok("gwt_inspect", target="broadcast_bus")["broadcast_bus"] == bus


@pytest.mark.line("S0-023", "S0-024")
def test_the_bus_tells_why_a_proposal_is_not_accepted(gwt: GwtSession) -> None:
    record = gwt.store("name: Kestrel\nport: 8443")
    linked = [gwt.store(f"Heron {n} nests.", link_to=record) for n in range(3)]
    question = "What is the port of Kestrel?"
    seen: set[str] = set()
    reactivated: set[str] = set()
    for _ in range(4):
        gwt.ok("gwt_attend", question=question, k=1, planner="semantic")
        shown = gwt.ok("gwt_bus_inspect")["broadcast_bus"]
        result = shown["result"]
        seen |= {decision["reason"] for decision in result["decisions"]}
        assert len(result["decisions"]) == len(result["accepted"]) + len(result["inhibited"])
        gwt.ok("gwt_set_goal", description="Where do herons of Kestrel nest?", priority=2.0)
        gwt.ok("gwt_broadcast")
        shown = gwt.ok("gwt_bus_inspect")["broadcast_bus"]
        reactivated |= {each["id"] for each in shown["reactivations"]}
        seen |= {decision["reason"] for decision in shown["result"]["decisions"]}
    assert {"accepted", "resolved_answer_present"} <= seen  # the others: test_workspace_bus.py
    assert reactivated <= {*linked, record}


def test_an_agents_question_stands_beside_the_goal_of_its_task(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"DAY1_EMBEDDER__KIND": "none", "DAY1_AGENT_ID": "ada"}
    with GwtSession(tmp_path / "store", toolsets="core,gwt", **settings) as session:
        task = session.ok(
            "memory_task_create",
            name="mend",
            task_type="bug_fix",
            objectives=[{"description": "Find the owner of Osprey"}],
        )
        joined = session.ok("memory_task_join", task_id=task["task_id"], agent_id="ada")
        session.ok("memory_branch_switch", branch_name=joined["branch_name"])
        session.ok("gwt_set_goal", description="Mend the uploads of Kestrel.")
        session.store(UPLOAD)
        done = session.ok("gwt_attend", question=QUESTION)
        assert done["broadcast"]["goal"]["description"] == "Mend the uploads of Kestrel."
        bus = session.ok("gwt_bus_inspect")["broadcast_bus"]
        assert bus["gaps"] == [{"objective": 0, "description": "Find the owner of Osprey"}]


def test_redacting_cleans_the_goal_and_the_question_that_quote_a_memory(tmp_path: Path) -> None:
    folder, said = tmp_path / "store", 'The "PIN" of Ada\nis plover exactly, and no other.'
    with GwtSession(folder, toolsets="core,review,gwt", DAY1_EMBEDDER__KIND="none") as session:
        row_id = session.ok("memory_write_fact", fact_text=said)["id"]
        session.ok("gwt_set_goal", description=f"Check this: {said}")
        session.ok("gwt_attend", question=f"Is it true? {said}")
        assert "plover" in str(session.ok("gwt_trace_explain"))
        session.ok("memory_redact", id=row_id, confirm=row_id)
        shown = str(session.ok("gwt_inspect", target="goals")) + str(
            session.ok("gwt_trace_explain")
        )
        assert "plover" not in shown
        assert "plover" not in str(session.ok("gwt_broadcast"))
    assert b"plover" not in (folder / "ledger.db").read_bytes()


SLOW_AND_BROKEN = """
import time
from pathlib import Path
from day1.services.workspace import bus

def asleep(scene, stopped):
    while not Path({released!r}).exists():
        time.sleep(0.01)
    return []

def broken(scene, stopped):
    raise RuntimeError("words that no log may hold")

bus.SUBSCRIBERS |= {{"asleep": asleep, "broken": broken}}
"""
"""What a server process runs before it serves."""


@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_a_broadcast_does_not_wait_for_slow_subscribers(wire: str, tmp_path: Path) -> None:
    released = tmp_path / "released"
    code = SLOW_AND_BROKEN.format(released=str(released))
    (tmp_path / "sitecustomize.py").write_text(code, encoding="utf-8")
    folder = tmp_path / "store"
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    settings: dict[str, Any] = {"PYTHONPATH": path, "DAY1_EMBEDDER__KIND": "none"}
    with ExitStack() as entered:
        session = GwtSession(folder, toolsets="gwt", **settings)
        if wire != "stdio":
            server = HttpServer(folder, **settings)
            server.command = [sys.executable]
            entered.enter_context(server)
            session = HttpGwtSession(server, path="/mcp/gwt")
        session.command = [sys.executable]
        entered.enter_context(session)
        session.store("Herons fish.")
        cycles = []
        for _ in range(4):
            session.ok("gwt_broadcast")
            reports = session.ok("gwt_bus_inspect")["broadcast_bus"]["result"]["subscriber_reports"]
            cycles.append({each["subscriber"]: each["status"] for each in reports})
        assert not released.exists(), "a subscriber ended by itself"
        others = dict.fromkeys(("recall", "exact", "contradiction", "gap"), "ok")
        late = others | {"asleep": "timeout", "broken": "error"}
        assert cycles == [*[late] * 3, others | dict.fromkeys(("asleep", "broken"), "circuit_open")]
        released.touch()
    log = folder.with_suffix(".log" if wire == "stdio" else ".http.log").read_text(encoding="utf-8")
    assert "RuntimeError" in log
    assert "no log may hold" not in log


def test_the_ids_of_hidden_memories_are_gone_from_the_trace_and_the_bus(tmp_path: Path) -> None:
    with GwtSession(
        tmp_path / "store", toolsets="core,review,gwt", DAY1_EMBEDDER__KIND="none"
    ) as session:
        one, other = (session.store(f"The client of Kestrel waits {n} s.") for n in (30, 60))
        port = session.store("name: Kestrel\nport: 8443")
        linked = session.store("Herons nest.", link_to=one)
        questions = ("How long does the client of Kestrel wait?", "What is the port of Kestrel?")
        for question, hidden in zip(questions, ((one, linked), (port,)), strict=True):
            session.ok("gwt_attend", question=question)
            told = str(session.ok("gwt_trace_explain"))
            assert all(row_id in told for row_id in hidden), told
            count = len(session.ok("gwt_trace_explain")["phases"])
            for row_id in hidden:
                session.ok("memory_update_fact", fact_id=row_id, sensitivity="secret")
            explained = session.ok("gwt_trace_explain")
            told = str(explained) + str(session.ok("gwt_bus_inspect"))
            assert not [row_id for row_id in hidden if row_id in told]
            assert other in told
            assert len(explained["phases"]) == count
