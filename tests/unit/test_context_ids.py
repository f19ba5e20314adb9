"""The id of a prompt names the rows that the prompt shows."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from day1.model.layers.context_id import context_id, row_ids_in
from day1.model.values.ids import derived_id, new_id, ulid

ROWS = st.lists(
    st.builds(
        lambda prefix, number: f"{prefix}_{ulid(0, number)}",
        st.sampled_from(["fact", "msg"]),
        st.integers(0, 2**128 - 1),
    ),
    max_size=24,
)


def rows_of(made: str) -> list[str]:
    """Read the id of a prompt: 17 bytes for each row, in base64."""
    letters = made.removeprefix("ctx_")
    packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    rows = [packed[at : at + 17] for at in range(0, len(packed), 17)]
    kinds = ("fact", "msg")
    return [f"{kinds[row[0]]}_{ulid(0, int.from_bytes(row[1:], 'big'))}" for row in rows]


@given(ROWS)
@example([f"msg_{ulid(0, 23)}"] * 3)  # it ends in an X
@example([f"msg_{ulid(0, 23)}"])
def test_the_rows_of_a_prompt_are_in_its_id(rows: list[str]) -> None:
    made = context_id(rows)
    assert rows_of(made) == row_ids_in(made) == rows
    assert made.startswith("ctx_")
    assert "=" not in made
    assert len(made) <= len("ctx_") + 24 * 17 * 4 / 3 + 1


def test_rows_with_foreign_ids_are_left_out() -> None:
    rows = [new_id("fact", 5), derived_id("msg", None, "a")]
    assert rows_of(context_id([rows[0], "fact_1", "", "conv_" + "0" * 26, rows[1]])) == rows


@pytest.mark.parametrize("text", ["", "ctx_", "ctx_A", "ctx_AAAA", "ctx_é", "x", "ctx_" + "_" * 46])
def test_no_rows_are_read_from_another_text(text: str) -> None:
    assert row_ids_in(text) == []
