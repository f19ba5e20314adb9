"""Which lessons are one in other words: the pairs that vectors take for the same are not."""

import random

import pytest

from day1.model.lessons.experience import Experience, experience_of
from day1.model.lessons.rewording import rewording_of, same_in_words, same_text_in_words
from tests.lesson_pairs import DIFFERENT, REPHRASED

BASE = Experience("Uploads failed at night", "Raised the client timeout to 30 seconds", "It works")


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_lessons_that_differ_in_one_thing_are_two(one: Experience, other: Experience) -> None:
    assert not same_in_words(one, other)
    assert not same_in_words(other, one)


def test_some_rephrasings_are_one_lesson() -> None:
    """Those that only add words or change their forms; the others stay rows of their own."""
    same = [same_in_words(one, other) for one, other in REPHRASED]
    assert same.count(True) >= 2
    assert same == [same_in_words(other, one) for one, other in REPHRASED]


@pytest.mark.parametrize(
    ("action", "same"),
    [
        ("Raised the client timeout to 30 seconds.", True),
        ("raised client timeout to 30 seconds", True),
        ("Raising the client timeout to 30 seconds", True),
        ("Raised the HTTP client timeout to 30 seconds", True),
        ("Raised the client timeout to 60 seconds", False),
        ("Never raised the client timeout to 30 seconds", False),
        ("Haven't raised the client timeout to 30 seconds", False),
        ("Avoided that we raised the client timeout to 30 seconds", False),
        ("Raised the client timeout from 30 seconds", False),
        ("Raised the client timeout 3 times to 30 seconds", False),
        ("Raised the server timeout to 30 seconds", False),
        ("Timeout the client raised to 30 seconds", False),
    ],
)
def test_what_may_be_inserted_and_what_not(action: str, *, same: bool) -> None:
    other = Experience(BASE.context, action, BASE.result)
    assert same_in_words(BASE, other) is same
    assert same_in_words(other, BASE) is same


def test_each_with_a_word_more_than_the_other_they_are_two() -> None:
    one = Experience("Big uploads failed at night", BASE.action, BASE.result)
    other = Experience(BASE.context, BASE.action, "It works well")
    assert not same_in_words(one, other)


def test_a_lesson_is_read_back_and_nothing_else_is_one() -> None:
    row = {"structure": BASE.structure}
    assert experience_of(row) == BASE
    for other in (None, "[1]", '"a"', '{"context":"a"}', '{"a":1,"b":2,"c":3}'):
        assert experience_of({"structure": other}) is None
    assert experience_of({"structure": '{"action":1,"context":"a","result":"b"}'}) is None
    assert experience_of({}) is None


def test_the_quick_test_of_a_text_agrees_with_the_whole_one() -> None:
    words = [
        "ann",
        "bo",
        "never",
        "prefers",
        "preferred",
        "green",
        "tea",
        "in",
        "the",
        "early",
        "morning",
        "it",
        "isn’t",
        "20",
        "s",
    ]
    drawn = random.Random(3)
    texts = [" ".join(drawn.choices(words, k=drawn.randint(1, 7))) for _ in range(300)]
    texts += [f"{text} really" for text in texts[:100]]
    for one in texts[:150]:
        quick = rewording_of(one)
        assert [quick(other) for other in texts] == [same_text_in_words(one, other) for other in texts]  # fmt: skip
