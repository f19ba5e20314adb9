"""Comparing what two memories say by their words."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.search.grouping import ALIKE_WORDS, shared_words
from day1.model.workspace.competition import contradict
from day1.model.workspace.wording import alike_in_words, said_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The uploader waits 30 seconds.", "uploader waits seconds"),
        ("It never waits 7x without a lock, cannot it?", "waits lock"),
        ("", ""),
    ],
)
def test_numbers_and_denials_are_left_out(text: str, words: str) -> None:
    assert said_words(text) == frozenset(words.split())


def test_the_share_of_common_words() -> None:
    assert shared_words(frozenset("abcd"), frozenset("abce")) == 3 / 5
    assert shared_words(frozenset("ab"), frozenset("ab")) == 1
    assert shared_words(frozenset(), frozenset()) == 0
    assert shared_words(frozenset("a"), frozenset()) == 0


SETS = st.dictionaries(st.text("xyz", min_size=1), st.frozensets(st.sampled_from("abcdefgh")))


@given(SETS)
def test_every_pair_with_most_words_in_common_is_found_once(
    words: dict[str, frozenset[str]],
) -> None:
    found = list(alike_in_words(words))
    expected = {
        frozenset(pair)
        for pair in combinations(words, 2)
        if shared_words(words[pair[0]], words[pair[1]]) >= ALIKE_WORDS
    }
    assert {frozenset(pair) for pair in found} == expected
    assert len(found) == len(expected)


@given(
    st.sampled_from(["It waits 30 s.", "It waits 60 s.", "Does it wait 60 s?", "It sleeps."]),
    st.sampled_from(["It waits 30 s.", "It waits 60 s.", "It waits 60 s?", "It waits."]),
)
def test_a_contradiction_is_one_whichever_text_is_read_first(one: str, other: str) -> None:
    assert contradict(one, other) == contradict(other, one)
