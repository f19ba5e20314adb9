"""Undoing commits and merges over MCP: what is undone, what stays, and what depends on it."""

from typing import Any

import pytest

from tests.wires.conftest import Fork
from tests.wires.mcp_session import Session

NULLABLE = "string|null = null"
ANSWER = {
    "reverts", "op", "digest", "reverted_count", "rows", "kept", "depends", "read", "written",
}  # fmt: skip


def write(core: Session, branch: str, text: str = "Ada drinks tea.", **more: Any) -> str:
    made: str = core.ok("memory_write_fact", fact_text=text, branch=branch, **more)["id"]
    return made


def edit(core: Session, branch: str, row_id: str, **columns: Any) -> str:
    done = core.ok("memory_update_fact", fact_id=row_id, branch=branch, **columns)
    commit: str = done["written"]["commit"]
    return commit


def merge(core: Session, source: str, target: str, **more: Any) -> dict[str, Any]:
    arguments = {"source_branch": source, "target_branch": target, "strategy": "auto", **more}
    done: dict[str, Any] = core.ok("memory_branch_merge", **arguments)
    return done


def facts(core: Session, branch: str) -> dict[str, dict[str, Any]]:
    diff = core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
    return {row["id"]: row for row in diff["new_facts"]}


def depends(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["type"], one["id"]) for one in answer["depends"]]


@pytest.fixture
def merged(core: Session, branch: str, fork: Fork) -> tuple[str, str, str, dict[str, Any]]:
    """A branch, its source, a fact that the merge changed, and the merge, which added one."""
    row_id = write(core, branch, category="old")
    side = fork(branch)
    edit(core, side, row_id, category="new")
    write(core, side, "Bo drinks milk.")
    return branch, side, row_id, merge(core, side, branch)


def test_the_tool_takes_a_commit_or_a_merge(core: Session) -> None:
    takes = core.takes("memory_revert")
    choices = core.takes("memory_branch_merge")["choices"]
    assert takes == {
        "commit": "string!",
        "branch": NULLABLE,
        "preview": "boolean|null = false",
        "choices": choices,
        "expect": NULLABLE,
        **dict.fromkeys(("agent_id", "session_id", "task_id"), NULLABLE),
    }


@pytest.mark.parametrize("by", ["merge_id", "commit"])
def test_a_merge_is_undone_by_either_name(
    core: Session, merged: tuple[str, str, str, dict[str, Any]], by: str
) -> None:
    branch, side, row_id, done = merged
    commit = done["written"]["commit"]
    answer = core.ok(
        "memory_revert", commit=done["merge_id"] if by == "merge_id" else commit, branch=branch
    )
    assert set(answer) == ANSWER
    assert (answer["reverts"], answer["op"], answer["reverted_count"]) == (commit, "merge", 2)
    assert {(row["effect"], row["type"]) for row in answer["rows"]} == {
        ("changed", "fact"),
        ("removed", "fact"),
    }
    assert (answer["kept"], answer["read"]) == ([], None)
    assert answer["written"]["branch"] == branch
    (note,) = answer["written"]["notes"]
    assert repr(side) in note
    assert facts(core, branch)[row_id]["category"] == "old"
    assert len(facts(core, branch)) == 1
    assert merge(core, side, branch)["merged_count"] == 0, "as the note says"
    again = core.ok("memory_revert", commit=answer["written"]["commit"], branch=branch)
    assert {row["effect"] for row in again["rows"]} == {"changed", "restored"}
    assert facts(core, branch) == facts(core, side)


def test_a_preview_changes_nothing_and_is_what_is_done(
    core: Session, merged: tuple[str, str, str, dict[str, Any]]
) -> None:
    branch, _, row_id, done = merged
    before = core.everything([branch])
    commit = core.ok("memory_history", id=row_id, branch=branch)["read"]["commit"]
    seen = core.ok("memory_revert", commit=done["merge_id"], preview=True, branch=branch)
    assert core.everything([branch]) == before
    assert seen["read"]["commit"] == commit
    assert seen["written"] is None
    did = core.ok("memory_revert", commit=done["merge_id"], branch=branch, expect=seen["digest"])
    assert (did["rows"], did["digest"]) == (seen["rows"], seen["digest"])


def test_another_plan_than_the_previewed_one_is_refused(
    core: Session, merged: tuple[str, str, str, dict[str, Any]]
) -> None:
    branch, _, row_id, done = merged
    seen = core.ok("memory_revert", commit=done["merge_id"], preview=True, branch=branch)
    write(core, branch, "Unrelated.")
    still = core.ok("memory_revert", commit=done["merge_id"], preview=True, branch=branch)
    assert still["digest"] == seen["digest"]
    edit(core, branch, row_id, category="newest")
    error = core.refused(
        "memory_revert",
        "plan_changed",
        commit=done["merge_id"],
        branch=branch,
        expect=seen["digest"],
    )
    assert error["details"]["expected"] == seen["digest"]
    assert facts(core, branch)[row_id]["category"] == "newest"


def test_what_changed_since_stays_unless_it_is_decided(
    core: Session, merged: tuple[str, str, str, dict[str, Any]]
) -> None:
    branch, _, row_id, done = merged
    edit(core, branch, row_id, category="newest")
    seen = core.ok("memory_revert", commit=done["merge_id"], preview=True, branch=branch)
    (kept,) = seen["kept"]
    assert (kept["id"], kept["cell"], kept["source"], kept["target"], kept["reason"]) == (
        row_id, "category", "old", "newest", "both_changed",
    )  # fmt: skip
    assert ("row", row_id) in depends(seen)
    choice = {"id": row_id, "cell": "category", "take": "value", "value": {"category": "none"}}
    core.ok("memory_revert", commit=done["merge_id"], branch=branch, choices=[choice], agent_id="z")
    assert facts(core, branch)[row_id]["category"] == "none"
    cells = core.ok("memory_blame", id=row_id, branch=branch)["cells"]
    assert [c["agent_id"] for c in cells if c["cell"] == "category"] == ["z"]


def test_a_revert_of_nothing_makes_no_commit(core: Session, branch: str) -> None:
    row_id = write(core, branch)
    commit = edit(core, branch, row_id, category="wrong")
    tip = edit(core, branch, row_id, category="right")
    answer = core.ok("memory_revert", commit=commit, branch=branch)
    assert (answer["reverted_count"], answer["written"]["commit"]) == (0, tip)
    assert answer["written"]["notes"]
    assert [kept["cell"] for kept in answer["kept"]] == ["category"]


def test_a_preview_says_what_depends_on_the_commit(
    core: Session, merged: tuple[str, str, str, dict[str, Any]], fork: Fork
) -> None:
    branch, side, _, done = merged
    older = core.ok("memory_snapshot", label="older", branch=side)["snapshot_id"]
    snapshot = core.ok("memory_snapshot", label="after", branch=branch)["snapshot_id"]
    child = fork(branch)
    write(core, branch, "Cy drinks water.")
    merge(core, branch, side)
    template = f"of {branch}"
    core.ok("memory_template_create", name=template, source_branch=branch)
    handed = core.ok("memory_handoff_create", source_branch=branch, target_branch=side)
    bundle = core.ok("knowledge_bundle_create", name="after", source_branch=branch)
    seen = core.ok("memory_revert", commit=done["merge_id"], preview=True, branch=branch)
    found = {(one["type"], one["name"]) for one in seen["depends"]}
    assert {("snapshot", "after"), ("template", template), ("branch", child)} <= found
    assert ("bundle", "after") in found
    assert {snapshot, handed["handoff_id"], bundle["id"]} <= {one["id"] for one in seen["depends"]}
    assert older not in {one["id"] for one in seen["depends"]}
    assert ("branch", side) in found, "it was merged there"
    assert not [name for _, name in found if name and name.startswith("template/")]


def test_the_held_items_of_a_merge_are_named_and_stay(
    core: Session, branch: str, fork: Fork
) -> None:
    row_id = write(core, branch, category="old")
    side = fork(branch)
    edit(core, branch, row_id, category="ours")
    edit(core, side, row_id, category="theirs", confidence=0.5)
    done = merge(core, side, branch)
    (item,) = core.ok("memory_held", branch=branch)["items"]
    seen = core.ok("memory_revert", commit=done["merge_id"], preview=True, branch=branch)
    assert ("held", item["id"]) in depends(seen)
    core.ok("memory_revert", commit=done["merge_id"], branch=branch)
    assert facts(core, branch)[row_id]["confidence"] == 1.0
    assert [i["id"] for i in core.ok("memory_held", branch=branch)["items"]] == [item["id"]]


def test_a_supersession_is_undone_with_its_fact(core: Session, branch: str) -> None:
    old = write(core, branch)
    done = core.ok(
        "memory_supersede_fact", fact_id=old, fact_text="Ada drinks mate.", branch=branch
    )
    core.ok("memory_revert", commit=done["written"]["commit"], branch=branch)
    (left,) = facts(core, branch).values()
    assert (left["id"], left["status"], left["superseded_by"]) == (old, "active", None)


def test_a_conversation_that_went_on_stays(core: Session, branch: str) -> None:
    def say(text: str, **more: Any) -> dict[str, Any]:
        done: dict[str, Any] = core.ok(
            "memory_log_message", role="user", content=text, branch=branch, **more
        )
        return done

    said = say("Tea?")
    conversation = said["conversation_id"]
    core.ok("memory_snapshot", branch=branch)  # commits pending rows
    commit = core.ok("memory_history", id=conversation, branch=branch)["versions"][0]["commit"]
    say("Mate!", conversation_id=conversation)
    seen = core.ok("memory_revert", commit=commit, preview=True, branch=branch)
    effects = {row["id"]: (row["effect"], row["belongs_to"] is None) for row in seen["rows"]}
    assert effects[conversation] == ("kept", False)
    assert effects[said["message_id"]] == ("removed", True)


@pytest.mark.parametrize("preview", [True, False])
def test_only_a_branchs_own_commits_are_undone(
    core: Session, merged: tuple[str, str, str, dict[str, Any]], preview: bool
) -> None:
    branch, side, row_id, _ = merged
    theirs = next(
        version["commit"]
        for version in core.ok("memory_history", id=row_id, branch=side)["versions"]
        if version["op"] == "change"
    )
    for commit in (theirs, "merge_nobody", "0" * 40, "nonsense", branch):
        error = core.refused(
            "memory_revert", "not_found", commit=commit, branch=branch, preview=preview
        )
        assert error["details"] == {"commit": commit, "branch": branch}
        assert f'memory_log(branch="{branch}") lists its commits' in error["message"]
        assert error["next"] == [{"operation": "memory_log", "arguments": {"branch": branch}}]
    core.refused(
        "memory_revert", "unknown_branch", commit=theirs, branch="nowhere", preview=preview
    )


def test_a_choice_for_another_row_is_refused(
    core: Session, merged: tuple[str, str, str, dict[str, Any]]
) -> None:
    branch, _, _, done = merged
    other = write(core, branch, "Unrelated.")
    error = core.refused(
        "memory_revert",
        "not_found",
        commit=done["merge_id"],
        branch=branch,
        choices=[{"id": other, "take": "theirs"}],
    )
    assert error["details"] == {"ids": [other]}


def test_a_closed_branch_can_be_looked_at_only(core: Session, branch: str, fork: Fork) -> None:
    side = fork(branch)
    row_id = write(core, side)
    commit = edit(core, side, row_id, category="new")
    done = merge(core, side, branch, strategy="squash")
    seen = core.ok("memory_revert", commit=commit, preview=True, branch=side)
    assert seen["reverted_count"] == 1
    core.refused("memory_revert", "branch_closed", commit=commit, branch=side)
    answer = core.ok("memory_revert", commit=done["merge_id"], branch=branch)
    assert answer["written"]["notes"] == [f"{side!r} stays closed."]
    assert facts(core, branch) == {}
