"""What `plan_merge` alone decides; the contract suite asks the same of whole stores."""

from dataclasses import replace
from typing import Any

import pytest

from day1.model.merge.held import HeldItem, held_id, value_json
from day1.model.merge.plan import Sides, plan_merge
from day1.model.merge.row_merge import Choice
from day1.model.rows.change import Changes, RowChange
from day1.model.rows.kind import CONVERSATION, EDIT, FACT, MESSAGE, WHOLE, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.services.rows.recording import EditedCells, NewFact, edit_rows, fact_row, new_row


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


def superseded(fact_id, by, **columns):
    return fact(fact_id, status="superseded", superseded_by=by, **columns)


OLD, NEW = fact("fact_a"), fact("fact_b")
REPLACED = superseded("fact_a", "fact_b")
"""A fact on both sides, and the new fact that supersedes it on the source."""


@pytest.mark.parametrize(
    ("choice", "writes"),
    [
        (Choice("fact_a", "theirs"), {"fact_a": REPLACED, "fact_b": NEW}),
        (Choice("fact_a", "theirs", "status"), {"fact_a": REPLACED, "fact_b": NEW}),
        (Choice("fact_a", "ours", "status"), {}),
        (Choice("fact_a", "ours"), {}),
    ],
)
def test_a_new_fact_goes_the_way_of_the_chosen_supersession(choice, writes):
    ours = superseded("fact_a", "fact_ours")
    side = sides([(OLD, REPLACED), (None, NEW)], [ours, fact("fact_ours")])
    plan = plan_merge(side, "auto", [choice])
    assert plan.writes.get("facts", {}).keys() >= writes.keys()
    for row_id, row in writes.items():
        assert plan.writes["facts"][row_id] == row
    assert "fact_a" not in {row.id for row, _ in plan.holds}


def test_a_chosen_supersession_brings_a_new_fact_that_a_pick_left_out():
    side = sides([(OLD, REPLACED), (None, NEW)], [OLD])
    plan = plan_merge(side, "cherry_pick", [Choice("fact_a", "theirs")], ["fact_a"])
    assert plan.writes == {"facts": {"fact_a": REPLACED, "fact_b": NEW}}
    other = plan_merge(side, "cherry_pick", [Choice("fact_a", "skip")], ["fact_a"])
    assert other.writes == {}


def test_a_chain_of_new_facts_comes_along_with_the_chosen_one():
    chain = [(OLD, REPLACED), (None, superseded("fact_b", "fact_c")), (None, fact("fact_c"))]
    plan = plan_merge(
        sides(chain, [OLD]), "cherry_pick", [Choice("fact_a", "theirs", "status")], ["fact_a"]
    )
    assert {*plan.writes["facts"]} == {"fact_a", "fact_b", "fact_c"}


def test_a_supersession_is_held_without_its_new_fact():
    side = sides([(OLD, {**REPLACED, "valid_until": 5}), (None, NEW)], [OLD])
    plan = plan_merge(side, "auto", [Choice("fact_b", "skip")])
    assert plan.writes == {}
    why = {row.id: (row.held, row.belongs_to) for row in plan.rows}
    assert why["fact_a"] == ({"status": "belongs_to"}, None)
    assert why["fact_b"] == ({WHOLE: "skipped"}, None)


def test_a_new_superseded_fact_is_kept_out_with_the_fact_that_a_choice_declines():
    changes = [(None, REPLACED), (None, NEW)]
    plan = plan_merge(sides(changes), "auto", [Choice("fact_b", "ours")])
    assert plan.writes == {}
    assert [(row.id, cell, row.belongs_to) for row, cell in plan.holds] == [
        ("fact_a", WHOLE, "fact_b")
    ]
    assert [row.id for row in plan.declines] == ["fact_b"]


def test_a_fact_whose_successor_neither_side_has_stays_superseded_by_none_that_is_named():
    plan = plan_merge(sides([(OLD, superseded("fact_a", "fact_gone"))], [OLD]), "auto", ())
    assert plan.writes == {"facts": {"fact_a": {**REPLACED, "superseded_by": None}}}
    assert plan.holds == ()


def test_messages_are_held_with_their_conversation_and_come_with_it():
    talk = new_row(CONVERSATION, "conv_a", {"title": "Talk"}, Origin(), 1)
    said: Row = {"content": "x", "conversation_id": "conv_a", "role": "user"}
    message = new_row(MESSAGE, "msg_a", said, Origin(), 1)
    changes: Changes = {
        "conversations": [RowChange("conv_a", None, talk)],
        "messages": [RowChange("msg_a", None, message)],
    }
    side = replace(sides(), changes=changes)
    plan = plan_merge(side, "auto", ())
    assert plan.writes == {"conversations": {"conv_a": talk}, "messages": {"msg_a": message}}
    held = plan_merge(side, "auto", [Choice("conv_a", "skip")])
    assert held.writes == {}
    assert {row.id: (row.held, row.belongs_to) for row in held.rows} == {
        "conv_a": ({WHOLE: "skipped"}, None),
        "msg_a": ({WHOLE: "belongs_to"}, "conv_a"),
    }
    chosen = plan_merge(side, "auto", [Choice("conv_a", "skip"), Choice("msg_a", "theirs")])
    assert chosen.writes == {"messages": {"msg_a": message}}


def test_a_row_that_a_choice_keeps_out_is_declined_unless_it_is_held_already():
    side = sides([(None, NEW)])
    choice = [Choice("fact_b", "ours")]
    assert [row.id for row in plan_merge(side, "auto", choice).declines] == ["fact_b"]
    assert plan_merge(side, "auto", ()).declines == ()
    known = replace(side, target_held=(open_item(NEW),))
    plan = plan_merge(known, "auto", choice)
    assert (plan.declines, [how for _, how in plan.closes]) == ((), ["dismissed"])


@pytest.mark.parametrize(
    ("take", "cell", "how"),
    [
        ("ours", "category", ["dismissed"]),
        ("theirs", "category", ["taken"]),
        ("value", "category", ["edited"]),
        ("theirs", WHOLE, ["taken"]),
        ("delete", WHOLE, ["edited"]),
        ("skip", "category", []),
        ("theirs", "status", []),
    ],
)
def test_a_choice_closes_the_open_item_of_its_cell(take, cell, how):
    theirs = {**OLD, "category": "theirs"}
    item = open_item(theirs, "category", "both_changed")
    value = {"category": "mine"} if take == "value" else None
    side = sides([(OLD, theirs)], [{**OLD, "category": "ours"}], target_held=[item])
    plan = plan_merge(side, "auto", [Choice("fact_a", take, cell, value)])
    assert [(one.id, ended) for one, ended in plan.closes] == [(item.id, one) for one in how]
