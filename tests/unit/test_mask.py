"""What a mask needs to see of a row, and which columns it hides."""

import json

import pytest

from day1.model.redaction.mask import CLEAR, REDACTED, REDACTED_HASH, Mask
from day1.model.rows.kind import CONVERSATION, EDIT, FACT, HELD, MESSAGE, RELATION, Kind, Row
from day1.model.values.ids import content_hash

TEA = content_hash("tea")
MASK = Mask(frozenset({"fact_gone", "msg_gone", "rel_gone"}), frozenset({TEA}))


@pytest.mark.parametrize(
    ("kind", "columns", "needed"),
    [
        (FACT, ["fact_text"], {"id", "origin_id", "content_hash"}),
        (FACT, ["id", "fact_text"], {"origin_id", "content_hash"}),
        (FACT, ["category", "origin_id", "content_hash", "id"], set()),
        (FACT, ["status", "created_at"], set()),
        (RELATION, ["source_entity"], {"id", "origin_id"}),
        (EDIT, ["reason"], {"row_id"}),
        (EDIT, ["cell"], set()),
        (HELD, ["ours"], {"row_id", "row_kind"}),
        (HELD, ["row_id", "theirs"], {"row_kind"}),
        (HELD, ["id", "reason"], set()),
    ],
)
def test_which_columns_tell_whether_others_are_masked(
    kind: Kind, columns: list[str], needed: set[str]
) -> None:
    assert {*MASK.needs(kind, columns)} == needed


MASKED = {"fact_text": REDACTED, "content_hash": REDACTED_HASH}


@pytest.mark.parametrize(
    ("kind", "row", "changes"),
    [
        (FACT, {"id": "fact_1", "fact_text": "milk", "content_hash": "other"}, {}),
        (FACT, {"id": "fact_1", "fact_text": "tea", "content_hash": TEA}, MASKED),
        (
            FACT,
            {"id": "fact_1", "fact_text": "tea", "content_hash": TEA, "category": "drink"},
            MASKED,
        ),
        (
            FACT,
            {"id": "fact_gone", "fact_text": "milk", "category": "drink", "tags": "[]"},
            {"category": REDACTED, "tags": None},
        ),
        (FACT, {"id": "fact_gone", "fact_text": "milk", "category": None}, {}),
        (FACT, {"id": "fact_1", "origin_id": "fact_gone", "category": "drink"}, {}),
        (FACT, {"id": "fact_1", "content_hash": "other", "scores": "tea"}, {"scores": None}),
        (FACT, {"id": "fact_1", "content_hash": "other", "scores": "milk"}, {}),
        (CONVERSATION, {"id": "conv_1", "title": "tea"}, {"title": REDACTED}),
        (CONVERSATION, {"id": "conv_1", "title": "teas"}, {}),
        (EDIT, {"id": "edit_1", "row_id": "fact_1", "reason": "tea"}, {"reason": REDACTED}),
        (EDIT, {"id": "edit_1", "row_id": "fact_gone", "reason": "x"}, {"reason": REDACTED}),
        (
            MESSAGE,
            {"id": "msg_copy", "origin_id": "msg_gone", "thinking": "milk"},
            {"thinking": REDACTED},
        ),
        (RELATION, {"id": "rel_gone", "source_entity": "Ada"}, {"source_entity": REDACTED}),
    ],
)
def test_what_a_mask_hides_of_a_row(kind: Kind, row: Row, changes: Row) -> None:
    assert MASK.row(kind, row) == row | changes
    assert CLEAR.row(kind, row) == row
    (masked,) = MASK.tuples(kind, list(row), [tuple(row.values())])
    assert dict(zip(row, masked, strict=True)) == row | changes


def test_a_held_item_is_masked_on_both_sides() -> None:
    side = json.dumps({"fact_text": "tea", "content_hash": TEA, "status": "active"})
    row: Row = {
        "id": "held_1", "row_id": "fact_1", "row_kind": "facts", "ours": side, "theirs": None,
    }  # fmt: skip
    masked = MASK.row(HELD, row)
    assert json.loads(str(masked["ours"])) == {"status": "active", **MASKED}
    assert masked == row | {"ours": masked["ours"]}
    (cells,) = MASK.tuples(HELD, list(row), [tuple(row.values())])
    assert dict(zip(row, cells, strict=True)) == masked


@pytest.mark.parametrize(
    ("kind", "row", "hidden", "shown"),
    [
        (FACT, {"id": "fact_1", "content_hash": "other"}, set(), {"fact_text", "category"}),
        (
            FACT,
            {"id": "fact_1", "content_hash": REDACTED_HASH},
            {"fact_text", "content_hash"},
            {"category"},
        ),
        (FACT, {"id": "fact_gone", "content_hash": "other"}, {"category", "tags"}, {"fact_text"}),
        (RELATION, {"id": "rel_gone"}, {"source_entity", "target_entity"}, {"created_at"}),
        (RELATION, {"id": "rel_1", "content_hash": REDACTED_HASH}, set(), {"source_entity"}),
    ],
)
def test_which_columns_of_a_row_that_was_read_are_hidden(
    kind: Kind, row: Row, hidden: set[str], shown: set[str]
) -> None:
    columns = MASK.hides(kind, row)
    assert hidden <= columns
    assert not shown & columns
    assert bool(columns) is bool(hidden)
