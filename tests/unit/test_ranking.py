import math
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.search.ranking import Candidate, Question, Weights, rank

WEIGHTS = Weights()
PLAIN = Weights(words_boost=0, length_boost=0)
"""Without the rules that lift by what a text has of its own."""
MODES = ["hybrid", "vector", "keyword"]

units = st.floats(0, 1)


class Told(NamedTuple):
    """A candidate with its text."""

    row_id: str
    created_at: int
    happened_at: int | None
    cosine: float | None
    bm25: float
    beside: float
    passages: int
    text: str


candidates = st.builds(
    Told,
    row_id=st.text("abc", min_size=1, max_size=5),
    text=st.sampled_from(
        [
            "Kestrel drops",
            "kestrel drops",
            "On 5 May 2024 it fell",
            "",
            "in 1999",
            "What? ",
            "w " * 50,
        ]
    ),
    created_at=st.integers(0, 4 * 10**15),
    happened_at=st.none() | st.integers(-(10**15), 4 * 10**15),
    cosine=st.none() | st.floats(-1, 1) | st.just(float("nan")),
    bm25=st.floats(0, 1e9) | st.sampled_from([float("inf"), float("nan"), -1.0, 5e-324]),
    beside=st.floats(-1, 1) | st.just(float("nan")),
    passages=st.integers(1, 200),
)
many = st.lists(candidates, max_size=120, unique_by=lambda each: each.row_id)
weights = st.builds(
    Weights,
    *(st.floats(0.1, 9), units, st.floats(0.1, 99), units, units),
    *(units, st.floats(0.1, 99), units, units, units),
)
queries = st.sampled_from(
    ["Why does Kestrel drop?", "on 5 May", "in 1999", "may", "", "in May 2024"]
)


def us(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def a_candidate(
    row_id="a", text="it is so", created="2024-01-01", happened=None, cosine=0.5, bm25=0.0
):
    happened_at = None if happened is None else us(happened)
    return Told(row_id, us(created), happened_at, cosine, bm25, 0.0, 1, text)


def ranked(found, query="?", *how, limit=999, read=None, **named):
    texts = {each.row_id: each.text for each in found}

    def all_at_hand(row_ids):
        return {row_id: texts[row_id] for row_id in row_ids}

    asked = [Candidate(*each[:-1]) for each in found]
    return rank(asked, Question(query, *how, **named), limit, read or all_at_hand)


def order(found, *asked, **how):
    return [scored.row_id for scored in ranked(found, *asked, **how)]


def score(candidate, *asked, **how):
    [scored] = ranked([candidate], *asked, **how)
    return scored.score


# --- scores


@given(many, queries, st.sampled_from(MODES), weights)
def test_scores_are_in_0_to_1_and_best_first(found, query, mode, weights):
    hits = ranked(found, query, mode, weights)
    assert sorted(hit.row_id for hit in hits) == sorted(each.row_id for each in found)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert 0 <= hit.score <= 1
        assert 0 <= hit.keyword <= 1
        assert hit.cosine is None or 0 <= hit.cosine <= 1


@given(candidates, queries, st.sampled_from(MODES), weights, st.floats(-1, 1), st.floats(-1, 1))
def test_a_score_never_falls_when_the_cosine_rises(candidate, query, mode, weights, one, other):
    low, high = (
        score(candidate._replace(cosine=cosine), query, mode, weights)
        for cosine in sorted([one, other])
    )
    assert low <= high


@given(candidates, queries, st.sampled_from(MODES), weights, st.floats(0, 99), st.floats(0, 99))
def test_a_score_never_falls_when_the_bm25_rises(candidate, query, mode, weights, one, other):
    low, high = (
        score(candidate._replace(bm25=bm25), query, mode, weights) for bm25 in sorted([one, other])
    )
    assert low <= high


@given(candidates, queries, st.sampled_from(MODES), weights, st.floats(-1, 1), st.floats(-1, 1))
def test_a_score_never_falls_when_what_stands_beside_is_nearer(
    candidate, query, mode, weights, one, other
):
    low, high = (
        score(candidate._replace(beside=beside), query, mode, weights)
        for beside in sorted([one, other])
    )
    assert low <= high


@given(many, queries, st.sampled_from(MODES))
def test_a_score_follows_from_its_own_candidate(found, query, mode):
    alone = {each.row_id: score(each, query, mode) for each in found}
    assert {hit.row_id: hit.score for hit in ranked(found, query, mode, WEIGHTS)} == alone


@given(many, queries, st.randoms())
def test_the_order_does_not_depend_on_the_order_given(found, query, random):
    shuffled = random.sample(found, len(found))
    assert ranked(shuffled, query, "hybrid") == ranked(found, query, "hybrid")


@given(many, queries, st.sampled_from(MODES), weights, st.integers(1, 5))
def test_a_limit_cuts_the_order_and_no_more(found, query, mode, weights, limit):
    every = ranked(found, query, mode, weights)
    assert ranked(found, query, mode, weights, limit=limit) == every[:limit]


def test_texts_that_cannot_come_among_the_first_are_not_read():
    found = [a_candidate(f"{n:03}", cosine=n / 200) for n in range(200)]
    asked: list[str] = []

    def read(row_ids):
        asked.extend(row_ids)
        return dict.fromkeys(row_ids, "it is so")

    hits = ranked(found, "how is it?", limit=3, read=read)
    assert [hit.row_id for hit in hits] == ["199", "198", "197"]
    assert 3 < len(asked) < 100
    few = len(asked)
    ranked(found, "how is Ada in May 2024?", limit=3, read=read)
    assert len(asked) > 2 * few  # a name or a date may lift more of them


def test_a_row_without_a_text_is_left_out():
    found = [a_candidate("a"), a_candidate("b", cosine=0.9)]
    [hit] = ranked(found, read=lambda _: {"a": "it is so"})
    assert hit.row_id == "a"


def test_hybrid_is_seven_parts_vector_and_three_parts_keyword():
    candidate = a_candidate(cosine=0.6, bm25=8.0)
    assert score(candidate, weights=PLAIN) == pytest.approx(0.7 * 0.6 + 0.3 * 0.5)
    assert score(candidate, mode="vector", weights=PLAIN) == 0.6
    assert score(candidate, mode="keyword", weights=PLAIN) == 0.5


def test_weights_count_by_their_ratio():
    candidate = a_candidate(cosine=0.6, bm25=8.0)
    assert score(candidate, weights=Weights(7, 3)) == pytest.approx(score(candidate))


def test_a_row_without_a_vector_gets_the_cosine_to_expect():
    pending = a_candidate("p", cosine=None, bm25=8.0)
    expected = 0.1 + 0.4 * 0.5
    assert score(pending, weights=PLAIN) == pytest.approx(0.7 * expected + 0.3 * 0.5)
    assert score(pending, mode="keyword", weights=PLAIN) == 0.5
    assert ranked([pending], "?", "vector", PLAIN)[0].score == 0
    assert ranked([pending], "?", "hybrid", WEIGHTS)[0].cosine is None
    sure = Weights(words_boost=0, length_boost=0, pending_cosine=(0.9, 1.0))
    assert score(pending, weights=sure) == pytest.approx(0.7 * 1.0 + 0.3 * 0.5)


@given(st.floats(0, 99), st.floats(-0.09, 0.5), weights)
def test_a_cosine_above_the_expected_one_is_better_than_none(bm25, more, weights):
    pending = a_candidate("p", cosine=None, bm25=bm25)
    [hit] = ranked([pending], "?", "keyword", weights)
    embedded = a_candidate("e", cosine=0.1 + 0.4 * hit.keyword + more, bm25=bm25)
    higher, lower = (score(each, "?", "hybrid", weights) for each in (embedded, pending))
    assert (higher - lower) * more >= -1e-9


def test_most_of_the_words_without_a_vector_come_after_all_of_them_with_one():
    answer = a_candidate("answer", cosine=0.6, bm25=24.0)
    others = [a_candidate(f"{n}", cosine=None, bm25=16.0 + n / 4) for n in range(15)]
    worse = [a_candidate(f"{n}", cosine=0.3, bm25=4.0) for n in range(15, 29)]
    assert order([*others, *worse, answer])[0] == "answer"


def test_a_vector_of_zeros_is_no_vector():
    zeros = a_candidate(cosine=float("nan"), bm25=8.0)
    assert score(zeros) == score(a_candidate(cosine=None, bm25=8.0))
    assert ranked([zeros], "?", "hybrid", WEIGHTS)[0].cosine is None


@pytest.mark.parametrize(
    "bad",
    [
        {"vector": -1},
        {"vector": 0, "keyword": 0},
        {"vector": float("nan")},
        {"bm25_half": 0},
        {"subject_boost": 1.1},
        {"date_boost": -0.1},
        {"words_boost": 1.1},
        {"words_half": 0},
        {"beside_boost": -0.1},
        {"length_boost": 2},
        {"question_discount": 1.1},
        {"question_words": -1},
        {"passage_discount": 1.1},
        {"neighbour_shares": (0.8, 1.1)},
        {"pending_cosine": (0.1, 1.1)},
    ],
)
def test_weights_that_would_leave_0_to_1_are_refused(bad):
    with pytest.raises(ValueError):
        Weights(**bad)


def test_of_two_texts_with_one_best_cosine_the_one_of_fewer_passages_is_first():
    long, short = a_candidate("a")._replace(passages=12), a_candidate("b")
    assert order([long, short]) == ["b", "a"]
    assert [hit.cosine for hit in ranked([long, short])] == [0.5, 0.5]
    fewer = score(long, weights=PLAIN) - score(short, weights=PLAIN)
    assert fewer == pytest.approx(-0.7 * 0.03 * math.log(12))
    assert order([long, short], mode="vector") == ["a", "b"]


# --- ties


def test_equal_scores_go_by_the_newest_then_by_id():
    found = [
        a_candidate("b", created="2024-01-02"),
        a_candidate("a", created="2024-01-02"),
        a_candidate("old", created="2024-03-01", happened="2020-01-01"),
        a_candidate("new", created="2020-01-01", happened="2024-02-01"),
    ]
    assert order(found) == ["new", "a", "b", "old"]


def test_recency_never_outweighs_evidence():
    found = [a_candidate("old", created="2001-01-01", cosine=0.51), a_candidate("new", cosine=0.5)]
    assert order(found) == ["old", "new"]


# --- boosts


def test_a_memory_that_opens_with_what_the_question_is_about_is_lifted():
    about = a_candidate("about", "Kestrel drops a call", cosine=0.5)
    other = a_candidate("other", "Heron calls Kestrel", cosine=0.52)
    assert order([about, other], "when does Kestrel drop?") == ["about", "other"]
    assert order([about, other], "when does it drop?") == ["other", "about"]
    names = frozenset({"kestrel"})
    assert order([about, other], "kestrel drops when?", names=names) == ["about", "other"]


def test_an_ordinary_word_that_a_memory_opens_with_lifts_nothing():
    scripts = a_candidate(text="Deploy scripts live in ops")
    assert score(scripts, "how do we deploy?") == score(scripts, "?")
    assert score(scripts, "Deploy with what?") == score(scripts, "?")


def test_a_word_that_only_contains_the_subject_is_another_word():
    candidate = a_candidate(text="Tern locks")
    assert score(candidate, "an external lock") == score(candidate, "?")


@pytest.mark.parametrize(
    ("question", "nearest"),
    [
        ("what happened on 5 May 2024?", "day"),
        ("what happened on 5 May?", "day"),
        ("what happened in November 2023?", "month"),
        ("what happened in 2022?", "year"),
        ("what happened on 2024-08-01?", "written"),
    ],
)
def test_a_memory_near_the_date_in_the_question_comes_first(question, nearest):
    found = [
        a_candidate("day", happened="2024-05-05"),
        a_candidate("month", happened="2023-11-20"),
        a_candidate("year", happened="2022-02-02"),
        a_candidate("written", "Decision of 1 August 2024", created="2026-01-01"),
        a_candidate("far", happened="2025-01-01", cosine=0.6),
    ]
    assert order(found, "what happened?")[0] == "far"
    assert order(found, question)[0] == nearest


def test_what_a_text_says_counts_before_when_it_was_learned():
    said = a_candidate("said", "Decision of 1 August 2024", created="2026-01-01")
    assert score(said, "in January 2026") == score(said, "?")
    assert score(said, "in August 2024") > score(said, "?")


def test_nearness_fades_within_days():
    days = ["2024-02-10", "2024-02-24", "2024-02-28", "2024-03-01", "2024-03-31"]
    found = [a_candidate(happened=each) for each in days]
    scores = [score(each, "in March 2024", "vector", PLAIN) for each in found]
    assert scores[0] == 0.5 < scores[1] < scores[2] < scores[3]
    assert scores[3] == scores[4] == pytest.approx(0.5 + 0.3 * 0.5)


def test_a_year_in_a_text_is_not_near_each_of_its_days():
    year = a_candidate("year", "The plan for 2024")
    month = a_candidate("month", "The plan for May 2024")
    assert score(year, "on 5 May 2024") < score(month, "on 5 May 2024")


# --- words, length, neighbours and questions


def test_most_words_in_one_place_count_more_than_twice_half_of_them():
    [none, half, most] = (
        score(a_candidate(bm25=bm25), weights=Weights(vector=1, keyword=0)) for bm25 in (0, 10, 20)
    )
    assert most - none > 2 * (half - none) > 0
    at_half = score(a_candidate(cosine=0.5, bm25=16.0), weights=Weights(vector=1, keyword=0))
    assert at_half - none == pytest.approx((1 - none) * 0.4 / 2)
    assert score(a_candidate(bm25=99), mode="vector") == score(a_candidate(bm25=0), mode="vector")


def test_keywords_count_little_up_to_a_few_and_half_at_the_half():
    [hit] = ranked([a_candidate(bm25=8.0)], "?", "keyword", WEIGHTS)
    assert hit.keyword == 0.5
    [hit] = ranked([a_candidate(bm25=2.0)], "?", "keyword", WEIGHTS)
    assert hit.keyword == pytest.approx(1 / 9)


@pytest.mark.parametrize("mode", MODES)
def test_a_short_filler_comes_after_a_text_that_says_as_much(mode):
    short = a_candidate("a", "sure, yes")
    long = a_candidate("b", "one " * 40)
    assert order([short, long], mode=mode) == ["b", "a"]
    full, longer = (score(a_candidate(text="one " * words), mode=mode) for words in (40, 400))
    assert full == longer


def test_what_stands_beside_a_good_hit_is_lifted_in_hybrid_only():
    alone, beside = a_candidate("a"), a_candidate("b")._replace(beside=0.9)
    assert order([alone, beside]) == ["b", "a"]
    for mode in ("vector", "keyword"):
        assert score(alone, mode=mode) == score(beside, mode=mode)


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_a_question_comes_after_what_may_be_its_answer(mode):
    asks, says = a_candidate("a", "who is it? \n"), a_candidate("b", "what it is")
    assert order([asks, says], mode=mode) == ["b", "a"]
    assert score(asks, mode=mode) == pytest.approx(0.9 * score(says, mode=mode))


@pytest.mark.parametrize(("words", "discount"), [(30, 0.1), (31, 0)])
def test_a_message_that_ends_in_a_request_tells_something_as_well(words, discount):
    told = " ".join(["I moved the job to Friday because of the backup, can you check it"] * 3)
    text = " ".join(told.split()[:words])
    asks, says = a_candidate("a", f"{text}? "), a_candidate("b", f"{text}.")
    assert score(asks) == pytest.approx((1 - discount) * score(says))
    assert score(asks, mode="keyword") == pytest.approx(0.9 * score(says, mode="keyword"))
    always = Weights(question_words=words)
    assert score(asks, weights=always) == pytest.approx(0.9 * score(says))
