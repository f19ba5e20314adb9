"""The id of a prompt names the rows that the prompt shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.layers.context_id import context_id, rows_of
from day1.model.layers.names import names_in
from day1.model.values.ids import derived_id, new_id, ulid

ROWS = st.lists(
    st.builds(
        lambda prefix, number: f"{prefix}_{ulid(0, number)}",
        st.sampled_from(["fact", "msg"]),
        st.integers(0, 2**128 - 1),
    ),
    max_size=24,
)


@given(ROWS)
def test_the_rows_of_a_prompt_are_in_its_id(rows: list[str]) -> None:
    made = context_id(rows)
    assert rows_of(made) == rows
    assert made.startswith("ctx_")
    assert len(made) <= len("ctx_") + 24 * 17 * 4 / 3 + 1


def test_rows_with_foreign_ids_are_left_out() -> None:
    rows = [new_id("fact", 5), derived_id("msg", None, "a")]
    assert rows_of(context_id([rows[0], "fact_1", "", "conv_" + "0" * 26, rows[1]])) == rows


@pytest.mark.parametrize("text", ["", "ctx_", "ctx_A", "ctx_AAAA", "ctx_%%", "x" * 50, "ctx_é"])
def test_a_text_that_is_no_such_id_names_no_rows(text: str) -> None:
    assert rows_of(text) == []


def test_an_unknown_kind_is_no_row() -> None:
    assert rows_of(context_id([new_id("fact", 1)]).replace("ctx_A", "ctx_f", 1)) == []


def test_names_begin_and_end_in_words_that_say_something() -> None:
    names = names_in("The billing service of Ada's team uses us-east-1.")
    assert {"billing", "billing service", "us-east-1", "Ada's team uses"} <= names
    assert not {"The", "The billing", "service of", "of"} & names
    assert "service of Ada's team" in names
    assert "billing service of Ada's team" not in names
    assert len(names_in("word " * 500)) <= 4
