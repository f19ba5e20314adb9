"""What `plan_merge` alone decides; the contract suite asks the same of whole stores."""

from dataclasses import replace
from typing import Any

import pytest

from day1.model.merge.held import HeldItem, held_id, value_json
from day1.model.merge.plan import Sides, plan_merge
from day1.model.merge.row_merge import Choice
from day1.model.rows.change import RowChange
from day1.model.rows.kind import EDIT, FACT, WHOLE
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.services.rows.recording import EditedCells, NewFact, edit_rows, fact_row


def fact(fact_id, **columns):
    return {**fact_row(fact_id, NewFact("a"), Origin("ada"), 1), **columns}


def sides(changes=(), target=(), source=(), target_held=(), edits=()):
    """The source's changes as (before, after), and rows of both sides."""
    rows = [RowChange((after or before)["id"], before, after) for before, after in changes]
    new = [RowChange(edit["id"], None, edit) for edit in edits]
    return Sides(
        {table: found for table, found in (("facts", rows), ("edits", new)) if found},
        {row["id"]: row for row in source},
        {row["id"]: row for row in target},
        (),
        tuple(target_held),
        "branch_side",
    )


def open_item(row, cell=WHOLE, reason="delete_modify"):
    value = value_json(FACT, row, cell)
    item = held_id(row["id"], cell, "commit")
    return HeldItem(
        item, row["id"], FACT, cell, None, value, "branch_side", "commit", "merge_1", reason, 1
    )


def test_a_row_with_an_open_item_is_not_written_cell_by_cell():
    base = fact("fact_a")
    theirs, item = {**base, "category": "theirs"}, open_item(fact("fact_a", category="held"))
    plan = plan_merge(sides([(base, theirs)], [base], target_held=[item]), "auto", ())
    assert plan.writes == {}
    assert (plan.merged_count, plan.rejected_count) == (0, 1)
    assert [cell for _, cell in plan.holds] == ["category"]


@pytest.mark.parametrize("names", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_a_chain_of_supersessions_is_held_whole_in_whatever_order_it_comes(names):
    old, new, newest = (f"fact_{name}" for name in names)
    base = fact(old)
    changes = [
        (base, {**base, "status": "superseded", "superseded_by": new}),
        (None, fact(new, status="superseded", superseded_by=newest)),
        (None, fact(newest)),
    ]
    changes.sort(key=lambda change: change[1]["id"])
    ours = {**base, "status": "superseded", "superseded_by": "fact_ours"}
    plan = plan_merge(sides(changes, [ours]), "auto", ())
    assert plan.writes == {}
    assert {(row.id, cell) for row, cell in plan.holds} == {
        (old, "status"),
        (new, WHOLE),
        (newest, WHOLE),
    }


@pytest.mark.parametrize("writer", ["source", "target"])
def test_a_verdict_on_the_old_text_lapses_the_one_on_the_new(writer):
    base = fact("fact_a")
    judged = {**base, "verification": "invalidated", "scores": "[0]"}
    text = {"fact_text": "new", "content_hash": content_hash("new")}
    wrote = {**base, **text, "verification": "verified", "scores": "[1]"}
    theirs, ours = (wrote, judged) if writer == "source" else (judged, wrote)
    plan = plan_merge(sides([(base, theirs)], [ours]), "auto", ())
    (row,) = plan.rows
    assert row.held == {}
    assert row.result == {**base, **text, "verification": "unverified", "scores": None}


def test_a_pick_takes_the_edits_of_its_rows_and_no_others():
    rows = [fact("fact_a", category="new"), fact("fact_b", category="new")]
    edits = [
        edit
        for row in rows
        for edit in edit_rows(
            EditedCells(FACT, row, ["category"]),
            Origin(),
            2,
            lambda *_, row=row: f"edit_{row['id']}",
        )
    ]
    changes = [(fact(row["id"]), row) for row in rows]
    found = sides(changes, [fact("fact_a"), fact("fact_b")], edits=edits)
    assert set(plan_merge(found, "cherry_pick", (), ["fact_a"]).writes[EDIT.table]) == {
        "edit_fact_a"
    }
    assert len(plan_merge(found, "auto", ()).writes[EDIT.table]) == 2


def test_the_digest_names_all_that_is_decided():
    base = fact("fact_a")
    theirs = {**base, "category": "theirs"}
    found = sides([(base, theirs)], [base])
    digest = plan_merge(found, "auto", ()).digest
    assert digest == plan_merge(found, "auto", ()).digest
    other_text = {"fact_text": "b", "content_hash": content_hash("b")}
    choices = [Choice("fact_a", "ours", "category"), Choice("fact_a", "skip", "confidence")]
    others: list[Any] = [
        plan_merge(found, "squash", ()).digest,
        plan_merge(found, "auto", choices[:1]).digest,
        plan_merge(found, "auto", choices).digest,
        plan_merge(replace(found, target={"fact_a": {**base, "confidence": 0.5}}), "auto", ()),
        plan_merge(sides([(base, {**theirs, **other_text})], [base]), "auto", ()),
        plan_merge(sides([(base, theirs), (None, fact("fact_b"))], [base]), "auto", ()),
        plan_merge(replace(found, target_held=(open_item(theirs),)), "auto", ()),
    ]
    digests = {digest, *(other if isinstance(other, str) else other.digest for other in others)}
    assert len(digests) == 1 + len(others)
    assert plan_merge(found, "auto", choices[::-1]).digest == others[2]


def test_the_digest_does_not_hang_on_rows_that_do_not_matter():
    base = fact("fact_a")
    found = sides([(base, {**base, "category": "theirs"})], [base])
    busy = replace(found, target={**found.target, "fact_b": fact("fact_b")})
    later = replace(found, target={"fact_a": {**base, "agent_id": "other", "created_at": 9}})
    digests = {plan_merge(each, "auto", ()).digest for each in (found, busy, later)}
    assert len(digests) == 1
