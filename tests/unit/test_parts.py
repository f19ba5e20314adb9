"""The cut of long texts into parts, and the mark by which parts know one another."""

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from day1.model.values.parts import (
    MAX_TEXT,
    MOST_PIECE,
    Part,
    cut,
    part_id,
    part_of,
    parts_of,
    piece_of,
)

_PIECES = st.sampled_from(
    ["word ", "End. ", "line\n", "\n\n", "\n# Head\n", "x", "\u0301", "e\u0301", "\r\n", "\r",
     "\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea", "\ud83d", "\ude00", "\u4e2d\u3002",
     "\U0001f44d\U0001f3fd", " ", "\t"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=300).map("".join), st.integers(1, 60))
@example("", 1)
@example("a" * 100, 60)
def test_the_pieces_are_the_text_again_and_none_is_too_long(text: str, most: int) -> None:
    pieces = cut(text, most)
    assert "".join(pieces) == text
    assert all(len(piece) <= most for piece in pieces)
    assert all(pieces) or not text
    if most > 8:
        assert all(len(piece) >= most // 4 for piece in pieces) or len(pieces) == 1


@given(st.lists(_PIECES.filter(lambda one: one != "\u0301"), max_size=300).map("".join))
def test_no_piece_begins_within_a_character(text: str) -> None:
    for before, after in zip(pieces := cut(text, 60), pieces[1:], strict=False):
        assert unicodedata.category(after[0])[0] != "M"
        assert (before[-1], after[0]) != ("\r", "\n")
        assert "\u200d" not in (before[-1], after[0])
        assert after[0] != "\U0001f3fd"
        assert not ("\ud800" <= before[-1] < "\udc00" <= after[0] <= "\udfff")


def test_flags_stay_whole() -> None:
    flag = "\U0001f1e9\U0001f1ea"
    assert all(len(piece) % 2 == 0 for piece in cut(flag * 500, 61))


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("One two. Three\nfour\n\nfive six. Seven\neight", "five"),
        ("One two. Three five\n## Six\nseven. Eight nine", "## Six"),
        ("One two. Three five\nsix seven. Eight nine te", "six"),
        ("One two three five. Six seven. Eight nine ten", "Six"),
        ("one two three four five six seven eight nine", "six"),
    ],
    ids=["paragraph", "heading", "line", "sentence", "word"],
)
def test_a_text_is_cut_at_the_best_place(text: str, second: str) -> None:
    first, after = cut(text, 32)
    assert after.startswith(second), (first, after)


def test_a_text_of_ten_million_characters_is_cut_in_linear_time() -> None:
    hostile = (
        ("\n" + " " * 50) * 4_000 + "e\u0301" * 100_000 + "\U0001f1e9" * 100_000 + "." * 500_000
    )

    def seconds(times: int) -> float:
        text = hostile * times
        began = time.process_time()
        assert "".join(cut(text, MOST_PIECE)) == text
        return time.process_time() - began

    seconds(1)
    once, ten_times = seconds(1), seconds(10)
    assert ten_times < 30 * once + 0.5


def test_a_short_text_is_one_row_without_a_mark() -> None:
    assert list(parts_of("fact_a", "x" * MAX_TEXT)) == [("fact_a", "x" * MAX_TEXT)]


def test_parts_know_one_another() -> None:
    text = "The mill turns. " * 5_000
    rows = list(parts_of("fact_a", text))
    assert len(rows) == 3
    assert all(len(said) <= MAX_TEXT for _, said in rows)
    assert "".join(piece_of(said) for _, said in rows) == text
    parts = [part_of({"id": row_id}, said) for row_id, said in rows]
    assert parts == [Part("fact_a", number, 3) for number in (1, 2, 3)]
    ids = [row_id for row_id, _ in rows]
    assert ids[0] == "fact_a"
    assert parts[1] is not None
    assert (parts[1].before, parts[1].after) == (ids[0], ids[2])
    assert parts[1].ids == ids
    assert rows[1][1].endswith("\n[part 2 of 3 of fact_a]")


def test_a_mark_in_another_row_makes_it_no_part() -> None:
    said = "mine\n[part 2 of 3 of fact_a]"
    assert part_of({"id": "fact_b", "origin_id": None}, said) is None
    copied = part_of({"id": "fact_b", "origin_id": part_id("fact_a", 2)}, said)
    assert copied == Part("fact_a", 2, 3)


@pytest.mark.parametrize("mark", ["0 of 3", "4 of 3", "1 of 1", "x of 3", "-1 of 3"])
def test_a_mark_that_says_no_place_makes_no_part(mark: str) -> None:
    assert part_of({"id": "fact_a"}, f"text\n[part {mark} of fact_a]") is None


def test_a_text_that_ends_like_a_mark_comes_back_whole() -> None:
    text = "x" * MAX_TEXT + "\n[part 1 of 2 of fact_b]"
    assert "".join(piece_of(said) for _, said in parts_of("fact_a", text)) == text
