"""What hides the words of secret rows: in rows, in tuples of some columns, and in changes."""

import pytest

from day1.model.redaction.veil import (
    SECRET,
    SECRET_MARK,
    asks_for_words,
    shown_change,
    shown_row,
    tells,
    veil_tuples,
    whole_veil,
    without_words,
)
from day1.model.rows.change import Query, RowChange
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, RELATION, Kind, Row

PLAIN: Row = {"id": "fact_1", "fact_text": "tea", "category": None, "sensitivity": None}
HIDDEN: Row = PLAIN | {"sensitivity": SECRET}
VEILED: Row = HIDDEN | {"fact_text": SECRET_MARK}


def test_the_words_of_a_secret_row_are_replaced() -> None:
    assert shown_row(FACT, PLAIN) is PLAIN
    assert shown_row(FACT, HIDDEN) == VEILED
    assert without_words(FACT, PLAIN, None) is PLAIN
    assert without_words(FACT, PLAIN, "mark") == PLAIN | {"fact_text": "mark"}
    edit: Row = {"id": "edit_1", "reason": "tea"}
    assert without_words(EDIT, edit, "mark") is edit


def test_a_change_is_veiled_on_both_sides() -> None:
    change = RowChange("fact_1", None, HIDDEN)
    assert shown_change(FACT, change, None) is change
    assert shown_change(FACT, change, SECRET_MARK) == RowChange("fact_1", None, VEILED)
    both = RowChange("fact_1", PLAIN, None)
    assert shown_change(FACT, both, "mark").before == PLAIN | {"fact_text": "mark"}


def test_a_veil_covers_each_column_of_words() -> None:
    assert whole_veil(FACT, None) == {}
    assert whole_veil(EDIT, "mark") == {}
    veil = whole_veil(FACT, "mark")
    assert veil["fact_text"] == "mark"
    assert veil["tags"] is None
    assert not {"id", "created_at", "sensitivity"} & veil.keys()


@pytest.mark.parametrize(
    ("kind", "columns", "told"),
    [
        (FACT, ("id", "fact_text"), True),
        (FACT, ("tags",), True),
        (FACT, ("id", "created_at", "sensitivity"), False),
        (FACT, (), False),
        (OBSERVATION, ("raw_input",), True),
        (EDIT, ("reason",), False),
    ],
)
def test_which_columns_hold_words(kind: Kind, columns: tuple[str, ...], told: bool) -> None:
    assert tells(kind, columns) is told


@pytest.mark.parametrize(
    ("kind", "query", "asks"),
    [
        (FACT, Query(), False),
        (FACT, Query(equal={"content_hash": None}), False),
        (FACT, Query(equal={"tags": "[]"}), True),
        (FACT, Query(equal={"id": "fact_1"}, among={"status": ["active"]}), False),
        (FACT, Query(among={"fact_text": ["tea"]}), True),
        (FACT, Query(without={"fact_text": ["tea"]}), True),
        (RELATION, Query(equal={"id": "rel_1"}), False),
    ],
)
def test_which_queries_ask_for_words(kind: Kind, query: Query, asks: bool) -> None:
    assert asks_for_words(kind, query) is asks


def test_tuples_of_secret_rows_are_veiled_and_others_are_as_they_were() -> None:
    columns = ("id", "sensitivity", "fact_text", "tags")
    rows = [("fact_1", None, "tea", "[]"), ("fact_2", SECRET, "milk", None)]
    assert veil_tuples(FACT, columns, rows) == [
        ("fact_1", None, "tea", "[]"),
        ("fact_2", SECRET, SECRET_MARK, None),
    ]
