"""Calls that are made again, as an agent does that is told "try again": they write once."""

from typing import Any

import pytest

from day1.call.fields import Repeatable
from day1.call.operation import Effect
from day1.toolsets import operations
from tests.wires.diverged_branches import Pair
from tests.wires.mcp_session import Session
from tests.wires.minimal_arguments import prepared

WRITING = {o.name: o for o in operations("core,review") if o.effect is not Effect.READ}
SAYS: dict[str, dict[str, Any]] = {
    "memory_write_fact": {"fact_text": "Ada drinks tea.", "category": "drinks"},
    "memory_write_observation": {
        "observation_type": "insight",
        "summary": "The build passes.",
        "raw_output": "ok",
    },
    "memory_write_relation": {
        "source_entity": "Ada",
        "target_entity": "tea",
        "relation_type": "drinks",
        "properties": {"since": 2020},
    },
}
"""What adds a row that says something."""
AS_OFTEN: dict[str, set[str]] = {
    "memory_task_update": set(),
    "memory_redact": set(),
    "review_decide": set(),
}
"""Tools for which a repetition may answer something else, and how it may be refused."""


def counted(core: Session, branch: str) -> int:
    """Rows of any kind on a branch."""
    return sum(len(rows) for rows in core.everything([branch])[branch].values())


def test_everything_that_writes_takes_a_request_id() -> None:
    """F4: an optional request_id on every write; it is listed where repeating would matter."""
    every = operations("core,review,admin")
    for operation in every:
        writes = operation.effect is not Effect.READ
        assert issubclass(operation.request, Repeatable) == writes, operation.name


# First, while the store has few branches: a redaction looks through all of them.
@pytest.mark.parametrize("tool", sorted(AS_OFTEN))
def test_what_may_be_done_as_often_as_one_likes_adds_nothing(
    core: Session, branch: str, tool: str
) -> None:
    """F4: the others come to the same state, or are refused as what they are about is over."""
    given = {**prepared(core, branch)[tool], "request_id": f"{tool} on {branch}"}
    core.ok(tool, **given)
    before = counted(core, branch)
    again = core.call(tool, given)
    assert not again.is_error or again.structured["error"]["code"] in AS_OFTEN[tool]
    assert counted(core, branch) == before


@pytest.mark.parametrize("tool", sorted(WRITING.keys() - AS_OFTEN))
def test_a_repeated_request_changes_nothing_and_answers_the_first_answer(
    core: Session, branch: str, tool: str
) -> None:
    """F4: each tool that writes, called twice with one request_id, writes once."""
    given = {**prepared(core, branch)[tool], "request_id": f"{tool} on {branch}"}
    first = core.ok(tool, **given)
    after = core.everything([branch, f"{branch}/source", f"{branch}/reviewed"])
    again = core.ok(tool, **given)
    assert core.everything([branch, f"{branch}/source", f"{branch}/reviewed"]) == after
    assert meant(again) == meant(first)


@pytest.mark.parametrize("at", [{}, {"at": "2020-01-01"}])
def test_a_repeated_branch_or_snapshot_is_noted(
    core: Session, branch: str, at: dict[str, str]
) -> None:
    made: dict[str, dict[str, Any]] = {
        "memory_branch_create": {"branch_name": f"{branch}/new", "parent_branch": branch, **at},
        "memory_snapshot": {"branch": branch, "label": "v1"},
    }
    for tool, arguments in made.items():
        request = {**arguments, "request_id": f"{tool} noted on {branch}"}
        assert core.ok(tool, **request)["written"]["notes"] == []
        (note,) = core.ok(tool, **request)["written"]["notes"]
        assert "answered before" in note


@pytest.mark.parametrize("tool", SAYS)
def test_the_same_words_within_a_minute_are_one_memory(
    core: Session, branch: str, tool: str
) -> None:
    """F4: without a request_id a repeated text is answered with the first row, and says so."""
    first = core.ok(tool, **SAYS[tool], branch=branch, agent_id="bo")
    again = core.ok(tool, **SAYS[tool], branch=branch, agent_id="bo")
    assert meant(again) == meant(first)
    assert again["written"]["pending"] == 1
    assert "less than a minute ago" in again["written"]["notes"][0]
    assert counted(core, branch) == 1


@pytest.mark.parametrize("tool", SAYS)
def test_what_another_says_or_says_otherwise_is_another_memory(
    core: Session, branch: str, tool: str
) -> None:
    """F4: another agent, session, branch, time of the event, or request is no repetition."""
    said = {**SAYS[tool], "branch": branch, "agent_id": "bo"}
    others = [
        said,
        {**said, "agent_id": "cy"},
        {**said, "session_id": "s"},
        {**said, "happened_at": "2026-01-01"},
        {**said, "request_id": f"{branch} one"},
        {**said, "request_id": f"{branch} two"},
        {**said, "request_id": f"{branch} two", "agent_id": "cy"},
    ]
    ids = [core.ok(tool, **other)["id"] for other in others]
    assert len(set(ids)) == len(others) == counted(core, branch)


def test_on_another_branch_the_same_request_is_another_one(
    core: Session, branch: str, fork: Any
) -> None:
    """F4: rows of two branches never get one id by chance, or a merge would take them for one."""
    said = {"fact_text": "Ada drinks tea.", "request_id": f"of {branch}"}
    here = core.ok("memory_write_fact", **said, branch=branch)
    there = core.ok("memory_write_fact", **said, branch=fork(branch))
    assert here["id"] != there["id"]


@pytest.mark.parametrize("tool", SAYS)
def test_a_request_id_of_something_else_is_refused_and_names_what_it_made(
    core: Session, branch: str, tool: str
) -> None:
    """F4: a request_id that was used before, for other content, is a clear error."""
    said = {**SAYS[tool], "branch": branch, "request_id": f"{tool} of {branch}"}
    first = core.ok(tool, **said)
    error = core.refused(tool, "request_reused", **{**said, "happened_at": "2026-01-01"})
    assert error["details"] == {"id": first["id"]}
    assert first["id"] in error["message"]


def test_what_was_edited_since_is_still_what_the_request_wrote(core: Session, branch: str) -> None:
    """F4: the first answer, whatever became of the row; what was removed does not come back."""
    said = {"fact_text": "Ada drinks tea.", "branch": branch, "request_id": f"of {branch}"}
    first = core.ok("memory_write_fact", **said)
    core.ok("memory_update_fact", fact_id=first["id"], fact_text="Ada drank.", branch=branch)
    assert meant(core.ok("memory_write_fact", **said)) == meant(first)
    core.refused("memory_write_fact", "request_reused", **said, category="drinks")
    core.ok("memory_retract_fact", fact_id=first["id"], branch=branch)
    error = core.refused("memory_write_fact", "request_reused", **said)
    assert "was removed since" in error["message"]


def test_a_repeated_edit_does_not_undo_what_others_changed_since(
    core: Session, branch: str
) -> None:
    """F4: the edit of a request is known by its id, whatever became of the row."""
    fact = core.ok("memory_write_fact", fact_text="Ada drinks tea.", branch=branch)
    asked = {"fact_id": fact["id"], "branch": branch, "request_id": f"edit {branch}"}
    first = core.ok("memory_update_fact", **asked, fact_text="Ada drinks mate.")
    core.ok("memory_update_fact", fact_id=fact["id"], fact_text="Ada drinks.", branch=branch)
    again = core.ok("memory_update_fact", **asked, fact_text="Ada drinks mate.")
    assert again["updated_at"] == first["updated_at"]
    diff = core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
    assert [row["fact_text"] for row in diff["new_facts"]] == ["Ada drinks."]
    core.refused("memory_update_fact", "request_reused", **asked, fact_text="Ada drinks wine.")
    core.refused("memory_retract_fact", "request_reused", **{**asked, "fact_id": "fact_other"})


def test_a_request_that_did_something_else_to_a_row_is_not_taken_for_done(
    core: Session, branch: str
) -> None:
    """F4: who removes a row by the request_id of an edit is refused, not told that it is gone."""
    fact = core.ok("memory_write_fact", fact_text="Ada drinks tea.", branch=branch)
    asked = {"fact_id": fact["id"], "branch": branch, "request_id": f"edit {branch}"}
    core.ok("memory_update_fact", **asked, fact_text="Ada drinks mate.", category="drinks")
    core.refused("memory_retract_fact", "request_reused", **asked)
    core.refused("memory_supersede_fact", "request_reused", **asked, fact_text="Ada drinks wine.")
    core.refused("memory_update_fact", "request_reused", **asked, confidence=0.5)
    core.refused(
        "memory_update_fact", "request_reused", **asked, fact_text="Ada drinks mate.", category="x"
    )
    asked["request_id"] = f"replace {branch}"
    core.ok("memory_supersede_fact", **asked, fact_text="Ada drinks wine.")
    core.refused("memory_update_fact", "request_reused", **asked, category="wines")


def test_a_message_is_said_as_often_as_it_is_logged(core: Session, branch: str) -> None:
    """F4: only the same request is the same message: people say "ok" twice."""
    said = {"role": "user", "content": "ok", "branch": branch}
    first = core.ok("memory_log_message", **said, request_id=f"a {branch}")
    assert core.ok("memory_log_message", **said)["conversation_id"] != first["conversation_id"]
    there = {**said, "conversation_id": first["conversation_id"]}
    places = [
        core.ok("memory_log_message", **there, request_id=request)["sequence"]
        for request in (f"b {branch}", f"c {branch}", f"b {branch}")
    ]
    assert places == [2, 3, 2]
    again = core.ok("memory_log_message", **said, request_id=f"a {branch}")
    assert meant(again) == meant(first)
    other = {**there, "content": "no", "request_id": f"b {branch}"}
    core.refused("memory_log_message", "request_reused", **other)


def test_a_repeated_merge_tells_what_the_first_one_held(core: Session, pair: Pair) -> None:
    """F4: a merge that is tried again with its digest is not refused as another plan."""
    both = {"source_branch": pair.source, "target_branch": pair.target}
    plan = core.ok("memory_merge_preview", **both)
    asked = {**both, "strategy": "auto", "expect": plan["digest"], "request_id": pair.source}
    first = core.ok("memory_branch_merge", **asked)
    assert first["conflicts"]
    again = core.ok("memory_branch_merge", **asked)
    assert meant(again) == meant(first)
    core.refused("memory_branch_merge", "request_reused", **{**asked, "strategy": "squash"})


def test_a_pick_of_other_rows_is_not_the_one_that_was_done(core: Session, branch: str) -> None:
    """F4: what a pick takes tells its request from another."""
    source = f"{branch}/picked"
    core.ok("memory_branch_create", branch_name=source, parent_branch=branch)
    one, other = (
        core.ok("memory_write_fact", fact_text=text, branch=source)["id"] for text in ("a", "b")
    )
    asked = {"source_branch": source, "target_branch": branch, "strategy": "cherry_pick"}
    asked["request_id"] = f"pick {branch}"
    first = core.ok("memory_branch_merge", **asked, items=[one])
    assert meant(core.ok("memory_branch_merge", **asked, items=[one])) == meant(first)
    core.refused("memory_branch_merge", "request_reused", **asked, items=[other])


def meant(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without where its branch stands now."""
    return {key: value for key, value in answer.items() if key not in {"written", "read"}}
