"""What votes say of a memory, and how far they move a score."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.search.ranking import Candidate, Question, Weights, rank
from day1.model.search.usefulness import MOST, RowVotes, Vote, asked_words, moved

NOTHING: frozenset[str] = frozenset()
parts = st.floats(0, 1)


def by_rating(votes: Iterable[Vote]) -> RowVotes:
    return RowVotes({str(number): vote for number, vote in enumerate(votes)})


def usefulness(votes: Iterable[Vote], asked: frozenset[str]) -> float:
    return by_rating(votes).usefulness(asked)


def test_without_a_vote_nothing_moves() -> None:
    assert usefulness([], NOTHING) == 0.0
    assert moved(0.6, 0.0) == 0.6


def test_ten_votes_of_0_9_lift_0_60_over_0_63_and_never_over_0_70() -> None:
    lifted = moved(0.60, usefulness([Vote(0.9)] * 10, NOTHING))
    assert 0.63 < lifted < 0.70
    assert moved(0.60, usefulness([Vote(1.0)] * 10_000, NOTHING)) < 0.70


def test_one_vote_counts_a_quarter() -> None:
    assert usefulness([Vote(1.0)], NOTHING) == 0.25


def test_a_vote_for_a_similar_query_counts_twice() -> None:
    asked = asked_words("why does the deploy job wait")
    similar = Vote(1.0, asked_words("Why does the deploy job wait?"))
    other = Vote(1.0, asked_words("which database is used"))
    assert usefulness([similar], asked) == pytest.approx(0.4)
    assert 0 < usefulness([other], asked) < usefulness([Vote(1.0)], NOTHING) == 0.25


def test_a_vote_for_another_query_counts_a_quarter() -> None:
    asked = asked_words("why does the deploy job wait")
    other = Vote(0.0, asked_words("which database is used"))
    assert usefulness([other], asked) == pytest.approx(2 * (1.5 / 3.25 - 0.5))


@given(
    st.lists(st.tuples(parts, st.frozensets(st.sampled_from("abcd"))), max_size=20),
    st.frozensets(st.sampled_from("abcd")),
)
def test_votes_that_were_added_up_are_worth_what_they_are_one_by_one(
    votes: list[tuple[float, frozenset[str]]], asked: frozenset[str]
) -> None:
    total, weight = 1.5, 3.0
    for score, words in votes:
        similar = bool(words) and len(words & asked) >= 0.6 * len(words | asked)
        counts = 2.0 if similar else 0.25 if words else 1.0
        total, weight = total + counts * score, weight + counts
    found = usefulness([Vote(score, words) for score, words in votes], asked)
    assert found == pytest.approx(2 * (total / weight - 0.5))


@given(parts, st.lists(parts, max_size=20))
def test_a_score_moves_by_a_bounded_part_of_what_it_lacks_or_has(
    score: float, votes: list[float]
) -> None:
    after = moved(score, usefulness([Vote(vote) for vote in votes], NOTHING))
    assert 0.0 <= after <= 1.0
    assert -MOST * score - 1e-12 <= after - score <= MOST * (1.0 - score) + 1e-12


def ranked(votes: dict[str, RowVotes]) -> list[str]:
    candidates = [Candidate("low", 1, None, 0.60, 0.0), Candidate("high", 2, None, 0.63, 0.0)]
    texts = {"low": "one two", "high": "one two"}
    question = Question("unlike", "vector", votes=votes)
    return [
        one.row_id for one in rank(candidates, question, 1, lambda ids: {i: texts[i] for i in ids})
    ]


def test_votes_move_a_memory_among_the_first() -> None:
    assert ranked({}) == ["high"]
    assert ranked({"low": by_rating([Vote(0.9)] * 10)}) == ["low"]
    assert ranked({"high": by_rating([Vote(0.0)] * 10)}) == ["low"]


def test_votes_lift_a_memory_from_far_below() -> None:
    """Texts are read a portion at a time, and no portion that could hold the best is left out."""
    candidates = [Candidate(f"fact_{n:03}", n, None, 0.68, 0.0) for n in range(50)]
    candidates.append(Candidate("low", 99, None, 0.65, 0.0))
    long = " ".join(["word"] * 40)
    votes = {"low": by_rating([Vote(1.0)] * 50)}
    question = Question("unlike", "vector", votes=votes)
    (best,) = rank(candidates, question, 1, lambda ids: dict.fromkeys(ids, long))
    assert best.row_id == "low"


@pytest.mark.line("S4-004")
def test_a_cosine_of_0_8_and_words_of_0_4_are_0_68() -> None:
    """On fixed scales, without what the rules of the order add."""
    plain = Weights(
        words_boost=0.0, beside_boost=0.0, length_boost=0.0, subject_boost=0.0, date_boost=0.0
    )
    half = plain.bm25_half
    bm25 = half * (0.4 / 0.6) ** (2 / 3)  # the score of words is s^1.5 / (s^1.5 + half^1.5)
    question = Question("unlike", "hybrid", plain)
    one = Candidate("row", 1, None, 0.8, bm25)
    (found,) = rank([one], question, 1, lambda _: {"row": "one two"})
    assert found.keyword == pytest.approx(0.4)
    assert found.score == pytest.approx(0.68)
