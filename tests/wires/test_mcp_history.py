"""History and blame over MCP: all versions of a memory, and who wrote each part of it."""

from typing import Any

import pytest

from tests.wires.conftest import Fork
from tests.wires.mcp_session import ISO, Session

NULLABLE = "string|null = null"


def write(core: Session, branch: str, text: str = "Ada drinks tea.", **more: Any) -> str:
    made: str = core.ok("memory_write_fact", fact_text=text, branch=branch, **more)["id"]
    return made


def edit(core: Session, branch: str, row_id: str, agent: str, **columns: Any) -> None:
    core.ok("memory_update_fact", fact_id=row_id, branch=branch, agent_id=agent, **columns)


def merge(core: Session, source: str, target: str, **more: Any) -> str:
    arguments = {"source_branch": source, "target_branch": target, "strategy": "auto", **more}
    merged: str = core.ok("memory_branch_merge", **arguments)["merge_id"]
    return merged


def versions(core: Session, branch: str, row_id: str, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = core.ok("memory_history", id=row_id, branch=branch, **more)[
        "versions"
    ]
    return found


def cell(core: Session, branch: str, row_id: str, name: str = "fact_text") -> dict[str, Any]:
    cells = core.ok("memory_blame", id=row_id, branch=branch)["cells"]
    found: dict[str, Any] = next(one for one in cells if one["cell"] == name)
    return found


def test_the_tools_take_an_id_and_a_branch(core: Session) -> None:
    assert core.takes("memory_history") == {
        "id": "string!",
        "branch": NULLABLE,
        "limit": "integer|null 1..1000 = 50",
    }
    assert core.takes("memory_blame") == {
        "id": "string!",
        "branch": NULLABLE,
        "lines": "boolean|null = false",
    }


def test_every_version_says_who_made_it_when_and_where(
    core: Session, branch: str, fork: Fork
) -> None:
    row_id = write(core, branch, agent_id="ada", category="old")
    side = fork(branch)
    edit(core, branch, row_id, "bo", confidence=0.5)
    edit(core, side, row_id, "cy", category="new", reason="she said so")
    merge(core, side, branch, agent_id="dan")
    core.ok("memory_retract_fact", fact_id=row_id, branch=branch, agent_id="eve")
    found = versions(core, branch, row_id)
    assert [(v["how"], v["op"], v["branch"], v["agent_id"]) for v in found] == [
        ("removed", "remove", branch, "eve"),
        ("changed", "merge", branch, None),
        ("changed", "change", side, "cy"),
        ("changed", "change", branch, "bo"),
        ("added", "add", branch, "ada"),
    ]
    assert [v["cells"] for v in found] == [["*"], ["category"], ["category"], ["confidence"], ["*"]]
    gone, merged, changed, _, added = found
    assert gone["row"] is None
    assert (merged["row"]["category"], merged["row"]["confidence"]) == ("new", 0.5)
    assert (changed["row"]["category"], changed["row"]["confidence"]) == ("new", 1.0)
    assert changed["reason"] == "she said so"
    assert added["at"] == added["row"]["created_at"]
    assert len({v["commit"] for v in found}) == len(found)
    assert all(ISO.fullmatch(v["at"]) for v in found)
    assert sorted((v["at"] for v in found), reverse=True) == [v["at"] for v in found]


def test_commits_that_leave_a_row_alone_are_no_versions(
    core: Session, branch: str, fork: Fork
) -> None:
    row_id = write(core, branch)
    side = fork(branch)
    edit(core, side, row_id, "bo", category="new")
    write(core, branch, "Bo drinks milk.")
    merge(core, side, branch)
    assert [v["op"] for v in versions(core, branch, row_id)] == ["change", "add"]


def test_a_pending_row_has_a_version_without_a_commit(core: Session, branch: str) -> None:
    row_id = write(core, branch, agent_id="ada")
    (found,) = versions(core, branch, row_id)
    assert (found["how"], found["commit"], found["agent_id"]) == ("added", None, "ada")
    written = cell(core, branch, row_id)
    assert (written["commit"], written["branch"], written["merges"]) == (None, branch, [])


def test_a_row_that_came_back_was_restored(core: Session, branch: str) -> None:
    row_id = write(core, branch)
    gone = core.ok("memory_retract_fact", fact_id=row_id, branch=branch)
    core.ok("memory_restore", **gone["restore"])
    assert [v["how"] for v in versions(core, branch, row_id)] == ["restored", "removed", "added"]
    assert cell(core, branch, row_id)["op"] == "add", "not the restore"


def test_the_limit_leaves_out_the_oldest(core: Session, branch: str) -> None:
    row_id = write(core, branch)
    for number in range(3):
        edit(core, branch, row_id, "bo", category=f"c{number}")
    answer = core.ok("memory_history", id=row_id, branch=branch, limit=2)
    assert [v["row"]["category"] for v in answer["versions"]] == ["c2", "c1"]
    assert answer["left_out"] == 2
    assert answer["read"]["branch"] == branch


def test_a_forks_past_is_its_parents(core: Session, branch: str, fork: Fork) -> None:
    row_id = write(core, branch)
    side = fork(branch)
    edit(core, side, row_id, "bo", category="new")
    assert [v["branch"] for v in versions(core, side, row_id)] == [side, branch]
    assert cell(core, side, row_id)["branch"] == branch
    assert cell(core, side, row_id, "category")["branch"] == side


def test_blame_names_the_writer_of_each_cell(core: Session, branch: str) -> None:
    row_id = write(core, branch, agent_id="ada", session_id="s1", category="old")
    edit(core, branch, row_id, "bo", fact_text="Ada drinks mate.", reason="she said so")
    answer = core.ok("memory_blame", id=row_id, branch=branch)
    text = cell(core, branch, row_id)
    assert text["value"] == {"fact_text": "Ada drinks mate."}
    assert (text["agent_id"], text["edited"], text["reason"]) == ("bo", True, "she said so")
    category = cell(core, branch, row_id, "category")
    assert (category["agent_id"], category["session_id"], category["edited"]) == (
        "ada",
        "s1",
        False,
    )
    assert (answer["id"], answer["type"], answer["read"]["branch"]) == (row_id, "fact", branch)
    assert {c["commit"] for c in answer["cells"]} == {text["commit"], category["commit"]}


def test_a_value_that_came_back_is_its_first_writers(core: Session, branch: str) -> None:
    row_id = write(core, branch, agent_id="ada", category="old")
    edit(core, branch, row_id, "bo", category="new")
    edit(core, branch, row_id, "cy", category="newest")
    done = core.ok("memory_history", id=row_id, branch=branch)["versions"][0]
    core.ok("memory_revert", commit=done["commit"], branch=branch)
    assert cell(core, branch, row_id, "category")["agent_id"] == "bo"


def test_blame_names_every_merge_on_the_way(core: Session, branch: str, fork: Fork) -> None:
    row_id = write(core, branch, agent_id="ada")
    middle = fork(branch)
    side = fork(middle)
    edit(core, side, row_id, "bo", category="new")
    new = write(core, side, "Bo drinks milk.", agent_id="bo")
    first = merge(core, side, middle, agent_id="cy")
    second = merge(core, middle, branch, agent_id="dan")
    for of, name in ((row_id, "category"), (new, "fact_text")):
        found = cell(core, branch, of, name)
        assert (found["agent_id"], found["branch"]) == ("bo", side)
        assert [
            (m["merge_id"], m["op"], m["source"], m["target"], m["decided_by"])
            for m in found["merges"]
        ] == [(first, "merge", side, middle, "cy"), (second, "merge", middle, branch, "dan")]
    assert cell(core, branch, row_id)["merges"] == [], "the text was never elsewhere"


@pytest.mark.parametrize("strategy", ["cherry_pick", "squash"])
def test_blame_follows_picks_and_squashes(
    core: Session, branch: str, fork: Fork, strategy: str
) -> None:
    row_id = write(core, branch, agent_id="ada")
    side = fork(branch)
    edit(core, side, row_id, "bo", category="new")
    items = [row_id] if strategy == "cherry_pick" else None
    merge_id = merge(core, side, branch, strategy=strategy, items=items)
    found = cell(core, branch, row_id, "category")
    assert (found["agent_id"], found["branch"], found["op"]) == ("bo", side, "change")
    assert [m["merge_id"] for m in found["merges"]] == [merge_id]


def test_whoever_decides_a_merge_with_a_value_of_their_own_wrote_it(
    core: Session, branch: str, fork: Fork
) -> None:
    row_id = write(core, branch, category="old")
    side = fork(branch)
    edit(core, branch, row_id, "bo", category="ours")
    edit(core, side, row_id, "cy", category="theirs")
    choice = {"id": row_id, "cell": "category", "take": "value", "value": {"category": "both"}}
    merge(core, side, branch, choices=[choice], agent_id="dan")
    found = cell(core, branch, row_id, "category")
    assert (found["agent_id"], found["branch"], found["op"]) == ("dan", branch, "merge")
    assert found["merges"] == []


def test_a_row_that_came_by_a_merge_and_was_brought_back_came_by_the_merge(
    core: Session, branch: str, fork: Fork
) -> None:
    side = fork(branch)
    row_id = write(core, side, agent_id="bo")
    merge_id = merge(core, side, branch)
    gone = core.ok("memory_retract_fact", fact_id=row_id, branch=branch)
    core.ok("memory_restore", **gone["restore"])
    found = cell(core, branch, row_id)
    assert (found["branch"], [m["merge_id"] for m in found["merges"]]) == (side, [merge_id])


@pytest.mark.parametrize("tool", ["memory_history", "memory_blame"])
def test_an_id_that_never_was_has_no_history(
    core: Session, branch: str, fork: Fork, tool: str
) -> None:
    elsewhere = write(core, fork())
    for row_id in (elsewhere, "fact_nobody", "nonsense", "edit_1"):
        error = core.refused(tool, "not_found", id=row_id, branch=branch)
        assert error["details"] == {"id": row_id, "branch": branch}


def test_a_removed_row_has_a_history_and_no_blame(core: Session, branch: str) -> None:
    row_id = write(core, branch)
    core.ok("memory_retract_fact", fact_id=row_id, branch=branch)
    assert len(versions(core, branch, row_id)) == 2
    core.refused("memory_blame", "not_found", id=row_id, branch=branch)


def test_other_kinds_have_a_past_too(core: Session, branch: str) -> None:
    relation = core.ok(
        "memory_write_relation",
        source_entity="Ada",
        relation_type="drinks",
        target_entity="tea",
        branch=branch,
    )["id"]
    said = core.ok("memory_log_message", role="user", content="Tea?", branch=branch)
    for row_id in (relation, said["message_id"], said["conversation_id"]):
        (version,) = versions(core, branch, row_id)
        assert version["row"]["id"] == row_id
        assert core.ok("memory_blame", id=row_id, branch=branch)["cells"]
