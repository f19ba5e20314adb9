"""Reviews over MCP: opened, shown, decided together, merged, closed, and kept over restarts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from day1.services.branches.lookup import find
from day1.services.branches.retiring import retire
from tests.flows.opened_store import opened as opened_store
from tests.wires.conftest import Fork, Write
from tests.wires.diverged_branches import Pair, facts
from tests.wires.mcp_session import Session
from tests.wires.review_calls import decide, groups, opened, row, shown

TEXT = "fact_text"


@pytest.fixture
def review(core: Session, pair: Pair) -> str:
    """Of the pair: one conflict, three new rows, one changed, one removed."""
    return opened(core, pair.source, pair.target, title="Tea", agent_id="ada")


def edit(core: Session, branch: str, fact: str, text: str, **more: Any) -> None:
    core.ok("memory_update_fact", fact_id=fact, fact_text=text, branch=branch, **more)


def merged(core: Session, review: str, **more: Any) -> dict[str, Any]:
    return core.ok("review_merge", review_id=review, **more)


def test_one_review_is_open_for_a_branch_and_its_target(
    core: Session, pair: Pair, review: str
) -> None:
    again = core.ok("review_open", source_branch=pair.source, target_branch=pair.target, title="x")
    assert (again["id"], again["title"], again["opened_by"]) == (review, "Tea", "ada")
    assert opened(core, pair.target, pair.source) != review
    core.ok("review_close", review_id=review, reason="no")
    assert opened(core, pair.source, pair.target) != review
    core.refused("review_open", "refused", source_branch=pair.source, target_branch=pair.source)


def test_a_review_groups_what_would_change_and_says_it_in_a_sentence(
    core: Session, pair: Pair, review: str
) -> None:
    answer = shown(core, review)
    assert groups(answer) == {"conflicts": 1, "new": 3, "changed": 1, "removed": 1}
    assert answer["summary"] == (
        f"{pair.source} into {pair.target}: 1 conflict, 3 new, 1 changed, 1 removed, 1 undecided."
    )
    assert [r["group"] for r in answer["rows"]] == [
        "conflicts",
        "new",
        "new",
        "new",
        "changed",
        "removed",
    ]
    assert answer["undecided"] == [{"id": pair.conflict, "cell": TEXT, "reason": "both_changed"}]
    assert answer["total"] == 6
    plan = core.ok("memory_merge_preview", source_branch=pair.source, target_branch=pair.target)
    assert answer["digest"] == plan["digest"]


def test_a_row_has_three_sides_their_words_and_who_wrote_them(
    core: Session, fork: Fork, write: Write
) -> None:
    target = fork()
    fact = write(target, "the gateway waits 30 seconds", agent_id="ada", session_id="s-1")
    source = fork(target)
    edit(core, source, fact, "the gateway waits 60 seconds", agent_id="bo", reason="measured")
    gone = write(target, "old")
    newer = fork(target)
    core.ok("memory_retract_fact", fact_id=gone, branch=newer, agent_id="cy")
    found = row(core, opened(core, source, target), fact)
    assert [found[side][TEXT][-10:] for side in ("base", "ours", "theirs")] == [
        "30 seconds",
        "30 seconds",
        "60 seconds",
    ]
    assert ["removed", "30"] in found["words"]
    assert ["added", "60"] in found["words"]
    wrote = {side: found[side] for side in ("ours_by", "theirs_by")}
    assert (wrote["ours_by"]["agent_id"], wrote["ours_by"]["session_id"]) == ("ada", "s-1")
    assert wrote["ours_by"]["branch"] == target
    assert (wrote["theirs_by"]["agent_id"], wrote["theirs_by"]["reason"]) == ("bo", "measured")
    removed = row(core, opened(core, newer, target), gone)
    assert removed["theirs"] is None
    assert removed["theirs_by"]["agent_id"] == "cy"


def test_a_page_is_a_part_of_the_rows(core: Session, review: str) -> None:
    ids = [r["id"] for r in shown(core, review)["rows"]]
    pages = [shown(core, review, offset=offset, limit=4) for offset in (0, 4, 8)]
    assert [[r["id"] for r in page["rows"]] for page in pages] == [ids[:4], ids[4:], []]
    assert {page["total"] for page in pages} == {6}


@pytest.mark.parametrize(
    ("take", "more", "text"),
    [
        ("ours", {}, "conflict, target"),
        ("theirs", {}, "conflict, source"),
        ("value", {"value": {TEXT: "conflict, both"}}, "conflict, both"),
        ("delete", {"cell": "*"}, None),
    ],
)
def test_a_decision_is_what_the_merge_does(
    core: Session, pair: Pair, review: str, take: str, more: dict[str, Any], text: str | None
) -> None:
    answer = decide(core, review, pair.conflict, take, **{"cell": TEXT, **more}, by="bo")
    assert (answer["undecided"], answer["decided"]) == ([], 1)
    (one,) = row(core, review, pair.conflict)["decisions"]
    assert (one["take"], one["by"], one["stale"]) == (take, "bo", False)
    done = merged(core, review, expect=answer["digest"])
    assert done["rejected_count"] == 0
    assert facts(core, pair.target).get(pair.conflict) == text
    assert core.ok("memory_held", branch=pair.target)["items"] == []


def test_what_is_undecided_or_skipped_is_held_and_the_merge_says_how_to_undo_it(
    core: Session, pair: Pair, review: str
) -> None:
    new = next(r["id"] for r in shown(core, review)["rows"] if r["group"] == "new")
    decide(core, review, new, "skip")
    answer = core.call("review_merge", {"review_id": review, "agent_id": "bo"})
    done = answer.structured
    assert done["rejected_count"] == 2
    assert {c["id"] for c in done["conflicts"]} == {pair.conflict, new}
    assert done["merge_id"] in answer.notes[0]
    assert "memory_revert" in answer.notes[0]
    closed = shown(core, review)
    assert (closed["status"], closed["merge_id"]) == ("merged", done["merge_id"])
    assert (closed["closed_by"], closed["rows"]) == ("bo", [])
    assert [d["id"] for d in closed["decisions"]] == [new]
    for tool in ("review_merge", "review_close"):
        core.refused(tool, "conflict", review_id=review)
    decisions = [{"id": new, "take": "theirs"}]
    core.refused("review_decide", "conflict", review_id=review, decisions=decisions)


def test_what_is_held_can_be_decided_in_a_later_review(
    core: Session, pair: Pair, review: str
) -> None:
    merged(core, review)
    later = opened(core, pair.source, pair.target)
    answer = shown(core, later)
    assert groups(answer) == {"held": 1}
    (found,) = answer["rows"]
    assert [h["cell"] for h in found["held"]] == [TEXT]
    assert answer["undecided"] == []
    decide(core, later, pair.conflict, "theirs", TEXT)
    merged(core, later)
    assert facts(core, pair.target)[pair.conflict] == "conflict, source"
    assert core.ok("memory_held", branch=pair.target)["items"] == []


def test_a_decision_stays_when_something_else_changes(
    core: Session, pair: Pair, review: str
) -> None:
    decide(core, review, pair.conflict, "theirs", TEXT)
    core.ok("memory_update_fact", fact_id=pair.conflict, category="x", branch=pair.target)
    edit(core, pair.source, pair.changed, "changed more")
    answer = shown(core, review)
    assert (answer["stale"], answer["undecided"]) == ([], [])
    merged(core, review)
    assert facts(core, pair.target)[pair.conflict] == "conflict, source"


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_decision_about_what_changed_since_is_stale_and_merges_nothing(
    core: Session, pair: Pair, review: str, side: str
) -> None:
    decide(core, review, pair.conflict, "theirs", TEXT)
    edit(core, getattr(pair, side), pair.conflict, "conflict, again")
    answer = shown(core, review)
    assert [(d["id"], d["take"]) for d in answer["stale"]] == [(pair.conflict, "theirs")]
    assert not answer["can_merge"]
    assert [c["id"] for c in answer["undecided"]] == [pair.conflict]
    error = core.refused("review_merge", "plan_changed", review_id=review)
    assert pair.conflict in error["message"]
    decide(core, review, pair.conflict, "theirs", TEXT)
    merged(core, review)
    texts = {"source": "conflict, again", "target": "conflict, source"}
    assert facts(core, pair.target)[pair.conflict] == texts[side]


def test_a_stale_decision_can_be_taken_back(core: Session, pair: Pair, review: str) -> None:
    new = next(
        r["id"] for r in shown(core, review)["rows"] if r["type"] == "fact" and r["group"] == "new"
    )
    decide(core, review, new, "theirs")
    core.ok("memory_retract_fact", fact_id=new, branch=pair.source)
    assert shown(core, review)["stale"]
    answer = decide(core, review, new, "clear")
    assert (answer["stale"], answer["decided"]) == ([], 0)
    merged(core, review)


def test_a_merge_is_of_the_plan_that_was_seen(core: Session, pair: Pair, review: str) -> None:
    digest = shown(core, review)["digest"]
    edit(core, pair.source, pair.changed, "changed more")
    core.refused("review_merge", "plan_changed", review_id=review, expect=digest)
    merged(core, review, expect=shown(core, review)["digest"])


def test_a_decision_is_of_the_row_that_was_seen(core: Session, pair: Pair, review: str) -> None:
    seen = row(core, review, pair.conflict)["seen"]
    decision = {"id": pair.conflict, "take": "theirs", "seen": seen}
    edit(core, pair.source, pair.conflict, "conflict, again")
    core.refused("review_decide", "plan_changed", review_id=review, decisions=[decision])
    seen = row(core, review, pair.conflict)["seen"]
    decide(core, review, pair.conflict, "theirs", seen=seen)


def test_decisions_on_what_is_not_there_or_makes_no_sense_are_refused(
    core: Session, pair: Pair, review: str
) -> None:
    for code, decision in (
        ("not_found", {"id": pair.kept, "take": "theirs"}),
        ("not_found", {"id": "fact_" + "0" * 26, "take": "theirs"}),
        ("invalid_request", {"id": pair.conflict, "take": "delete", "cell": TEXT}),
        ("invalid_request", {"id": pair.removed, "take": "theirs", "cell": TEXT}),
        ("invalid_request", {"id": pair.conflict, "take": "theirs", "cell": "colour"}),
        ("invalid_request", {"id": pair.conflict, "take": "value", "cell": TEXT}),
    ):
        core.refused("review_decide", code, review_id=review, decisions=[decision])
    core.refused("review_show", "not_found", review_id="review_0")


@pytest.mark.parametrize("mark", ["[secret]", "[redacted]", "[expired]"])
def test_what_stands_for_words_that_are_not_shown_is_no_value(
    core: Session, pair: Pair, mark: str
) -> None:
    """Whoever saw only that would write it over the words."""
    secret = {"fact_text": "The PIN is quokka.", "sensitivity": "secret", "branch": pair.source}
    fact = core.ok("memory_write_fact", **secret)["id"]
    review = opened(core, pair.source, pair.target)
    value = {"fact_text": mark, "confidence": 0.5}
    given = {"id": fact, "take": "value", "value": value}
    error = core.refused("review_decide", "invalid_request", review_id=review, decisions=[given])
    assert "Leave fact_text out" in error["message"]
    changed = {"fact_id": fact, "branch": pair.source, **value}
    core.refused("memory_update_fact", "invalid_request", **changed)
    decide(core, review, fact, "value", value={"confidence": 0.5})
    core.ok("review_merge", review_id=review)
    (kept,) = (
        row for row in core.everything([pair.target])[pair.target]["facts"] if row["id"] == fact
    )
    assert (kept["fact_text"], kept["confidence"]) == ("The PIN is quokka.", 0.5)


def test_the_newest_decision_counts_of_a_row_and_its_cells(
    core: Session, pair: Pair, review: str
) -> None:
    for take, cell in (("ours", TEXT), ("theirs", "*"), ("ours", TEXT)):
        decide(core, review, pair.conflict, take, cell)
        (one,) = row(core, review, pair.conflict)["decisions"]
        assert (one["take"], one["cell"]) == (take, cell)
    assert decide(core, review, pair.conflict, "clear")["decided"] == 0


def test_a_review_lists_what_it_would_do_until_it_is_closed(
    core: Session, pair: Pair, review: str
) -> None:
    (item,) = core.found("review_list", branch=pair.source)
    assert item["summary"] == shown(core, review)["summary"]
    assert [r["id"] for r in core.found("review_list", branch=pair.target)] == [review]
    closed = core.ok("review_close", review_id=review, reason="not now", agent_id="bo")
    assert (closed["status"], closed["reason"], closed["closed_by"]) == ("closed", "not now", "bo")
    assert core.found("review_list", branch=pair.source) == []
    (item,) = core.found("review_list", branch=pair.source, status="closed")
    assert "closed" in item["summary"]
    newer = opened(core, pair.source, pair.target)
    both = core.found("review_list", branch=pair.source, status="all")
    assert [r["id"] for r in both] == [newer, review]
    assert len(core.found("review_list", branch=pair.source, status="all", limit=1)) == 1


@pytest.mark.parametrize(
    ("strategy", "says", "code"),
    [
        ("auto", "nothing is left to merge", "conflict"),
        ("squash", "is closed", "branch_closed"),
    ],
)
def test_a_branch_that_was_merged_otherwise_leaves_nothing_to_merge(
    core: Session, fork: Fork, write: Write, strategy: str, says: str, code: str
) -> None:
    target = fork()
    source = fork(target)
    write(source, "new")
    review = opened(core, source, target)
    core.ok("memory_branch_merge", source_branch=source, target_branch=target, strategy=strategy)
    answer = shown(core, review)
    assert says in answer["summary"]
    assert not answer["can_merge"]
    core.refused("review_merge", code, review_id=review)
    core.ok("review_close", review_id=review)


def test_a_review_of_a_retired_branch_says_how_to_go_on(
    core: Session, pair: Pair, review: str
) -> None:
    with opened_store(core.folder) as store:
        retire(store.repo, find(store.repo, pair.source), 1)
    error = core.refused("review_merge", "conflict", review_id=review)
    assert f'memory_branch_revive(branch_name="{pair.source}") brings it back' in error["message"]
    assert [step["operation"] for step in error["next"]] == ["memory_branch_revive", "review_close"]


def test_a_squash_decides_everything_and_closes_the_branch(
    core: Session, pair: Pair, review: str
) -> None:
    core.refused("review_merge", "would_hold", review_id=review, strategy="squash")
    digest = decide(core, review, pair.conflict, "ours")["digest"]
    merged(core, review, strategy="squash", expect=digest)
    core.refused("memory_write_fact", "branch_closed", fact_text="x", branch=pair.source)


def test_what_a_review_says_of_a_redacted_row_goes_with_it(
    core: Session, fork: Fork, write: Write
) -> None:
    target = fork()
    fact = write(target, "the door opens with plugh")
    source = fork(target)
    edit(core, source, fact, "the door opens with xyzzy")
    review = opened(core, source, target, title="the door opens with xyzzy")
    decide(core, review, fact, "value", TEXT, value={TEXT: "it was plover"})
    core.ok("memory_redact", id=fact, confirm=fact)
    answer = shown(core, review)
    assert not {"plugh", "xyzzy", "plover"} & set(re.findall(r"\w+", json.dumps(answer)))
    assert answer["decided"] == 0


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_review_survives_restarts_and_goes_on_in_another_process(store: Path) -> None:
    with Session(store) as first:
        fact = first.ok("memory_write_fact", fact_text="30 seconds")["id"]
        first.ok("memory_branch_create", branch_name="side")
        edit(first, "side", fact, "60 seconds")
        edit(first, "main", fact, "45 seconds")
        review = opened(first, "side", "main")
        decide(first, review, fact, "value", TEXT, value={TEXT: "50 seconds"}, by="ada")
    with Session(store) as second, Session(store) as third:
        (one,) = row(second, review, fact)["decisions"]
        assert (one["value"], one["by"], one["stale"]) == ({TEXT: "50 seconds"}, "ada", False)
        done = merged(third, review)
        assert shown(second, review)["merge_id"] == done["merge_id"]
        assert facts(second, "main") == {fact: "50 seconds"}
