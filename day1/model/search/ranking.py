"""Ranking of hits: the rules, each with its reason beside it.

Pure and without numpy: it is fed some 400 candidates, each with both its true scores, and orders
them. "Points" are recall of the evidence in the first ten hits, measured on thousands of
questions over conversational memories. Every rule uses a fixed scale and looks at one candidate
only, so scores mean the same from query to query and from kind to kind. Tried and left out:
recency as a weight (always costs), maximal marginal relevance, feedback from the first hits and
prefix matching (no use), a scale from the least to the greatest score of the candidates (no better
with the other rules), a neighbour's score in place of its words (lifts whatever stands beside a
good hit).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import add, itemgetter
from typing import Literal, NamedTuple

from day1.model.search.usefulness import RowVotes, asked_words, moved
from day1.model.search.wording import DateSpan, asked_about, dates, subject

Mode = Literal["hybrid", "vector", "keyword"]

_DAY_US = 86_400_000_000
_YEAR_US = 31_556_952_000_000
_DATED_CHARACTERS = 500  # a date after these says little about the whole text

_PORTION = 50
"""The number of texts that are read at once."""
_ROUNDED = 1e-9
"""A bound on the sum of rounding errors of a score."""
_FULL = 40
_FULLNESS = [*(math.log(1 + words) / math.log(1 + _FULL) for words in range(_FULL)), 1.0, 1.0]
"""How much a text can say, 0 to 1, by its number of words (the last: more than `_FULL`)."""


class Candidate(NamedTuple):
    """A row that may answer the question.

    Units: times in microseconds of UTC; `cosine` is the true one of the row's best passage, None
    while it has no vector; `bm25` is 0 when no word of the question occurs in the text and grows
    with the match (the negative of what FTS5 gives); where rows have neighbours, it counts the
    words of these too (`words_in_context`).
    """

    row_id: str
    created_at: int
    happened_at: int | None
    cosine: float | None
    bm25: float
    beside: float = 0.0
    """The higher cosine of the memories written just before and just after; 0 without any."""
    passages: int = 1
    """How many passages of the text have a vector; `cosine` is that of the best one."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The settings of the ranking.

    Units: `vector` and `keyword` count by their ratio; a half is the BM25 at which its rule has
    half of its effect; a boost is the part of the way from a row's score to 1, the discount the
    part of a score that is taken away.

    Raises:
        ValueError: a value is out of its range.
    """

    vector: float = 0.7
    keyword: float = 0.3
    bm25_half: float = 8.0
    subject_boost: float = 0.25
    date_boost: float = 0.3
    words_boost: float = 0.4
    words_half: float = 16.0
    beside_boost: float = 0.3
    length_boost: float = 0.1
    question_discount: float = 0.1
    question_words: int = 30
    """Maximum number of words of a text that gets the question discount: a longer one also tells
    something."""
    passage_discount: float = 0.03
    """Discount of the best passage's cosine, times the natural logarithm of the passage count."""
    neighbour_shares: tuple[float, ...] = (0.8, 0.6)
    """Weights of words in neighbouring memories: the nearest on each side, the next, and so on."""
    neighbour_words: int = 30
    """A text of more words gets a smaller part of its neighbours' words (`part_lent`)."""
    beside_words: int = 40
    """A text of more words gets a smaller part of `beside_boost`."""
    pending_cosine: tuple[float, float] = (0.1, 0.4)
    """The cosine to expect of a row without a vector: a base, and a part of its keyword score."""

    def __post_init__(self) -> None:
        if not (self.vector >= 0 and self.keyword >= 0 and self.vector + self.keyword > 0):
            raise ValueError("vector and keyword must not be negative, nor both 0")
        if not (self.bm25_half > 0 and self.words_half > 0):
            raise ValueError("bm25_half and words_half must be above 0")
        boosts = (self.subject_boost, self.date_boost, self.words_boost, self.beside_boost)
        discounts = (self.question_discount, self.passage_discount)
        fractions = (*boosts, self.length_boost, *discounts, *self.neighbour_shares)
        if min(self.question_words, self.neighbour_words, self.beside_words) < 0:
            raise ValueError("a number of words must not be negative")
        if not all(0 <= fraction <= 1 for fraction in (*fractions, *self.pending_cosine)):
            raise ValueError("boosts, shares, cosines and discounts of searches must be in 0..1")


@dataclass(frozen=True, slots=True)
class Scored:
    """A ranked row; all scores are in 0..1, and `cosine` is None while it has no vector."""

    row_id: str
    score: float
    cosine: float | None
    keyword: float


@dataclass(frozen=True)
class Question:
    """The question of a search, and how its hits are weighed."""

    text: str
    mode: Mode = "hybrid"
    weights: Weights = field(default_factory=Weights)
    names: frozenset[str] = frozenset()
    """The names in the memories that are searched (`wording.usual`)."""
    votes: Mapping[str, RowVotes] = field(default_factory=dict)
    """Votes of agents by row id."""

    @cached_property
    def about(self) -> frozenset[str]:
        """The subjects of the question, in lower case."""
        return asked_about(self.text, self.names)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words by which the question is compared with other queries."""
        return asked_words(self.text)

    @cached_property
    def dated(self) -> bool:
        """Whether the question names a day, a month or a year."""
        return bool(dates(self.text, (2000,)))


def rank(
    candidates: Iterable[Candidate],
    question: Question,
    limit: int,
    read: Callable[[Sequence[str]], Mapping[str, str]],
) -> list[Scored]:
    """Rank candidates and return the first `limit`: best first, then newest, then by id.

    `read` returns the texts of rows by their ids; a row without a text is left out. It is called
    for a portion at a time, and not for rows that no text could lift among the first.

    Units: a score is in 0..1, never NaN, and means the same from query to query; it never falls
    when a cosine or a BM25 rises.
    """
    scored_candidates = [(_evidence(candidate, question), candidate) for candidate in candidates]
    scored_candidates.sort(key=itemgetter(0), reverse=True)
    best_hits: list[_Hit] = []
    for portion_start in range(0, len(scored_candidates), _PORTION):
        best_possible = _best_possible(scored_candidates[portion_start][0], question)
        if len(best_hits) == limit and best_possible < -best_hits[-1].negative_score - _ROUNDED:
            break
        portion = scored_candidates[portion_start : portion_start + _PORTION]
        text_by_id = read([candidate.row_id for _, candidate in portion])
        portion_with_texts = [
            (evidence, c, text_by_id[c.row_id]) for evidence, c in portion if c.row_id in text_by_id
        ]
        hits = [*best_hits, *_weighed(portion_with_texts, question)]
        best_hits = sorted(hits, key=_PLACE)[:limit]
    half_bm25 = question.weights.bm25_half
    return [
        Scored(
            hit.row_id, -hit.negative_score, _clamped(c.cosine), _keyword_score(c.bm25, half_bm25)
        )
        for hit in best_hits
        for c in [hit.candidate]
    ]


class _Hit(NamedTuple):
    negative_score: float
    negative_time: int
    row_id: str
    candidate: Candidate


_PLACE = itemgetter(0, 1, 2)


def _weighed(
    with_texts: Sequence[tuple[float, Candidate, str]], question: Question
) -> Iterator[_Hit]:
    """Yield the scores of rows by their evidence and their texts."""
    weights, question_subjects = question.weights, question.about
    date_nearnesses = _near_dates(
        [(candidate, text) for _, candidate, text in with_texts], question
    )
    for (evidence, candidate, text), date_nearness in zip(with_texts, date_nearnesses, strict=True):
        score = _boosted(evidence, weights.length_boost * _fullness(text))
        # A memory that opens with a capitalised word which the question is about is about it
        # too: +2 to +5 points.
        if question_subjects and subject(text) in question_subjects:
            score = _boosted(score, weights.subject_boost)
        if date_nearness:
            score = _boosted(score, weights.date_boost * date_nearness)
        # A question is like the question, and does not answer it.
        # By words alone, a long message that ends in a question is found like one, too.
        if text.rstrip().endswith("?") and (
            question.mode == "keyword" or _is_short(text, weights.question_words)
        ):
            score *= 1.0 - weights.question_discount
        row_votes = question.votes.get(candidate.row_id)
        if row_votes is not None:
            score = moved(score, row_votes.usefulness(question.words))
        row_time = candidate.created_at if candidate.happened_at is None else candidate.happened_at
        yield _Hit(-score, -row_time, candidate.row_id, candidate)


def _best_possible(score: float, question: Question) -> float:
    """Return the highest score that a text can lift a row's evidence to."""
    weights = question.weights
    score = _boosted(score, weights.length_boost)
    if question.about:
        score = _boosted(score, weights.subject_boost)
    score = moved(score, 1.0) if question.votes else score
    return _boosted(score, weights.date_boost) if question.dated else score


def part_lent(words: int, enough: int) -> float:
    """Return the share of its neighbours' words that counts for a text of so many words, 0 to 1.

    A long text names its own subject: the share is `sqrt(enough / words)` above `enough` words.
    """
    return 1.0 if words <= enough else math.sqrt(enough / words)


def words_in_context(
    words: Sequence[Mapping[int, float]],
    run: Sequence[int],
    shares: Sequence[float],
    parts: Sequence[float],
) -> list[float]:
    """Compute the BM25 of each text of a run with its neighbours' words: never below its own.

    Asked "where did the sister move?", one memory says "my sister called" and the next "she is in
    Lisbon now": neither has all words. Each word of the question counts once, where it is nearest,
    so a memory that has them all itself stays first. (Most points of all rules.) FTS5's BM25 of an
    OR is the sum of its terms', so a run of one text gets its plain BM25.

    Args:
        words: for each word, its BM25 by text.
        run: texts in the order in which they were written.
        shares: what a word counts in the texts just before and after, in the next ones, and so on.
        parts: for each place of the run, the part of the shares that counts there.
    """
    bm25_sums = [0.0] * len(run)
    for bm25_by_text in words:
        word_scores = [0.0] * len(run)
        for index, text in enumerate(run):
            score = bm25_by_text.get(text, 0.0)
            if score > 0:  # seldom: most words are in few texts
                word_scores[index] = max(word_scores[index], score)
                for distance, share in enumerate(shares, start=1):
                    for neighbour_index in (index - distance, index + distance):
                        if 0 <= neighbour_index < len(run):
                            word_scores[neighbour_index] = max(
                                word_scores[neighbour_index], share * parts[neighbour_index] * score
                            )
        bm25_sums = list(map(add, bm25_sums, word_scores))
    return bm25_sums


def _clamped(cosine: float | None) -> float | None:
    """Clamp a cosine to 0..1; NaN (of a vector of zeros) becomes None.

    Scales are fixed, here and for BM25, and not the list's min and max: they cost nothing, and
    make scores comparable from query to query.
    """
    if cosine is None or cosine != cosine:  # noqa: PLR0124 - the quickest test for NaN
        return None
    return cosine if 0.0 <= cosine <= 1.0 else float(cosine > 0.0)


def _keyword_score(bm25: float, half: float) -> float:
    """Scale a BM25 `s` to `s^1.5 / (s^1.5 + half^1.5)`; an infinite one becomes 1, not NaN."""
    if not bm25 > 0:
        return 0.0
    half_to_bm25 = half / bm25
    return 1.0 / (1.0 + half_to_bm25 * math.sqrt(half_to_bm25))


def _most_words(bm25: float, half: float) -> float:
    """Scale a BM25 `s` to `s^3 / (s^3 + half^3)`, which is high only if most words match."""
    half_to_bm25 = half / bm25 if bm25 > 0 else math.inf
    return 1.0 / (1.0 + half_to_bm25 * half_to_bm25 * half_to_bm25)


def _evidence(candidate: Candidate, question: Question) -> float:
    """Combine cosine and keyword score of a candidate, before its text is read.

    0.7 vector + 0.3 keyword of both true scores; reciprocal rank fusion is 4 to 7 points worse.
    A row whose vector is still pending gets the cosine to expect by its keyword score: on average
    a third of that score and .05 to .1. To call it 0 would cost 10 points; to judge the row by its
    words alone puts it before better rows that have a vector (13 points on long memories).
    """
    weights, cosine = question.weights, candidate.cosine
    if question.mode == "vector":
        return _clamped(cosine) or 0.0
    keyword_score = _keyword_score(candidate.bm25, weights.bm25_half)
    if question.mode == "keyword":
        return keyword_score
    if cosine is not None and candidate.passages > 1:
        # The best of many passages is high by chance: long texts would crowd out short ones.
        cosine -= weights.passage_discount * math.log(candidate.passages)
    cosine = _clamped(cosine)
    if cosine is None:
        base_cosine, keyword_share = weights.pending_cosine
        vector_score = min(1.0, base_cosine + keyword_share * keyword_score)
    else:
        # A memory beside one like the question is more likely the wanted one.
        vector_score = _boosted(cosine, weights.beside_boost * (_clamped(candidate.beside) or 0.0))
    combined_score = weights.vector * vector_score + weights.keyword * keyword_score
    score = combined_score / (weights.vector + weights.keyword)
    # Most words of a question in one place are more than twice as good as half of them.
    return _boosted(score, weights.words_boost * _most_words(candidate.bm25, weights.words_half))


def _fullness(text: str) -> float:
    """Rate how much a text can say, 0 to 1 by words: short fillers are near every short question.

    The first 40 words count.
    """
    return _FULLNESS[len(text.split(None, _FULL))]


def _is_short(text: str, words: int) -> bool:
    """Whether a text has at most `words` words."""
    return len(text.split(None, words)) <= words


def _boosted(score: float, boost: float) -> float:
    """Raise a score by the share `boost` of its distance to 1; the result is in 0..1.

    A lift in proportion to the score left the first ten at 82 % of the memories asked for by date
    ("what was decided in May?"), this one at all of them: nothing but the date speaks for those.
    (`tests/relevance`, 21 questions.)
    """
    return 1.0 - (1.0 - score) * (1.0 - boost)


def _near_dates(with_texts: Sequence[tuple[Candidate, str]], question: Question) -> list[float]:
    """Rate how near each row is, 0..1, to the day, month or year that the question names."""
    if not question.dated:
        return [0.0] * len(with_texts)
    asked_spans_by_year: dict[int, list[DateSpan]] = {}
    nearnesses = []
    for candidate, text in with_texts:
        best_nearness = 0.0
        for memory_span in _dates_of(candidate, text):
            year = 1970 + memory_span.start_us // _YEAR_US
            # "On 5 May" is asked of the years around the memory's.
            if year not in asked_spans_by_year:
                asked_spans_by_year[year] = dates(question.text, (year - 1, year, year + 1))
            for asked_span in asked_spans_by_year[year]:
                best_nearness = max(best_nearness, _nearness(asked_span, memory_span))
        nearnesses.append(best_nearness)
    return nearnesses


@lru_cache(maxsize=16_384)
def _written(text: str) -> Sequence[DateSpan]:
    """Find the dates that a text names; cached, since the same memories are found repeatedly."""
    return dates(text, ())


def _dates_of(candidate: Candidate, text: str) -> Sequence[DateSpan]:
    """Return when a memory was true: by its text and its record, else when it was learned."""
    written_dates = _written(text[:_DATED_CHARACTERS])
    if written_dates and candidate.happened_at is None:
        return written_dates
    memory_time = candidate.created_at if candidate.happened_at is None else candidate.happened_at
    return [*written_dates, DateSpan(memory_time, memory_time + 1)]


def _nearness(asked_span: DateSpan, memory_span: DateSpan) -> float:
    """Rate nearness: 1 within the asked day, month or year, falling to 0 in 2 days and 1/4 of it.

    A memory that names a whole year is only a twelfth as near to one of its months.
    """
    asked_us = asked_span.end_us - asked_span.start_us
    gap = max(asked_span.start_us - memory_span.end_us, memory_span.start_us - asked_span.end_us, 0)
    falling_nearness = 1.0 - gap / (2 * _DAY_US + asked_us / 4)
    if falling_nearness <= 0:
        return 0.0
    return falling_nearness * min(1.0, asked_us / (memory_span.end_us - memory_span.start_us))
