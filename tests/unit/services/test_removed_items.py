"""Removing items: whose they are, what goes with them, and what a file puts in their place."""

import json
from dataclasses import replace
from typing import Any

import pytest

from day1.errors import BranchProtected, InvalidRequest, Refused
from day1.model.branches.branch import MAIN
from day1.model.files import item_lines
from day1.model.files.item_lines import BadLine, read_lines
from day1.model.redaction.basis import BASIS, COMPACTED
from day1.model.rows.change import Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, RELATION, WHOLE
from day1.model.rows.origin import Origin
from day1.services.access.calls import Writing
from day1.services.branches.snapshots import snapshots
from day1.services.history.reverting import RevertRequest, revert
from day1.services.rows.recording import NewFact, fact_row
from day1.services.workspace.upkeep import compacting
from day1.services.workspace.upkeep.compacting import compact_working, plan_compaction
from day1.services.workspace.upkeep.importing import import_items
from day1.services.workspace.upkeep.removing import Owner
from day1.services.workspace.upkeep.replacing import Replaced, refuse_bad, replace_memory
from day1.services.workspace.upkeep.resetting import reset_memory
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.test_exchanged_items import OTHER, exported, rows, store, text, writing

IN_TASK = Origin("ada", task_id="t1")


def owned(bench: Bench, write: Writing) -> set[str]:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return {item.text for item in Owner.of(write).items(reading, bench.now)}


def left(bench: Bench) -> set[str]:
    return {str(row.get("fact_text") or row.get("summary")) for row in rows(bench)}


def by_another_tool(bench: Bench, words: str, **columns: Any) -> str:
    """Add a fact as the other systems do."""
    bench.now += 100
    with bench.store.adding(MAIN) as work:
        row = fact_row(bench.repo.new_id("fact", work.now), NewFact(words), ADA, work.now)
        work.add(FACT, [row | columns])
    return str(row["id"])


@pytest.fixture
def shared(bench: Bench) -> Bench:
    """A branch with memories of several agents, tools, tasks and spaces."""
    store(bench, "mine")
    store(bench, "mine, working", memory_type="working")
    store(bench, "mine, of a task", origin=IN_TASK)
    store(bench, "of bo", origin=OTHER)
    store(bench, "of bo in the task", origin=replace(OTHER, task_id="t1"))
    store(bench, "of nobody", origin=Origin())
    store(bench, "mine, in a space", space="project:x")
    store(bench, "of bo, in a space", space="project:x", origin=OTHER)
    by_another_tool(bench, "mine, by another tool")
    by_another_tool(bench, "of another tool, in a space", space="project:x")
    by_another_tool(bench, "secret, in a space", space="project:x", sensitivity="secret")
    return bench


@pytest.mark.parametrize(
    ("origin", "space", "texts"),
    [
        (ADA, None, {"mine", "mine, working", "mine, of a task"}),
        (OTHER, None, {"of bo", "of bo in the task"}),
        (Origin(), None, {"of nobody"}),
        (Origin("cy"), None, set()),
        (IN_TASK, None, {"mine", "mine, working", "mine, of a task", "of bo in the task"}),
        (ADA, "project:x", {"mine, in a space", "of bo, in a space", "of another tool, in a space"}),
        (ADA, "project:y", set()),
    ],
)  # fmt: skip
def test_whose_memory_a_call_may_remove(
    shared: Bench, origin: Origin, space: str | None, texts: set[str]
) -> None:
    write = writing(shared, origin, space)
    assert owned(shared, write) == texts
    before = left(shared)
    done = reset_memory(write)
    assert left(shared) == before - texts
    assert done.deleted == len(texts)
    assert done.kept == len(before) - len(texts) - 1, "of the secret nobody is told"
    assert (done.snapshot_id is None) == (not texts)
    assert {line.content for line in done.backup.lines} == texts


def test_links_go_with_their_ends_and_edits_say_who_removed_them(bench: Bench) -> None:
    mine = store(bench, "mine")
    theirs = store(bench, "theirs", mine, origin=OTHER)
    store(bench, "theirs too", theirs, origin=OTHER)
    done = reset_memory(writing(bench))
    assert left(bench) == {"theirs", "theirs too"}
    (link,) = rows(bench, RELATION)
    assert mine not in {link["source_entity"], link["target_entity"]}
    edits = rows(bench, EDIT)
    assert [edit["cell"] for edit in edits] == [WHOLE, WHOLE]
    assert {edit["row_kind"] for edit in edits} == {"facts", "relations"}
    assert {(edit["agent_id"], edit["reason"]) for edit in edits} == {("ada", "reset")}
    assert json.loads(done.backup.jsonl)["linked_ids"] == [theirs]
    (newest, *_) = bench.store.history.log(MAIN)
    assert (newest.id, newest.op) == (done.after.tip, "remove")


def test_a_backup_of_a_space_names_no_row_of_another(bench: Bench) -> None:
    elsewhere = store(bench, "elsewhere", space="project:y")
    here = store(bench, "here", elsewhere, space="project:x")
    store(bench, "here too", here, space="project:x")
    before = text(bench, "project:x")
    done = reset_memory(writing(bench, space="project:x"))
    assert done.backup.jsonl == before
    assert elsewhere not in before
    assert rows(bench, RELATION) == []


def test_a_snapshot_is_kept_and_a_revert_brings_all_back(bench: Bench) -> None:
    store(bench, "two", store(bench, "one"))
    lines, links = text(bench), rows(bench, RELATION)
    done = reset_memory(writing(bench))
    (taken,) = snapshots(bench.repo, None)
    assert (taken.id, taken.label) == (done.snapshot_id, "before a reset")
    revert(bench.repo, RevertRequest(bench.branch(), done.after.tip), ADA)
    assert (text(bench), rows(bench, RELATION)) == (lines, links)


def test_without_anything_to_remove_there_is_no_commit(bench: Bench) -> None:
    store(bench, "of bo", origin=OTHER)
    before = bench.store.history.branches()
    done = reset_memory(writing(bench))
    assert (done.deleted, done.kept, done.backup.jsonl) == (0, 1, "")
    assert bench.store.history.branches() == before
    assert snapshots(bench.repo, None) == []


def test_what_no_answer_can_hold_is_not_removed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(bench, "one", memory_type="working")
    monkeypatch.setattr(item_lines, "MOST_BYTES", 100)
    for remove in (
        lambda: reset_memory(writing(bench)),
        lambda: bring(bench, {"content": "two"}),
        lambda: compact_working(writing(bench), 0),
    ):
        with pytest.raises(Refused, match="day1 backup"):
            remove()
        assert left(bench) == {"one"}


def bring(bench: Bench, *lines: dict[str, Any], origin: Origin = ADA) -> Replaced:
    bench.now += 100
    file = "\n".join(map(json.dumps, lines))
    return replace_memory(writing(bench, origin), read_lines(file).items)


def test_a_file_takes_the_place_of_what_the_caller_owns(bench: Bench) -> None:
    store(bench, "theirs", store(bench, "old"), origin=OTHER)
    lines: list[dict[str, Any]] = [
        {"id": "1", "content": "new"},
        {"id": "2", "content": "also", "linked_ids": ["1"]},
    ]
    done = bring(bench, *lines)
    assert left(bench) == {"theirs", "new", "also"}
    assert (done.deleted, done.kept, len(done.incoming.fresh)) == (1, 1, 2)
    assert [line.content for line in done.backup.lines] == ["old"]
    assert len(rows(bench, RELATION)) == 1
    (newest, *_) = bench.store.history.log(MAIN)
    assert (newest.id, newest.line) == (done.after.tip, "replace 1 memories by 2")
    (taken,) = snapshots(bench.repo, None)
    assert (taken.id, taken.label) == (done.snapshot_id, "before a restore")


def test_a_backup_replaces_what_replaced_it_byte_for_byte(bench: Bench) -> None:
    first = store(bench, "one", tags=("a",), happened_at=5)
    store(bench, "two", first, memory_type="working", source="notes")
    before = text(bench)
    ids = [line["id"] for line in exported(bench)]
    changed = [{**line, "content": f"{line['content']}!"} for line in exported(bench)]
    done = bring(bench, *changed, {"content": "three"})
    assert (done.deleted, len(done.incoming.fresh)) == (2, 3)
    assert not {*ids} & {line["id"] for line in exported(bench)}, "their ids have other words"
    again = bring(bench, *(json.loads(line) for line in done.backup.jsonl.splitlines()))
    assert (again.deleted, list(again.incoming.fresh)) == (3, ids)
    assert text(bench) == before


def test_what_the_file_has_as_it_is_stays_and_the_same_file_changes_nothing(bench: Bench) -> None:
    first = store(bench, "one")
    second = store(bench, "two", first)
    third = store(bench, "three", first)
    lines = exported(bench)
    lines[0]["linked_ids"] = lines[1]["linked_ids"] = []
    done = bring(bench, *lines)
    assert (done.deleted, done.incoming.fresh) == (0, {})
    assert [(same.number, same.row_id) for same in done.incoming.duplicates] == [
        (1, first),
        (2, second),
        (3, third),
    ]
    (link,) = rows(bench, RELATION)
    assert {link["source_entity"], link["target_entity"]} == {first, third}
    tip = done.after.tip
    assert bring(bench, *lines).after.tip == tip
    foreign: list[dict[str, Any]] = [
        {"id": "1", "content": "one"},
        {"id": "2", "content": "four", "linked_ids": ["1"]},
    ]
    done = bring(bench, *foreign)
    assert bring(bench, *foreign).after.tip == done.after.tip


def test_another_time_is_another_item(bench: Bench) -> None:
    store(bench, "one")
    (line,) = exported(bench)
    done = bring(bench, {**line, "created_at": "2020-01-01T00:00:00Z"})
    assert (done.deleted, len(done.incoming.fresh)) == (1, 1)
    assert exported(bench)[0]["created_at"] == "2020-01-01T00:00:00.000000+00:00"


def test_a_line_that_others_have_is_a_duplicate(bench: Bench) -> None:
    theirs = store(bench, "one", origin=OTHER)
    store(bench, "two")
    done = bring(bench, {"content": "one"})
    assert [same.row_id for same in done.incoming.duplicates] == [theirs]
    assert left(bench) == {"one"}


def test_a_line_that_may_not_come_in_removes_nothing(bench: Bench) -> None:
    store(bench, "one")
    with pytest.raises(InvalidRequest, match=r"Line 2 .* its valid time has ended") as refused:
        bring(bench, {"content": "two"}, {"content": "b", "expires_at": "1970-01-01"})
    assert (refused.value.details["line"], refused.value.details["mode"]) == (2, "replace")
    assert left(bench) == {"one"}


def test_a_file_with_bad_lines_names_the_first() -> None:
    refuse_bad([])
    bad = [BadLine(9, "it is cut off, or not JSON"), BadLine(7, "it has no text")]
    with pytest.raises(
        InvalidRequest, match=r"Line 7 .*: it has no text\. 2 lines are bad\."
    ) as refused:
        refuse_bad(bad)
    errors = [{"line": 7, "error": "it has no text"}, {"line": 9, "error": bad[0].error}]
    assert refused.value.details["errors"] == errors
    assert refused.value.details["error_count"] == 2


def notes(bench: Bench, count: int, **more: Any) -> list[str]:
    return [store(bench, f"note {n}", memory_type="working", **more) for n in range(count)]


def test_the_oldest_notes_become_one_fact_that_names_them(bench: Bench) -> None:
    fact = store(bench, "a fact")
    ids = notes(bench, 5)
    store(bench, "an event", memory_type="episodic")
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        plan = plan_compaction(reading, Owner("project:x"), 2, bench.now)
        assert (plan.compacted, plan.kept) == ([], 0)
        plan = plan_compaction(reading, Owner(None, "ada"), 2, bench.now)
    assert ([item.id for item in plan.compacted], plan.kept) == (ids[:3], 2)
    done = compact_working(writing(bench), 2)
    assert [item.id for item in done.plan.compacted] == ids[:3]
    assert left(bench) >= {"note 3", "note 4", "a fact", "an event"}
    (summary,) = (row for row in rows(bench, FACT) if row["id"] != fact)
    assert summary["id"] == done.summary_id
    assert str(summary["fact_text"]).splitlines()[1:] == ["- note 0", "- note 1", "- note 2"]
    assert read_detail(summary["detail"])["sources"] == ids[:3]
    edits = {str(edit["cell"]): edit for edit in rows(bench, EDIT)}
    assert json.loads(str(edits[BASIS]["reason"])) == ids[:3]
    assert edits[BASIS]["row_id"] == summary["id"]
    assert edits[WHOLE]["reason"] == f"{COMPACTED}{summary['id']}"
    assert len(rows(bench, EDIT)) == 4
    (newest, *_) = bench.store.history.log(MAIN)
    assert (newest.id, newest.op) == (done.after.tip, "change")
    back = bring_back(bench, done.plan.backup.jsonl)
    assert back == ids[:3]
    assert compact_working(writing(bench), 5).summary_id is None


def bring_back(bench: Bench, jsonl: str) -> list[str]:
    done = import_items(writing(bench), read_lines(jsonl).items, dedupe=True)
    return list(done.incoming.fresh)


def test_notes_of_others_and_notes_that_end_are_left(bench: Bench) -> None:
    notes(bench, 2, origin=OTHER)
    notes(bench, 2, expires_at=10**9)
    ids = notes(bench, 2)
    done = compact_working(writing(bench), 0)
    assert [item.id for item in done.plan.compacted] == ids
    assert len(rows(bench, OBSERVATION)) == 4


def test_a_note_is_as_old_as_what_it_tells_of(bench: Bench) -> None:
    newest = store(bench, "late", memory_type="working", happened_at=900)
    oldest = store(bench, "early", memory_type="working", happened_at=1)
    done = compact_working(writing(bench), 1)
    assert [item.id for item in done.plan.compacted] == [oldest]
    assert [row["id"] for row in rows(bench, OBSERVATION)] == [newest]


def test_a_summary_quotes_some_and_at_most_a_thousand_become_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "_MAX_COMPACTED", 3)
    monkeypatch.setattr(compacting, "_MAX_QUOTED", 2)
    ids = notes(bench, 4)
    done = compact_working(writing(bench), 0)
    assert ([item.id for item in done.plan.compacted], done.plan.kept) == (ids[:3], 1)
    (summary,) = rows(bench, FACT)
    lines = str(summary["fact_text"]).splitlines()
    assert lines[1:] == ["- 1 older ones", "- note 1", "- note 2"]
    assert lines[0] == "Summary of 3 working memories, from 1970-01-01 to 1970-01-01:"


def test_a_branch_that_was_protected_meanwhile_is_left(bench: Bench) -> None:
    notes(bench, 1)
    write = writing(bench)
    bench.repo.ledger.put_branch(replace(bench.branch(), protection=("review",)))
    for remove in (lambda: reset_memory(write), lambda: compact_working(write, 0)):
        with pytest.raises(BranchProtected):
            remove()
    with pytest.raises(BranchProtected):
        replace_memory(write, read_lines('{"content": "a"}').items)
    assert left(bench) == {"note 0"}
