"""Lessons kept in order by a real client: duplicates, votes, consolidation, insights."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_server import MODEL, Answer, ChatServer, document
from tests.lesson_pairs import DIFFERENT, REPHRASED
from tests.wires.engram_session import LESSON, lesson, served, store
from tests.wires.http_server import STDIO_DAILY
from tests.wires.mcp_session import Session


@pytest.fixture(params=STDIO_DAILY)
def engram(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with served(request.param, tmp_path / "store") as session:
        yield session


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
@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_only_what_differs_in_wording_is_one_lesson(wire: str, tmp_path: Path) -> None:
    """With the real model: the sixteen pairs stay 32 rows, a full stop makes no second one."""
    with served(wire, tmp_path / "store", "minilm") as session:
        stay_apart(session)


def stay_apart(engram: Session) -> None:
    for pair in DIFFERENT:
        for one in pair:
            assert not engram.ok("memory_store", **asdict(one))["deduplicated"]
    assert engram.ok("memory_status")["memory_count"] == 32
    for pair in REPHRASED:
        said, again = (engram.ok("memory_store", **asdict(one), project="wood") for one in pair)
        assert said["id"] in {again.get("merged_into"), again.get("near_duplicate_of")}
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


def test_on_a_branch_only_that_branch_is_consolidated_until_it_is_merged(engram: Session) -> None:
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


@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_a_model_that_fails_on_a_group_leaves_the_others_their_recommendations(
    wire: str,
    tmp_path: Path,
) -> None:
    def answer(asked: dict[str, Any]) -> Answer:
        if "Case 3" in str(document(asked)):
            time.sleep(3)  # longer than is waited
        said = {"action": "merge", "best": 0, "confidence": 0.6, "reason": "They are one."}
        content = {"choices": [{"message": {"content": json.dumps(said)}}]}
        return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()

    with ChatServer().serving() as model:
        model.answer = answer
        settings = {"URL": model.url, "MODEL": MODEL, "TRIES": "1", "TIMEOUT_S": "1"}
        env = {f"DAY1_CHAT__{name}": value for name, value in settings.items()}
        with served(wire, tmp_path / "store", **env) as engram:
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
