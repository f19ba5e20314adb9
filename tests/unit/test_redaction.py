"""How rows read through a mask."""

import json

from day1.model.redaction.mask import CLEAR, REDACTED, Mask, mask_of
from day1.model.rows.change import Query
from day1.model.rows.kind import EDIT, FACT, HELD, MESSAGE, OBSERVATION, RELATION, Row
from day1.model.values.ids import content_hash

SECRET = content_hash("secret")
MASK = Mask(frozenset({"fact_1", "msg_1", "obs_1", "rel_1"}), frozenset({SECRET}))


def fact(row_id: str, text: str) -> Row:
    kept = {"category": "code", "scores": '{"reason":"secret"}', "origin_id": None}
    return {"id": row_id, "fact_text": text, "content_hash": content_hash(text), **kept}


def test_an_equal_text_is_masked_with_its_hash_and_scores_but_not_its_category() -> None:
    shown = MASK.row(FACT, fact("fact_2", "secret"))
    assert shown == {**fact("fact_2", REDACTED), "scores": None}
    assert MASK.row(FACT, fact("fact_2", "other")) == fact("fact_2", "other")


def test_a_listed_row_keeps_its_new_text_and_none_of_its_other_words() -> None:
    assert MASK.row(FACT, fact("fact_1", "new")) == {**fact("fact_1", "new"), "category": REDACTED}


def test_a_mask_leaves_empty_cells_empty() -> None:
    row: Row = {"id": "obs_1", "tool_name": None, "raw_input": "x", "raw_output": None}
    assert MASK.row(OBSERVATION, row) == {**row, "raw_input": REDACTED}


def test_a_copy_of_a_message_is_masked_with_it() -> None:
    row: Row = {"id": "msg_2", "origin_id": "msg_1", "thinking": "secret", "tool_calls": "[1]"}
    assert MASK.row(MESSAGE, row) == {**row, "thinking": REDACTED, "tool_calls": None}


def test_both_sides_of_a_held_item_are_masked() -> None:
    text = {"fact_text": "secret", "content_hash": SECRET}
    item: Row = {"row_id": "fact_2", "row_kind": "facts", "ours": None, "theirs": json.dumps(text)}
    shown = json.loads(str(MASK.row(HELD, item)["theirs"]))
    assert shown == {"fact_text": REDACTED, "content_hash": content_hash(REDACTED)}
    verdict = json.dumps({"scores": "secret", "verification": "verified"})
    item |= {"row_id": "fact_1", "ours": verdict}
    assert "secret" not in str(MASK.row(HELD, item)["ours"])


def test_the_reason_of_an_edit_goes_with_its_row_or_its_text() -> None:
    edit: Row = {"id": "edit_1", "row_id": "rel_1", "reason": "said so"}
    assert MASK.row(EDIT, edit)["reason"] == REDACTED
    assert MASK.row(EDIT, {**edit, "row_id": "rel_2"})["reason"] == "said so"
    assert MASK.row(EDIT, {**edit, "row_id": "rel_2", "reason": "secret"})["reason"] == REDACTED


def test_a_query_passes_over_what_is_masked_only_if_it_asks_for_that() -> None:
    for same in (Query(equal={"status": "active"}), Query(equal={"content_hash": "other"})):
        assert MASK.narrowed(FACT, same) is same
    named = MASK.narrowed(RELATION, Query(equal={"source_entity": "secret"}))
    assert named.without == {"id": ["rel_1"]}
    below = MASK.narrowed(RELATION, Query(under="app:users"))
    assert below.without == {"id": ["rel_1"]}
    for asked in (
        Query(among={"content_hash": ["x", SECRET]}),
        Query(equal={"fact_text": "secret"}),
    ):
        assert MASK.narrowed(FACT, asked).without == {"content_hash": [SECRET]}


def test_columns_that_are_never_masked_need_no_others() -> None:
    assert MASK.needs(FACT, ("id", "status")) == ()
    assert set(MASK.needs(FACT, ("fact_text",))) == {"id", "origin_id", "content_hash"}
    assert MASK.tuples(FACT, ("id", "status"), [("fact_1", "active")]) == [("fact_1", "active")]


def test_nothing_is_masked_where_nothing_is_redacted() -> None:
    assert mask_of([]) == CLEAR
    assert not CLEAR.rows
    assert CLEAR.row(FACT, fact("fact_1", "secret")) == fact("fact_1", "secret")
