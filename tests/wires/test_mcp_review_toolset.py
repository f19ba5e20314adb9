"""The review toolset over MCP: correct, supersede, retract, decide; apart from the seed's tools."""

from typing import Any

import pytest

from tests.wires.conftest import Fork
from tests.wires.mcp_session import ISO, Session

NULLABLE = "string|null = null"
ORIGIN = dict.fromkeys(("agent_id", "session_id", "task_id"), NULLABLE)
REVIEW = [
    "memory_update_fact",
    "memory_supersede_fact",
    "memory_retract_fact",
    "memory_remove",
    "memory_restore",
    "memory_redact",
    "memory_merge_preview",
    "memory_held",
    "review_approve",
    "review_open",
    "review_list",
    "review_show",
    "review_decide",
    "review_merge",
    "review_close",
    "memory_branch_protect",
    "memory_history",
    "memory_blame",
    "memory_revert",
    "memory_branch_archive",
    "memory_branch_revive",
    "memory_branch_delete",
    "knowledge_bundle_deprecate",
    "memory_template_deprecate",
]


def write(core: Session, branch: str, text: str = "Ada drinks tea.", **more: Any) -> str:
    made: str = core.ok("memory_write_fact", fact_text=text, branch=branch, **more)["id"]
    return made


def fact(core: Session, branch: str, fact_id: str) -> dict[str, Any]:
    diff = core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
    rows: list[dict[str, Any]] = [row for row in diff["new_facts"] if row["id"] == fact_id]
    (row,) = rows
    return row


def held(core: Session, branch: str, **given: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = core.ok("memory_held", branch=branch, **given)["items"]
    return items


@pytest.mark.line("S1-089")
def test_review_tools_stand_apart_and_take_what_they_need(core: Session) -> None:
    assert list(core.tools)[-len(REVIEW) :] == REVIEW
    confidence = "number|null 0..1 = null"
    assert core.takes("memory_update_fact") == {
        "fact_id": "string!",
        "fact_text": NULLABLE,
        "category": NULLABLE,
        "confidence": confidence,
        "happened_at": NULLABLE,
        "valid_until": NULLABLE,
        "space": NULLABLE,
        "expires_at": NULLABLE,
        "sensitivity": "secret|public|null = null",
        "expect_revision": NULLABLE,
        "reason": NULLABLE,
        "branch": NULLABLE,
        **ORIGIN,
    }
    assert core.takes("memory_supersede_fact") == {
        "fact_id": "string!",
        "fact_text": "string!",
        "category": NULLABLE,
        "confidence": confidence,
        "happened_at": NULLABLE,
        "valid_until": NULLABLE,
        "keep_valid_time": "boolean|null = false",
        "reason": NULLABLE,
        "branch": NULLABLE,
        **ORIGIN,
    }
    assert core.takes("memory_retract_fact") == {
        "fact_id": "string!",
        "reason": NULLABLE,
        "branch": NULLABLE,
        **ORIGIN,
    }
    assert core.takes("memory_held") == {
        "action": 'list|take|edit|dismiss|null = "list"',
        "id": NULLABLE,
        "value": "object|null = null",
        "branch": NULLABLE,
        **ORIGIN,
    }
    preview, merge = core.takes("memory_merge_preview"), core.takes("memory_branch_merge")
    assert preview.pop("hold_duplicates") == "boolean|null = false"
    assert preview.pop("strategy") == 'auto|cherry_pick|squash|null = "auto"'
    assert preview.items() <= merge.items()


@pytest.mark.line("S1-089")
def test_a_fact_is_corrected_in_place(core: Session, branch: str) -> None:
    row_id = write(core, branch, category="preference")
    before = fact(core, branch, row_id)
    done = core.ok(
        "memory_update_fact",
        fact_id=row_id,
        fact_text="Ada drinks mate.",
        confidence=0.5,
        happened_at="2026-05-01",
        expect_revision=before["revision"],
        reason="she said so",
        branch=branch,
    )
    assert set(done) == {"id", "revision", "updated_at", "decides_held", "closed", "written"}
    assert (done["id"], done["decides_held"], done["closed"]) == (row_id, False, [])
    assert ISO.fullmatch(done["updated_at"])
    after = fact(core, branch, row_id)
    assert after == {
        **before,
        "fact_text": "Ada drinks mate.",
        "confidence": 0.5,
        "happened_at": "2026-05-01T00:00:00.000000+00:00",
        "revision": done["revision"],
    }
    assert done["revision"] != before["revision"]
    (hit,) = core.found("memory_search", query="mate", search_type="keyword", branch=branch)
    assert (hit["id"], hit["revision"]) == (row_id, done["revision"])
    assert core.found("memory_search", query="tea", search_type="keyword", branch=branch) == []


@pytest.mark.line("S1-089")
def test_a_correction_that_missed_another_is_refused(core: Session, branch: str) -> None:
    row_id = write(core, branch)
    seen = fact(core, branch, row_id)["revision"]
    core.ok("memory_update_fact", fact_id=row_id, category="drinks", branch=branch)
    now = fact(core, branch, row_id)["revision"]
    error = core.refused(
        "memory_update_fact",
        "revision_changed",
        fact_id=row_id,
        fact_text="Ada drinks mate.",
        expect_revision=seen,
        branch=branch,
    )
    assert error["details"] == {"id": row_id, "revision": now}


@pytest.mark.line("S1-089")
def test_a_superseded_fact_stays_but_is_not_found(core: Session, branch: str) -> None:
    old = write(core, branch, category="preference")
    done = core.ok(
        "memory_supersede_fact", fact_id=old, fact_text="Ada drinks coffee tea.", branch=branch
    )
    assert set(done) == {"id", "superseded", "created_at", "decides_held", "written"}
    assert done["superseded"] == old
    assert fact(core, branch, done["id"])["category"] == "preference", "the old one's"
    assert fact(core, branch, old)["status"] == "superseded"
    assert fact(core, branch, old)["superseded_by"] == done["id"]

    def found(**given: Any) -> set[str]:
        hits = core.found(
            "memory_search", query="tea", search_type="keyword", branch=branch, **given
        )
        return {hit["id"] for hit in hits}

    assert found() == {done["id"]}
    assert found(include_inactive=True) == {old, done["id"]}
    error = core.refused(
        "memory_supersede_fact", "refused", fact_id=old, fact_text="Again.", branch=branch
    )
    assert error["details"]["superseded_by"] == done["id"]


@pytest.mark.line("S1-089")
@pytest.mark.parametrize("kind", ["fact", "observation", "relation"])
def test_any_memory_is_retracted_and_can_be_brought_back(
    core: Session, branch: str, kind: str
) -> None:
    arguments: dict[str, dict[str, str]] = {
        "fact": {"fact_text": "Ada."},
        "observation": {"observation_type": "error", "summary": "Ada."},
        "relation": {"source_entity": "Ada", "relation_type": "is", "target_entity": "here"},
    }
    row_id = core.ok(f"memory_write_{kind}", branch=branch, **arguments[kind])["id"]

    def rows() -> int:
        diff = core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
        return sum(len(diff[f"new_{name}s"]) for name in arguments)

    done = core.ok("memory_retract_fact", fact_id=row_id, reason="wrong", branch=branch)
    assert set(done) == {"id", "retracted_at", "restore", "written"}
    assert (done["id"], rows()) == (row_id, 0)
    core.ok("memory_restore", **done["restore"])
    assert rows() == 1


@pytest.mark.line("S1-089")
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("memory_update_fact", {"category": "x"}),
        ("memory_supersede_fact", {"fact_text": "x"}),
        ("memory_retract_fact", {}),
    ],
)
def test_a_fact_of_another_branch_is_not_touched(
    core: Session, branch: str, fork: Fork, tool: str, more: dict[str, str]
) -> None:
    other = fork()
    row_id = write(core, other)
    before = core.everything([other])
    error = core.refused(tool, "not_found", fact_id=row_id, branch=branch, **more)
    assert error["details"] == {"id": row_id, "branch": branch}
    assert core.everything([other]) == before
    for unknown in ("fact_nobody", "nonsense", "branch_1", "held_1"):
        core.refused(tool, "not_found", fact_id=unknown, branch=branch, **more)


@pytest.mark.line("S1-012", "S1-089")
@pytest.mark.parametrize(
    "given", [{}, {"fact_text": ""}, {"confidence": 2}, {"happened_at": "soon"}, {"category": None}]
)
def test_an_unsound_correction_is_refused(
    core: Session, branch: str, given: dict[str, Any]
) -> None:
    row_id = write(core, branch)
    core.refused("memory_update_fact", "invalid_request", fact_id=row_id, branch=branch, **given)


@pytest.fixture
def torn(core: Session, branch: str, fork: Fork) -> tuple[str, str, str]:
    """A target with one held text, its source, and the fact's id."""
    row_id = write(core, branch, "Ada drinks tea.")
    source = fork(branch)
    core.ok("memory_update_fact", fact_id=row_id, fact_text="Ada drinks mate.", branch=source)
    core.ok("memory_update_fact", fact_id=row_id, fact_text="Ada drinks milk.", branch=branch)
    core.ok("memory_branch_merge", source_branch=source, target_branch=branch, strategy="auto")
    return branch, source, row_id


@pytest.mark.line("S1-040", "S1-089")
@pytest.mark.parametrize(
    ("action", "value", "text"),
    [
        ("take", None, "Ada drinks mate."),
        ("dismiss", None, "Ada drinks milk."),
        ("edit", {"fact_text": "Ada drinks both."}, "Ada drinks both."),
    ],
)
def test_a_held_item_is_decided_once(
    core: Session, torn: tuple[str, str, str], action: str, value: Any, text: str
) -> None:
    target, source, row_id = torn
    (item,) = held(core, target)
    assert set(item) == {
        "id", "row_id", "type", "cell", "reason", "present", "offered", "source_branch",
        "merge_id", "held_at",
    }  # fmt: skip
    done = core.ok(
        "memory_held", action=action, id=item["id"], value=value, branch=target, agent_id="judge"
    )
    assert set(done) == {"items", "decided", "read", "written"}
    assert (done["items"], done["decided"], done["read"]) == ([], item["id"], None)
    assert done["written"]["branch"] == target
    assert fact(core, target, row_id)["fact_text"] == text
    assert held(core, target) == []
    core.refused(
        "memory_held", "not_found", action=action, id=item["id"], value=value, branch=target
    )
    core.ok("memory_branch_merge", source_branch=source, target_branch=target, strategy="auto")
    assert fact(core, target, row_id)["fact_text"] == text, "a decision outlives the next merge"


@pytest.mark.line("S1-089")
def test_an_edit_of_a_held_text_decides_it(core: Session, torn: tuple[str, str, str]) -> None:
    target, _, row_id = torn
    (item,) = held(core, target)
    done = core.ok("memory_update_fact", fact_id=row_id, fact_text="Ada fasts.", branch=target)
    assert (done["decides_held"], done["closed"]) == (True, [item["id"]])
    assert held(core, target) == []


@pytest.mark.line("S1-089")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"action": "take"}, "invalid_request"),
        ({"action": "take", "id": "held_nobody"}, "not_found"),
        ({"action": "edit"}, "invalid_request"),
        ({"action": "edit", "value": {}}, "invalid_request"),
        ({"action": "edit", "value": {"fact_text": " "}}, "invalid_request"),
        ({"action": "edit", "value": {"category": "x"}}, "invalid_request"),
        ({"action": "edit", "value": {"content_hash": "x"}}, "invalid_request"),
        ({"action": "drop"}, "invalid_request"),
    ],
)
def test_an_unsound_decision_is_refused(
    core: Session, torn: tuple[str, str, str], given: dict[str, Any], code: str
) -> None:
    target, *_ = torn
    (item,) = held(core, target)
    arguments = given if given == {"action": "take"} else {"id": item["id"], **given}
    core.refused("memory_held", code, branch=target, **arguments)
    assert held(core, target) == [item]


@pytest.mark.line("S1-040", "S1-089")
def test_a_fact_deleted_here_and_changed_there_is_held_whole(
    core: Session, branch: str, fork: Fork
) -> None:
    row_id = write(core, branch)
    source = fork(branch)
    core.ok("memory_update_fact", fact_id=row_id, category="drinks", branch=source)
    core.ok("memory_retract_fact", fact_id=row_id, branch=branch)
    done = core.ok(
        "memory_branch_merge", source_branch=source, target_branch=branch, strategy="auto"
    )
    assert (done["merged_count"], done["rejected_count"]) == (0, 1)
    (item,) = held(core, branch)
    assert (item["cell"], item["reason"], item["present"]) == ("*", "delete_modify", None)
    assert item["offered"]["category"] == "drinks"
    assert ISO.fullmatch(item["offered"]["created_at"])
    core.ok("memory_held", action="take", id=item["id"], branch=branch)
    assert fact(core, branch, row_id)["category"] == "drinks"
