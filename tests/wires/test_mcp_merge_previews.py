"""Diff, preview and choices over MCP: what a merge would do, and deciding what conflicts."""

from typing import Any

import pytest

from tests.wires.conftest import Write
from tests.wires.diverged_branches import Pair, facts, merge, preview, refused
from tests.wires.mcp_session import Session

NULLABLE = "string|null = null"
DIFF = {
    "new_facts", "new_relations", "conflicts", "new_observations", "changed", "removed", "held",
    "read",
}  # fmt: skip


@pytest.mark.line("S1-035")
def test_branch_diff_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_branch_diff") == {
        "source_branch": "string!",
        "target_branch": "string!",
        "category": NULLABLE,
    }


@pytest.mark.line("S1-036")
def test_a_diff_shows_what_the_source_has_and_the_target_not(core: Session, pair: Pair) -> None:
    before = core.everything(pair)
    diff = core.ok("memory_branch_diff", source_branch=pair.source, target_branch=pair.target)
    assert core.everything(pair) == before, "a diff changes nothing"
    assert set(diff) == DIFF
    assert [fact["fact_text"] for fact in diff["new_facts"]] == ["new"]
    assert [seen["summary"] for seen in diff["new_observations"]] == ["new too"]
    assert [edge["relation_type"] for edge in diff["new_relations"]] == ["to"]
    assert [row["id"] for row in diff["removed"]] == [pair.removed]
    changes = {row["id"]: (row["before"], row["after"]) for row in diff["changed"]}
    assert changes == {
        pair.changed: ({"confidence": 1}, {"confidence": 0.5}),
        pair.conflict: ({"fact_text": "conflict"}, {"fact_text": "conflict, source"}),
    }
    assert diff["conflicts"] == [
        {
            "id": pair.conflict,
            "type": "fact",
            "cell": "fact_text",
            "source": "conflict, source",
            "target": "conflict, target",
            "reason": "both_changed",
        }
    ]
    assert diff["held"] == []
    assert diff["read"]["branch"] == pair.source


@pytest.mark.line("S1-036")
def test_a_diff_the_other_way_swaps_source_and_target(core: Session, pair: Pair) -> None:
    diff = core.ok("memory_branch_diff", source_branch=pair.target, target_branch=pair.source)
    assert [fact["fact_text"] for fact in diff["new_facts"]] == ["of the target"]
    assert diff["removed"] == []
    (conflict,) = diff["conflicts"]
    assert (conflict["source"], conflict["target"]) == ("conflict, target", "conflict, source")


@pytest.mark.line("S1-035")
@pytest.mark.parametrize(
    ("category", "new", "changed", "conflicts"),
    [("new", 1, 0, 0), ("old", 0, 2, 1), ("x", 0, 0, 0)],
)
def test_a_category_filters_the_diff(
    core: Session, pair: Pair, category: str, new: int, changed: int, conflicts: int
) -> None:
    diff = core.ok(
        "memory_branch_diff",
        source_branch=pair.source,
        target_branch=pair.target,
        category=category,
    )
    counts = [len(diff[key]) for key in ("new_facts", "changed", "conflicts")]
    assert counts == [new, changed, conflicts]
    assert diff["new_observations"] == diff["new_relations"] == []


@pytest.mark.line("S1-040")
@pytest.mark.parametrize(
    ("choice", "text", "counts"),
    [
        ({"take": "ours"}, "conflict, target", (6, 0)),
        ({"take": "theirs"}, "conflict, source", (6, 0)),
        ({"take": "theirs", "cell": "fact_text"}, "conflict, source", (6, 0)),
        ({"take": "value", "value": {"fact_text": "settled"}}, "settled", (6, 0)),
        ({"take": "delete"}, None, (6, 0)),
        ({"take": "skip"}, "conflict, target", (5, 1)),
    ],
    ids=["ours", "theirs", "a cell of theirs", "a value", "delete", "skip"],
)
def test_choices_decide_conflicts(
    core: Session, pair: Pair, choice: dict[str, Any], text: str | None, counts: tuple[int, int]
) -> None:
    done = merge(core, pair, choices=[{"id": pair.conflict, **choice}])
    assert (done["merged_count"], done["rejected_count"]) == counts
    assert facts(core, pair.target).get(pair.conflict) == text
    assert len(core.ok("memory_held", branch=pair.target)["items"]) == counts[1]


@pytest.mark.line("S1-012", "S1-040")
@pytest.mark.parametrize(
    "choice",
    [
        {"take": "value", "value": {"confidence": 99}},
        {"take": "value", "value": {"fact_text": ""}},
        {"take": "value", "value": {"fact_text": {"a": 1}}},
        {"take": "value", "value": {"happened_at": "soon"}},
        {"take": "value", "value": {"created_at": 5}},
        {"take": "value", "value": {"id": "fact_other"}},
        {"take": "value", "value": {"content_hash": "0"}},
        {"take": "value", "value": {"superseded_by": "fact_other"}},
        {"take": "value", "value": {"category": "x"}, "cell": "fact_text"},
        {"take": "value", "value": {}},
        {"take": "value"},
        {"take": "ours", "value": {"category": "x"}},
        {"take": "ours", "cell": "nothing"},
        {"take": "mine"},
        {"take": "ours", "id": "merge_1"},
        {"take": "ours", "sell": "fact_text"},
    ],
)
def test_an_unsound_choice_is_refused(core: Session, pair: Pair, choice: dict[str, Any]) -> None:
    refused(core, "invalid_request", pair, "auto", choices=[{"id": pair.conflict, **choice}])


@pytest.mark.line("S1-039", "S1-040")
def test_a_choice_for_a_row_of_neither_branch_is_refused(core: Session, pair: Pair) -> None:
    choices = [{"id": pair.conflict, "take": "ours"}, {"id": "fact_nobody", "take": "theirs"}]
    error = refused(core, "not_found", pair, "auto", choices=choices)
    assert error["details"] == {"ids": ["fact_nobody"]}
    merge(core, pair, choices=[{"id": pair.kept, "take": "theirs"}])


@pytest.mark.line("S1-009", "S1-040")
def test_a_chosen_time_is_kept_as_a_time(core: Session, pair: Pair) -> None:
    value = {"happened_at": "2026-05-01", "category": None, "confidence": 0.25}
    merge(core, pair, choices=[{"id": pair.conflict, "take": "value", "value": value}])
    diff = core.ok("memory_branch_diff", source_branch=pair.target, target_branch="empty")
    (fact,) = [fact for fact in diff["new_facts"] if fact["id"] == pair.conflict]
    assert fact["happened_at"] == "2026-05-01T00:00:00.000000+00:00"
    assert (fact["category"], fact["confidence"]) == (None, 0.25)


@pytest.mark.line("S1-038")
def test_a_preview_tells_the_merge_and_changes_nothing(core: Session, pair: Pair) -> None:
    before = core.everything(pair)
    plan = preview(core, pair)
    assert core.everything(pair) == before
    assert preview(core, pair)["digest"] == plan["digest"]
    effects = {row["text"]: row["effect"] for row in plan["rows"]}
    assert effects == {
        "changed": "changed",
        "removed": "removed",
        "conflict, source": "kept",
        "new": "new",
        "new too": "new",
        "a to b": "new",
    }
    done = merge(core, pair, expect=plan["digest"])
    for key in ("merged_count", "rejected_count", "conflicts"):
        assert done[key] == plan[key], key


def test_pending_rows_are_in_diff_and_preview_and_said(
    core: Session, pair: Pair, write: Write
) -> None:
    both = {"source_branch": pair.source, "target_branch": pair.target}
    assert core.ok("memory_branch_diff", **both)["read"]["pending"] == 0
    for text in ("waits", "waits too"):
        write(pair.source, text)
    diff = core.ok("memory_branch_diff", **both)
    assert [fact["fact_text"] for fact in diff["new_facts"]] == ["new", "waits", "waits too"]
    reads = [diff["read"], preview(core, pair)["read"]]
    reads += [
        core.ok("memory_branch_topology", root_branch=pair.source)["read"],
        core.ok("memory_branch_enrich", branch_name=pair.source)["read"],
        core.ok("memory_held", branch=pair.source)["read"],
        core.ok("memory_timeline", branch=pair.source)["read"],
    ]
    assert [read["pending"] for read in reads] == [2] * 6
    assert len({read["commit"] for read in reads}) == 1


def test_a_changed_plan_is_refused_under_expect(core: Session, pair: Pair, write: Write) -> None:
    digest = preview(core, pair)["digest"]
    late = write(pair.source, "late")
    error = refused(core, "plan_changed", pair, "auto", expect=digest)
    assert error["details"]["expected"] == digest
    assert error["details"]["digest"] == preview(core, pair)["digest"] != digest
    assert late in error["details"]["rows"]
    refused(core, "plan_changed", pair, "squash", expect=preview(core, pair)["digest"])


def test_unrelated_additions_to_the_target_disturb_no_plan(
    core: Session, pair: Pair, write: Write
) -> None:
    digest = preview(core, pair)["digest"]
    write(pair.target, "unrelated")
    assert merge(core, pair, expect=digest)["merged_count"] == 5


@pytest.mark.line("S1-040", "S1-088")
def test_the_agent_that_merges_is_the_author_of_its_choices(core: Session, pair: Pair) -> None:
    choice = {"id": pair.conflict, "take": "value", "value": {"fact_text": "settled"}}
    done = merge(core, pair, choices=[choice], agent_id="judge")
    state = core.everything(pair)
    (merged,) = [row for row in state["merges"] if done["merge_id"] in row]
    assert "judge" in merged
    edits = state[pair.target]["edits"]
    assert [e["agent_id"] for e in edits if e["row_id"] == pair.conflict][-1] == "judge"
