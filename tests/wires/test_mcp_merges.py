"""Merging over MCP: what is taken, counted, held, refused, and that nothing is lost."""

from contextlib import ExitStack
from typing import Any

import pytest

from tests.engine import beside
from tests.wires.conftest import Fork, Write
from tests.wires.diverged_branches import Pair, facts, item, merge, refused
from tests.wires.mcp_session import Session

NULLABLE = "string|null = null"
CHOICES = (
    '[{id: string!, take: ours|theirs|value|delete|skip!, cell: string|null = "*", '
    "value: object|null = null}]|null = null"
)
MERGED = {"merged_count", "rejected_count", "merge_id", "conflicts", "left", "review_id", "written"}


@pytest.mark.line("S1-037")
def test_branch_merge_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_branch_merge") == {
        "source_branch": "string!",
        "target_branch": 'string|null = "main"',
        "strategy": "auto|cherry_pick|squash!",
        "items": "[string]|null = null",
        "choices": CHOICES,
        "expect": NULLABLE,
        **dict.fromkeys(("agent_id", "session_id", "task_id"), NULLABLE),
    }


@pytest.mark.line("S1-005", "S1-037")
@pytest.mark.parametrize("given", [{}, {"target_branch": None, "items": None, "choices": None}])
def test_a_merge_goes_to_main_unless_told(
    core: Session, fork: Fork, write: Write, given: dict[str, None]
) -> None:
    source = fork("main")
    fact = write(source, f"into main {len(given)}")
    done = core.ok("memory_branch_merge", source_branch=source, strategy="auto", **given)
    assert done["written"]["branch"] == "main"
    assert fact in facts(core, "main")


@pytest.mark.line("S1-038", "S1-040")
def test_auto_takes_what_does_not_conflict_and_holds_the_rest(core: Session, pair: Pair) -> None:
    before = facts(core, pair.target)
    done = merge(core, pair)
    assert set(done) == MERGED
    assert (done["merged_count"], done["rejected_count"]) == (5, 1)
    assert done["merge_id"].startswith("merge_")
    assert done["left"] == []
    (conflict,) = done["conflicts"]
    assert (conflict["id"], conflict["cell"]) == (pair.conflict, "fact_text")
    assert (conflict["source"], conflict["target"]) == ("conflict, source", "conflict, target")

    after = facts(core, pair.target)
    assert pair.removed not in after
    assert after[pair.conflict] == "conflict, target"
    assert set(before.values()) - set(after.values()) == {"removed"}
    assert set(after.values()) - set(before.values()) == {"new", "new too"}
    assert len(core.found("memory_graph_query", entity="a", branch=pair.target)) == 1
    assert done["written"] == {
        "branch": pair.target,
        "commit": item(core, pair.target)["commit"],
        "pending": 0,
        "notes": [],
    }


@pytest.mark.line("S1-040")
def test_what_a_merge_held_is_listed_by_its_id_until_it_is_decided(
    core: Session, pair: Pair
) -> None:
    done = merge(core, pair)
    (held,) = core.ok("memory_held", branch=pair.target)["items"]
    assert held["merge_id"] == done["merge_id"]
    assert (held["row_id"], held["cell"], held["reason"]) == (
        pair.conflict,
        "fact_text",
        "both_changed",
    )
    assert held["present"] == {"fact_text": "conflict, target"}
    assert held["offered"] == {"fact_text": "conflict, source"}
    assert held["source_branch"] == pair.source
    assert item(core, pair.source)["status"] == "active", "not all of it is merged"
    diff = core.ok("memory_branch_diff", source_branch=pair.source, target_branch=pair.target)
    assert diff["held"] == [held["id"]]

    again = merge(core, pair)
    assert (again["merged_count"], again["rejected_count"]) == (0, 0), "nothing new"
    assert [i["id"] for i in core.ok("memory_held", branch=pair.target)["items"]] == [held["id"]]
    back = core.ok(
        "memory_branch_merge", source_branch=pair.target, target_branch=pair.source, strategy="auto"
    )
    assert back["merged_count"] == 1, "what only the target had"
    assert facts(core, pair.source)[pair.conflict] == "conflict, source", (
        "nor is the source overwritten"
    )
    taken = core.ok("memory_held", action="take", id=held["id"], branch=pair.target)
    assert (taken["decided"], taken["items"]) == (held["id"], [])
    assert facts(core, pair.target)[pair.conflict] == "conflict, source"


@pytest.mark.line("S1-038")
def test_nothing_to_merge_is_both_counts_zero_and_a_note(core: Session, pair: Pair) -> None:
    choice = {"id": pair.conflict, "take": "ours"}
    merge(core, pair, choices=[choice])
    tip = item(core, pair.target)["commit"]
    again = merge(core, pair)
    assert (again["merged_count"], again["rejected_count"]) == (0, 0)
    assert again["merge_id"].startswith("merge_")
    assert again["written"]["commit"] == tip
    assert again["written"]["notes"] == ["Nothing new to merge."]


@pytest.mark.line("S1-042")
def test_a_branch_is_merged_until_it_is_written_to(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    source = fork(branch)
    write(source, "one")
    assert item(core, source)["status"] == "active"
    core.ok("memory_branch_merge", source_branch=source, target_branch=branch, strategy="auto")
    assert item(core, source)["status"] == "merged"
    assert item(core, source)["closed"] is False
    core.ok("memory_branch_merge", source_branch=source, target_branch=branch, strategy="auto")
    assert item(core, source)["status"] == "merged", "up to date leaves it as it is"
    write(source, "two")
    assert item(core, source)["status"] == "active"


@pytest.mark.line("S1-037", "S1-038")
def test_a_pick_takes_the_items_as_they_are(core: Session, pair: Pair) -> None:
    diff = core.ok("memory_branch_diff", source_branch=pair.source, target_branch=pair.target)
    fact, seen = diff["new_facts"][0], diff["new_observations"][0]
    done = merge(core, pair, "cherry_pick", items=[fact["id"], seen["id"]])
    assert (done["merged_count"], done["rejected_count"]) == (2, 0)
    after = core.ok("memory_branch_diff", source_branch=pair.target, target_branch="empty")
    assert fact in after["new_facts"], "same id, every column"
    assert seen in after["new_observations"]
    assert pair.removed in facts(core, pair.target), "what was not picked stays"
    assert item(core, pair.source)["status"] == "active"
    rest = merge(core, pair)
    assert (rest["merged_count"], rest["rejected_count"]) == (3, 1), "picked ones merge silently"


@pytest.mark.line("S1-037")
def test_a_pick_brings_what_supersedes_the_picked_fact(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    old = write(branch, "Bo is ten.")
    source = fork(branch)
    new = core.ok("memory_supersede_fact", fact_id=old, fact_text="Bo is eleven.", branch=source)[
        "id"
    ]
    core.ok(
        "memory_branch_merge",
        source_branch=source,
        target_branch=branch,
        strategy="cherry_pick",
        items=[old],
    )
    assert facts(core, branch)[new] == "Bo is eleven."
    (hit,) = core.found("memory_search", query="Bo", search_type="keyword", branch=branch)
    assert hit["id"] == new, "the old one is out of search"


@pytest.mark.line("S1-037", "S1-038")
def test_a_pick_names_the_facts_that_a_picked_fact_supersedes(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    old, other = write(branch, "Bo is ten."), write(branch, "Cy is ten.")
    source = fork(branch)
    to_source = {"source_branch": source, "target_branch": branch, "strategy": "cherry_pick"}
    new = core.ok("memory_supersede_fact", fact_id=old, fact_text="Bo is 11.", branch=source)["id"]
    core.ok("memory_supersede_fact", fact_id=other, fact_text="Cy is 11.", branch=source)
    done = core.ok("memory_branch_merge", **to_source, items=[new])
    assert done["left"] == [old]
    (note,) = done["written"]["notes"]
    assert note == (
        f"{old} stays active on {branch} beside {new}, which supersedes it on {source}: "
        f'memory_branch_merge(source_branch="{source}", target_branch="{branch}", '
        f'strategy="cherry_pick", items=["{old}"]) supersedes it on {branch} too.'
    )
    active = {hit["id"] for hit in core.found("memory_search", query="Bo", branch=branch)}
    assert {old, new} <= active
    done = core.ok("memory_branch_merge", **to_source, items=[old])
    assert (done["left"], done["written"]["notes"]) == ([], [])
    active = {hit["id"] for hit in core.found("memory_search", query="Bo", branch=branch)}
    assert active & {old, new} == {new}


@pytest.mark.line("S1-037", "S1-038")
def test_a_new_fact_that_a_pick_skips_is_not_named_as_superseded(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    source = fork(branch)
    skipped, picked = write(source, "one"), write(source, "two")
    done = core.ok(
        "memory_branch_merge",
        source_branch=source,
        target_branch=branch,
        strategy="cherry_pick",
        items=[skipped, picked],
        choices=[{"id": skipped, "take": "skip"}],
    )
    assert (done["merged_count"], done["rejected_count"]) == (1, 1)
    assert (done["left"], done["written"]["notes"]) == ([], [])


@pytest.mark.line("S1-039")
@pytest.mark.parametrize("items", [None, []])
def test_a_pick_without_items_is_refused(
    core: Session, pair: Pair, items: list[str] | None
) -> None:
    error = refused(core, "refused", pair, "cherry_pick", items=items)
    assert "`items`" in error["message"]


@pytest.mark.line("S1-039")
def test_unknown_items_are_named(core: Session, pair: Pair, write: Write) -> None:
    elsewhere = write(pair.target, "only on the target")
    items = [pair.kept, "fact_nobody", elsewhere]
    error = refused(core, "not_found", pair, "cherry_pick", items=items)
    assert error["details"]["ids"] == ["fact_nobody", elsewhere]
    assert "fact_nobody" in error["message"]
    assert pair.kept not in error["message"]


@pytest.mark.line("S1-037", "S1-039")
@pytest.mark.parametrize("strategy", ["auto", "squash"])
def test_items_go_with_a_pick_only(core: Session, pair: Pair, strategy: str) -> None:
    error = refused(core, "refused", pair, strategy, items=[pair.kept])
    assert "cherry_pick" in error["message"]


@pytest.mark.line("S1-041")
def test_a_squash_is_one_commit_and_closes_the_source(
    core: Session, pair: Pair, write: Write
) -> None:
    tip = item(core, pair.target)["commit"]
    done = merge(core, pair, "squash", choices=[{"id": pair.conflict, "take": "theirs"}])
    assert (done["merged_count"], done["rejected_count"]) == (6, 0)
    after = facts(core, pair.target)
    assert after[pair.conflict] == "conflict, source"
    assert {"new", "new too", "of the target"} <= set(after.values())

    with ExitStack() as opened:
        newest, *older = beside(core.folder, opened).history.log(pair.target)
    assert (newest.id, newest.op) == (done["written"]["commit"], "squash")
    ids = [commit.id for commit in older]
    assert newest.parents == (ids[0],)
    assert set(ids[: ids.index(tip)]) == set() or {c.op for c in older[: ids.index(tip)]} == {"add"}

    closed = item(core, pair.source)
    assert (closed["status"], closed["closed"]) == ("merged", True)


@pytest.mark.line("S1-041")
def test_a_closed_branch_takes_no_writes_and_no_merges(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    source, other = fork(branch), fork(branch)
    fact = write(source, "squashed")
    core.ok("memory_branch_merge", source_branch=source, target_branch=branch, strategy="squash")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_write_fact", {"fact_text": "late", "branch": source}),
        (
            "memory_write_observation",
            {"observation_type": "error", "summary": "late", "branch": source},
        ),
        (
            "memory_write_relation",
            {"source_entity": "a", "relation_type": "b", "target_entity": "c", "branch": source},
        ),
        ("memory_update_fact", {"fact_id": fact, "confidence": 0.1, "branch": source}),
        ("memory_supersede_fact", {"fact_id": fact, "fact_text": "late", "branch": source}),
        ("memory_retract_fact", {"fact_id": fact, "branch": source}),
        (
            "memory_branch_merge",
            {"source_branch": source, "target_branch": other, "strategy": "auto"},
        ),
        (
            "memory_branch_merge",
            {"source_branch": branch, "target_branch": source, "strategy": "auto"},
        ),
    ]
    for tool, arguments in calls:
        error = core.refused(tool, "branch_closed", **arguments)
        assert error["details"] == {"branch": source}
        assert "Fork a new branch" in error["message"]
    assert facts(core, source) == {fact: "squashed"}, "it can still be read"
    seen = core.ok("memory_branch_diff", source_branch=source, target_branch=other)
    assert [new["id"] for new in seen["new_facts"]] == [fact], "and be compared"


@pytest.mark.line("S1-040", "S1-041")
def test_a_squash_that_would_hold_is_refused_with_the_rows(core: Session, pair: Pair) -> None:
    error = refused(core, "would_hold", pair, "squash")
    assert error["details"] == {"rows": [{"id": pair.conflict, "cells": ["fact_text"]}]}
    assert "choices" in error["message"]
    assert item(core, pair.source)["closed"] is False


@pytest.mark.parametrize("strategy", ["auto", "squash", "cherry_pick"])
def test_a_branch_is_not_merged_into_itself(core: Session, pair: Pair, strategy: str) -> None:
    items = [pair.kept] if strategy == "cherry_pick" else None
    error = core.refused(
        "memory_branch_merge",
        "refused",
        source_branch=pair.source,
        target_branch=pair.source,
        strategy=strategy,
        items=items,
    )
    assert "into itself" in error["message"]


def test_merging_from_or_into_nowhere_is_refused(core: Session, pair: Pair) -> None:
    for source, target in ((pair.source, "nowhere"), ("nowhere", pair.target)):
        for tool, more in (
            ("memory_branch_merge", {"strategy": "auto"}),
            ("memory_branch_diff", {}),
            ("memory_merge_preview", {}),
        ):
            error = core.refused(
                tool, "unknown_branch", source_branch=source, target_branch=target, **more
            )
            assert error["details"] == {"branch": "nowhere"}


@pytest.mark.parametrize("take", ["value", "theirs"])
def test_a_choice_for_a_cell_of_a_row_that_one_side_has_is_refused(
    core: Session, pair: Pair, write: Write, take: str
) -> None:
    fresh = write(pair.source, "new, and to be worded otherwise")
    choice: dict[str, Any] = {"id": fresh, "cell": "fact_text", "take": take}
    if take == "value":
        choice["value"] = {"fact_text": "worded otherwise"}
    sides = {"source_branch": pair.source, "target_branch": pair.target}
    error = core.refused(
        "memory_branch_merge", "invalid_request", **sides, strategy="auto", choices=[choice]
    )
    assert "with cell `*`" in error["message"]
