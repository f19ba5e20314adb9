from itertools import pairwise
from time import perf_counter

from hypothesis import example, given
from hypothesis import strategies as st

from day1.model.merge.word_diff import MAX_PIECES, changed_words

texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(["the", "a", "cat", "Über", " ", "  ", "\n", ".", "\u0301"])).map(
        "".join
    ),
)


def side(parts, kind):
    return "".join(text for change, text in parts if change in {"same", kind})


@given(texts, texts)
@example("", "")
@example("a\r\nb\u2028c", "a\nb\u2028c")
@example("\ud800 x", "x")
def test_both_texts_can_be_read_off_the_parts(before, after):
    parts = changed_words(before, after)
    assert side(parts, "removed") == before
    assert side(parts, "added") == after
    assert all(text for _, text in parts)
    assert all(one[0] != other[0] for one, other in pairwise(parts))


@given(texts)
def test_a_text_is_the_same_as_itself(text):
    assert changed_words(text, text) == ([("same", text)] if text else [])


def test_one_word_that_changed_stands_alone():
    assert changed_words("The limit is 30 seconds.", "The limit is 60 seconds.") == [
        ("same", "The limit is "),
        ("removed", "30"),
        ("added", "60"),
        ("same", " seconds."),
    ]


def test_words_added_and_removed_in_one_sentence():
    assert changed_words("Heron does depend on Tern", "Heron does not depend on Wren now") == [
        ("same", "Heron does "),
        ("added", "not "),
        ("same", "depend on "),
        ("removed", "Tern"),
        ("added", "Wren now"),
    ]


def test_a_space_between_two_changed_words_is_no_match():
    assert changed_words("red apple", "green pear") == [
        ("removed", "red apple"),
        ("added", "green pear"),
    ]


def test_a_change_of_white_space_is_seen():
    assert changed_words("a b", "a  b") == [
        ("same", "a"),
        ("removed", " "),
        ("added", "  "),
        ("same", "b"),
    ]


def test_one_word_in_a_very_long_text_is_found():
    page = "all of this stays as it is\n" * MAX_PIECES
    parts = changed_words(f"{page}old\n{page}", f"{page}new\n{page}")
    assert parts[1:3] == [("removed", "old"), ("added", "new")]


def test_two_words_far_apart_in_a_very_long_text_change_their_lines_only():
    lines = [f"line {number} stays as it is\n" for number in range(MAX_PIECES // 10)]
    before, after = "old\n" + "".join(lines) + "old", "new\n" + "".join(lines) + "new"
    assert changed_words(before, after) == [
        ("removed", "old\n"),
        ("added", "new\n"),
        ("same", "".join(lines)),
        ("removed", "old"),
        ("added", "new"),
    ]


def test_hostile_texts_take_bounded_time():
    hard = [" ".join(f"w{at * step % 113}" for at in range(100_000)) for step in (7, 11)]
    lines = [text.replace(" ", "\n") for text in hard]
    started = perf_counter()
    for before, after in (hard, lines):
        assert side(changed_words(before, after), "added") == after
    assert perf_counter() - started < 10
