"""Items that merges held: which are open, which keep a row out, and what closes them."""

from dataclasses import replace

import pytest

from day1.model.merge.held import (
    WITHHELD,
    HeldItem,
    closing_row,
    closings,
    keeps_out,
    kept_out,
    open_items,
    same_value,
    value_json,
    value_of,
)
from day1.model.rows.json_columns import read_side
from day1.model.rows.kind import FACT, HELD, WHOLE, Row
from day1.services.rows.recording import NewFact, fact_row
from tests.unit.services.conftest import ADA

FACT_ROW = fact_row("fact_a", NewFact("tea", category="drink"), ADA, 5)
THEIRS = value_json(FACT, FACT_ROW, WHOLE)
WHY = min(WITHHELD)


def held(name: str, **columns: object) -> Row:
    """An item that keeps a row out of a branch."""
    item = {
        "id": name, "row_id": "fact_a", "row_kind": "facts", "cell": WHOLE, "ours": None,
        "theirs": "one", "source_branch": "side", "source_commit": "c1", "merge_id": "merge_1",
        "reason": WHY, "created_at": 1, **columns,
    }  # fmt: skip
    return {column: item.get(column) for column in HELD.columns}  # type: ignore[misc]  # cells


def closed(item: str, decision: str = "dismissed") -> Row:
    return held(f"closes_{item}", closes=item, decision=decision)


def test_items_are_open_until_a_row_closes_them() -> None:
    rows = [held("b", created_at=2), held("a", created_at=2), held("c"), held("d"), closed("d")]
    assert [item.id for item in open_items(rows)] == ["c", "a", "b"]
    assert [item.id for item in open_items(rows, frozenset({"c", "x"}))] == ["a", "b"]
    assert closings(rows) == {"d"}
    assert open_items(iter([])) == []


@pytest.mark.parametrize(
    ("changes", "out"),
    [
        ({}, True),
        ({"ours": "mine"}, False),
        ({"theirs": None}, False),
        ({"cell": "status"}, False),
        ({"reason": "both_changed"}, False),
    ],
)
def test_an_item_keeps_out_a_whole_row_that_the_target_never_had(
    changes: dict[str, str | None], out: bool
) -> None:
    item = replace(HeldItem.of(held("a")), **changes)  # type: ignore[arg-type]  # texts only
    assert keeps_out(item) is out
    assert bool(kept_out([held("a", **changes)])) is out


@pytest.mark.parametrize(
    ("rows", "coming", "expected"),
    [
        ([], [], {}),
        ([held("a")], [], {"fact_a": set()}),
        ([held("a"), closed("a")], [], {"fact_a": {"one"}}),
        ([held("a"), closed("a", "taken")], [], {}),
        ([held("a")], [closed("a")], {"fact_a": {"one"}}),
        ([held("a")], [closed("a", "taken")], {}),
        ([held("a")], [closed("x", "taken")], {"fact_a": set()}),
        (
            [held("a"), closed("a"), held("b", theirs="two"), closed("b")],
            [],
            {"fact_a": {"one", "two"}},
        ),
        ([held("a"), closed("a"), held("b"), closed("b", "taken")], [], {}),
        (
            [held("a"), closed("a"), held("b", row_id="fact_b")],
            [],
            {"fact_a": {"one"}, "fact_b": set()},
        ),
    ],
)
def test_a_row_is_kept_out_until_it_is_taken(
    rows: list[Row], coming: list[Row], expected: dict[str, set[str]]
) -> None:
    assert kept_out(iter(rows), iter(coming)) == expected


def test_a_closing_row_names_its_item_and_repeats_no_value() -> None:
    item = HeldItem.of(held("a", ours="mine"))
    origin: Row = {"agent_id": "ada", "created_at": 9}
    assert closing_row(item, "dismissed", "held_9", origin) == {
        "id": "held_9",
        "row_id": "fact_a",
        "row_kind": "facts",
        "cell": WHOLE,
        "ours": None,
        "theirs": None,
        "source_branch": "side",
        "source_commit": "c1",
        "merge_id": "merge_1",
        "reason": WHY,
        "closes": "a",
        "decision": "dismissed",
        **origin,
    }


def test_a_value_is_read_as_it_was_written() -> None:
    assert value_json(FACT, None, WHOLE) is None
    assert value_of(FACT, WHOLE, THEIRS) == FACT_ROW
    assert value_of(FACT, WHOLE, None) is None
    status = value_json(FACT, FACT_ROW, "status")
    assert read_side(status) == {"status": "active", "superseded_by": None}
    absent = {"status": "active", "superseded_by": None, "valid_until": None}
    assert value_of(FACT, "status", status) == absent


@pytest.mark.parametrize(
    ("row", "cell", "value", "same"),
    [
        (None, WHOLE, None, True),
        (FACT_ROW, WHOLE, None, False),
        (None, WHOLE, THEIRS, False),
        (FACT_ROW, WHOLE, THEIRS, True),
        (FACT_ROW | {"created_at": 77, "agent_id": "eve"}, WHOLE, THEIRS, True),
        (FACT_ROW | {"category": "food"}, WHOLE, THEIRS, False),
        (FACT_ROW | {"category": "food"}, "status", THEIRS, True),
        (FACT_ROW | {"valid_until": 5}, "status", THEIRS, False),
    ],
)
def test_a_row_is_compared_with_a_held_value_without_its_origin(
    row: Row | None, cell: str, value: str | None, same: bool
) -> None:
    assert same_value(FACT, row, cell, value) is same
