"""What the words of neighbours count for a memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.search.ranking import Weights, part_lent
from day1.model.search.ranking import words_in_context as in_context

SHARES = Weights().neighbour_shares


def words_in_context(words, line, shares):
    """The rule for short texts, which get all of the shares."""
    return in_context(words, line, shares, [1.0] * len(line))


MOVE, SISTER = {1: 6.0, 3: 5.0}, {2: 4.0}


def test_each_word_counts_once_where_it_is_nearest():
    line = [1, 2, 3, 4, 5, 6]
    assert words_in_context([MOVE, SISTER], line, SHARES) == pytest.approx(
        [6 + 0.8 * 4, 0.8 * 6 + 4, 5 + 0.8 * 4, 0.8 * 5 + 0.6 * 4, 0.6 * 5, 0]
    )


def test_a_memory_with_all_words_itself_stays_before_its_neighbours():
    own, beside, further = words_in_context([{1: 6.0}, {1: 4.0}], [1, 2, 3], SHARES)
    assert own == 10 > beside > further > 0


@given(st.lists(st.dictionaries(st.integers(0, 9), st.floats(0, 99))), st.lists(st.integers(0, 9)))
def test_neighbours_only_raise_and_a_line_of_one_has_its_own_bm25(words, line):
    own = [words_in_context(words, [text], SHARES)[0] for text in line]
    assert own == [pytest.approx(sum(scores.get(text, 0) for scores in words)) for text in line]
    assert all(
        low <= high for low, high in zip(own, words_in_context(words, line, SHARES), strict=True)
    )


@given(
    st.lists(st.dictionaries(st.integers(0, 9), st.floats(0, 99), min_size=1), min_size=1),
    st.lists(st.integers(0, 9), min_size=1),
    st.data(),
)
def test_no_place_falls_when_a_neighbours_bm25_rises(words, line, data):
    at = data.draw(st.integers(0, len(words) - 1))
    text = data.draw(st.sampled_from(sorted(words[at])))
    more = words[at][text] + data.draw(st.floats(0, 99))
    risen = [*words[:at], {**words[at], text: more}, *words[at + 1 :]]
    before, after = words_in_context(words, line, SHARES), words_in_context(risen, line, SHARES)
    assert all(low <= high for low, high in zip(before, after, strict=True))


def test_a_long_text_gets_less_of_its_neighbours_words_and_all_of_its_own():
    line, parts = [1, 2, 3], [1.0, part_lent(120, 30), 1.0]
    assert parts[1] == 0.5
    own, long, short = in_context([{1: 6.0}, {2: 4.0}], line, SHARES, parts)
    assert own == pytest.approx(6 + 0.8 * 4)
    assert long == pytest.approx(0.5 * 0.8 * 6 + 4)
    assert short == pytest.approx(0.6 * 6 + 0.8 * 4)


@given(st.integers(0, 99_999), st.integers(0, 999))
def test_what_is_lent_is_all_for_a_short_text_and_never_grows_with_its_length(words, enough):
    assert 0 <= part_lent(words + 1, enough) <= part_lent(words, enough) <= 1
    assert part_lent(min(words, enough), enough) == 1
