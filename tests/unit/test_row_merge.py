"""The rule for one row of a merge, case by case: its cells, its presence, its verdict."""

from itertools import product

import pytest

from day1.model.merge.held import value_json
from day1.model.merge.row_merge import Choice, Held, PlanRow, merge_row, valid_time_cells
from day1.model.rows.kind import FACT, MESSAGE, RELATION, WHOLE
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, NewRelation, fact_row, relation_row

BASE = fact_row("fact_a", NewFact("a"), Origin("ada"), 1)
OURS = {**BASE, "category": "ours"}
THEIRS = {**BASE, "category": "theirs", "agent_id": "bo"}
JUDGED = {"verification": "verified", "scores": "[1]"}
UNJUDGED = {"verification": "unverified", "scores": None}
NOTHING = Held()
OPEN = Held(cells=frozenset({"category"}))
OPEN_WHOLE = Held(cells=frozenset({WHOLE}))


def merged(base, source, target, held=NOTHING, chosen=(), kind=FACT):
    """The row after the merge; without a decision the result is the target's side."""
    row = PlanRow(kind, "fact_a", base, source, target, target)
    merge_row(row, held, {choice.cell: choice for choice in chosen})
    return row


def choice(take, cell=WHOLE, **value):
    return Choice("fact_a", take, cell, value or None)


@pytest.mark.parametrize(
    ("held", "chosen", "category", "why"),
    [
        (NOTHING, [], "ours", {"category": "both_changed"}),
        (NOTHING, [choice("theirs", "category")], "theirs", {}),
        (NOTHING, [choice("ours", "category")], "ours", {}),
        (NOTHING, [choice("value", "category", category="mine", status="archived")], "mine", {}),
        (NOTHING, [choice("value", "category", status="archived")], "ours", {}),
        (NOTHING, [choice("value", "category")], "ours", {}),
        (NOTHING, [choice("skip", "category")], "ours", {"category": "skipped"}),
        (NOTHING, [choice("skip")], "ours", {"category": "skipped"}),
        (OPEN, [], "ours", {"category": "both_changed"}),
    ],
)
def test_a_cell_that_both_sides_changed_is_held_until_it_is_decided(held, chosen, category, why):
    row = merged(BASE, THEIRS, OURS, held, chosen)
    assert row.result == {**OURS, "category": category}
    assert row.held == why
    taken = [one.take for one in chosen if one.take != "skip"]
    assert list(row.decided.values()) == taken


@pytest.mark.parametrize("held", [OPEN, OPEN_WHOLE])
def test_a_cell_with_an_open_item_is_held_though_one_side_changed_it(held):
    row = merged(BASE, THEIRS, BASE, held)
    assert (row.result, row.held) == (BASE, {"category": "both_changed"})


def test_cells_that_different_sides_changed_come_together():
    ours = {**BASE, "confidence": 0.5, "happened_at": 7}
    theirs = {**THEIRS, "confidence": 0.25}
    row = merged(BASE, theirs, ours, chosen=[choice("ours", "confidence")])
    assert row.result == {**ours, "category": "theirs"}
    assert (row.held, row.decided) == ({}, {"confidence": "ours"})
    assert merged(BASE, BASE, OURS).result == OURS


@pytest.mark.parametrize(
    ("take", "value", "result"),
    [
        ("theirs", {}, {**THEIRS, "agent_id": "ada"}),
        ("ours", {}, OURS),
        ("delete", {}, None),
        ("value", {"category": "mine"}, {**OURS, "category": "mine"}),
        ("value", {"fact_text": "mine", **JUDGED}, {**OURS, "fact_text": "mine", **UNJUDGED}),
    ],
)
def test_a_decision_for_a_whole_row_decides_it(take, value, result):
    row = merged(BASE, THEIRS, OURS, OPEN_WHOLE, [choice(take, **value)])
    assert (row.result, row.held, row.decided) == (result, {}, {WHOLE: take})


def test_a_decision_for_a_row_that_one_side_lacks_starts_from_the_other():
    edited = choice("value", category="mine")
    assert merged(None, THEIRS, None, chosen=[edited]).result == {**THEIRS, "category": "mine"}
    assert merged(BASE, None, OURS, chosen=[edited]).result == {**OURS, "category": "mine"}
    assert merged(BASE, None, None, chosen=[edited]).result is None
    assert merged(None, THEIRS, None, chosen=[choice("theirs")]).result == THEIRS
    assert merged(BASE, None, OURS, chosen=[choice("theirs")]).result is None


SAME = frozenset({str(value_json(FACT, THEIRS, WHOLE))})
OTHER = frozenset({str(value_json(FACT, OURS, WHOLE))})


@pytest.mark.parametrize(
    ("base", "held", "skip", "comes", "why"),
    [
        (None, NOTHING, False, True, None),
        (None, NOTHING, True, False, "skipped"),
        (None, Held(target_removed=True), False, False, "delete_modify"),
        (None, Held(target_declined=SAME), False, False, None),
        (None, Held(target_declined=OTHER), False, False, "skipped"),
        (BASE, Held(target_declined=SAME), False, False, None),
        (BASE, Held(target_declined=OTHER), True, False, "skipped"),
    ],
)
def test_a_row_that_the_target_never_had_comes_whole_unless_it_was_declined(
    base, held, skip, comes, why
):
    row = merged(base, THEIRS, None, held, [choice("skip")] if skip else [])
    assert row.result == (THEIRS if comes else None)
    assert row.held == ({WHOLE: why} if why else {})


@pytest.mark.parametrize(
    ("source", "target", "held", "skip", "stays", "why"),
    [
        (None, BASE, NOTHING, False, False, None),
        (None, BASE, NOTHING, True, True, "skipped"),
        (None, BASE, OPEN, False, True, "delete_modify"),
        (None, OURS, NOTHING, False, True, "delete_modify"),
        (None, OURS, NOTHING, True, True, "skipped"),
        (None, OURS, Held(source_never_had=True), False, True, None),
        (None, None, OPEN, True, False, None),
        (BASE, None, NOTHING, False, False, None),
        (BASE, None, OPEN, False, False, "delete_modify"),
        (THEIRS, None, NOTHING, False, False, "delete_modify"),
        (THEIRS, None, NOTHING, True, False, "delete_modify"),
        (THEIRS, None, Held(source_never_had=True), False, False, "delete_modify"),
    ],
)
def test_a_removal_wins_only_over_a_row_that_nobody_changed(source, target, held, skip, stays, why):
    row = merged(BASE, source, target, held, [choice("skip")] if skip else [])
    assert row.result == (target if stays else None)
    assert row.held == ({WHOLE: why} if why else {})


@pytest.mark.parametrize(
    ("source", "target", "result"),
    [
        # One side wrote the text, the other judged the old one: its verdict lapses.
        (JUDGED, {"fact_text": "b"}, {"fact_text": "b", **UNJUDGED}),
        ({"fact_text": "b"}, JUDGED, {"fact_text": "b", **UNJUDGED}),
        # Who wrote the text also judged it.
        ({"fact_text": "b", **JUDGED}, {}, {"fact_text": "b", **JUDGED}),
        ({}, {"fact_text": "b", **JUDGED}, {"fact_text": "b", **JUDGED}),
        ({"scores": "[0]"}, {"fact_text": "b", **JUDGED}, {"fact_text": "b", **UNJUDGED}),
        # Nobody wrote another text: the verdicts merge like any cell.
        (JUDGED, {}, JUDGED),
        ({}, JUDGED, JUDGED),
        # Both wrote: the text is held, and the verdict stays with the target's.
        ({"fact_text": "b", **JUDGED}, {"fact_text": "c"}, {"fact_text": "c"}),
        ({"fact_text": "b"}, {"fact_text": "c", **JUDGED}, {"fact_text": "c", **JUDGED}),
    ],
)
def test_a_verdict_belongs_to_the_text_it_was_given_for(source, target, result):
    row = merged(BASE, {**BASE, **source}, {**BASE, **target})
    assert row.result == {**BASE, **result}
    assert "verification" not in row.held


def test_a_text_that_neither_side_has_is_unverified_unless_its_verdict_is_decided():
    sides = {**BASE, "fact_text": "b", **JUDGED}, {**BASE, "fact_text": "c", **JUDGED}
    mine = choice("value", "fact_text", fact_text="mine")
    row = merged(BASE, *sides, chosen=[mine])
    assert row.result == {**BASE, "fact_text": "mine", **UNJUDGED}
    row = merged(BASE, *sides, chosen=[mine, choice("theirs", "verification")])
    assert row.result == {**BASE, "fact_text": "mine", **JUDGED}


@pytest.mark.parametrize(("source", "target"), [("why", None), (None, "why"), (None, None)])
def test_what_an_export_leaves_out_comes_from_the_side_that_has_it(source, target):
    """A message that came without its thinking says nothing about it."""
    message = dict.fromkeys(MESSAGE.columns) | {"id": "msg_a"}
    row = merged(
        None, {**message, "thinking": source}, {**message, "thinking": target}, kind=MESSAGE
    )
    assert row.result == {**message, "thinking": source or target}
    assert row.held == {}


def test_thinking_that_one_side_removed_since_the_base_is_removed():
    message = dict.fromkeys(MESSAGE.columns) | {"id": "msg_a", "thinking": "why"}
    removed = {**message, "thinking": None}
    assert merged(message, removed, message, kind=MESSAGE).result == removed
    assert merged(None, {**message, "thinking": "b"}, message, kind=MESSAGE).held == {
        "thinking": "both_changed"
    }


RELATED = relation_row("rel_a", NewRelation("a", "is", "b"), Origin("ada"), 1)
TIMES = ("happened_at", "valid_until")


def versions(kind):
    """A row with every combination of a few times and, for a fact, two statuses."""
    start = BASE if kind is FACT else RELATED
    status = ("active", "archived") if kind is FACT else (None,)
    for happened_at, valid_until, name in product((None, 4, 6), (None, 5, 7), status):
        times = {"happened_at": happened_at, "valid_until": valid_until}
        yield {**start, **times, **({} if name is None else {"status": name})}


def times_of(row):
    return [row[column] for column in TIMES]


def sides_of(kind):
    return product(*3 * [list(versions(kind))])


@pytest.mark.parametrize("kind", [FACT, RELATION])
def test_valid_time_comes_from_one_side_and_the_other_one_is_held(kind):
    tied = valid_time_cells(kind)
    for base, source, target in sides_of(kind):
        row = merged(base, source, target, kind=kind)
        assert times_of(row.result) in (times_of(source), times_of(target))
        lost = any(source[c] not in (base[c], row.result[c]) for c in TIMES)
        assert not lost or not row.held.keys().isdisjoint(tied)
        for cell, why in row.held.items():
            assert why == "both_changed"
            columns = kind.group(cell)
            assert [row.result[c] for c in columns] == [target[c] for c in columns]
            assert [source[c] for c in columns] != [base[c] for c in columns]


@pytest.mark.parametrize("kind", [FACT, RELATION])
@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_side_that_is_chosen_for_one_time_is_chosen_for_the_other_that_is_held(kind, take):
    first, second = valid_time_cells(kind)
    for cell, other in ((first, second), (second, first)):
        for base, source, target in sides_of(kind):
            held = merged(base, source, target, kind=kind).held
            row = merged(base, source, target, chosen=[choice(take, cell)], kind=kind)
            assert {cell, other}.isdisjoint(row.held) or not {cell, other} <= held.keys()
            if {cell, other} <= held.keys():
                side = source if take == "theirs" else target
                assert times_of(row.result) == times_of(side)
                assert set(row.decided.values()) == {take}


def test_a_row_without_an_end_has_no_cells_of_valid_time():
    assert valid_time_cells(MESSAGE) == ()
