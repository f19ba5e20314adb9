"""How hits are ordered: the rules, each with its reason beside it.

Pure and without numpy: it is fed some 400 candidates, each with both its true scores, and orders
them. "Points" are recall of the evidence in the first ten hits, measured on thousands of
questions over conversational memories. Tried and left out: recency as a weight (always costs),
maximal marginal relevance, feedback from the first hits and prefix matching (no use).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from day1.model.search.wording import DateSpan, content_words, dates, subject

Mode = Literal["hybrid", "vector", "keyword"]

_DAY_US = 86_400_000_000
_YEAR_US = 31_556_952_000_000
_DATED_CHARACTERS = 500  # a date further down says little about the whole text


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that may answer the question.

    Units: times in microseconds of UTC; `cosine` is the true one of the row's best passage, None
    while it has no vector; `bm25` is 0 when no word of the question occurs in the text and grows
    with the match (the negative of what FTS5 gives).
    """

    row_id: str
    text: str
    created_at: int
    happened_at: int | None
    cosine: float | None
    bm25: float


@dataclass(frozen=True, slots=True)
class Weights:
    """The settings of the order.

    Units: `vector` and `keyword` count by their ratio; `bm25_half` is the BM25 that scores one
    half; boosts are the part of the way from a row's score to 1.

    Raises:
        ValueError: a value is out of its range.
    """

    vector: float = 0.7
    keyword: float = 0.3
    bm25_half: float = 8.0
    subject_boost: float = 0.1
    date_boost: float = 0.3

    def __post_init__(self) -> None:
        if not (self.vector >= 0 and self.keyword >= 0 and self.vector + self.keyword > 0):
            raise ValueError("vector and keyword must not be negative, nor both 0")
        if not self.bm25_half > 0:
            raise ValueError("bm25_half must be above 0")
        if not (0 <= self.subject_boost <= 1 and 0 <= self.date_boost <= 1):
            raise ValueError("a boost must be in 0..1")


@dataclass(frozen=True, slots=True)
class Scored:
    """A ranked row; all scores are in 0..1, and `cosine` is None while it has no vector."""

    row_id: str
    score: float
    cosine: float | None
    keyword: float


def rank(candidates: Sequence[Candidate], query: str, mode: Mode, weights: Weights) -> list[Scored]:
    """Order `candidates` for `query`: best first, then the newest, then by id.

    Units: a score is in 0..1, never NaN, and means the same from query to query; it never falls
    when a cosine or a BM25 rises.
    """
    words = frozenset(content_words(query))
    near_dates = _near_dates(candidates, query)
    ranked = []
    for candidate, near in zip(candidates, near_dates, strict=True):
        cosine = _clamped(candidate.cosine)
        keyword = _keyword_score(candidate.bm25, weights.bm25_half)
        score = _evidence(cosine, keyword, mode, weights)
        # A memory that opens with a capitalised word which the question has too is about that
        # subject: +2 to +5 points.
        if subject(candidate.text) in words:
            score = _boosted(score, weights.subject_boost)
        if near:
            score = _boosted(score, weights.date_boost * near)
        when = candidate.created_at if candidate.happened_at is None else candidate.happened_at
        ranked.append((-score, -when, candidate.row_id, cosine, keyword))
    ranked.sort(key=lambda hit: hit[:3])
    return [Scored(row_id, -score, cosine, keyword) for score, _, row_id, cosine, keyword in ranked]


def _clamped(cosine: float | None) -> float | None:
    """The cosine as it is, below 0 as 0; NaN (a vector of zeros) is no cosine at all.

    Fixed scales, here and for BM25, not min and max of the list: they cost nothing, and only so
    are scores comparable from query to query.
    """
    if cosine is None or cosine != cosine:  # noqa: PLR0124 - the quickest test for NaN
        return None
    return min(1.0, max(0.0, cosine))


def _keyword_score(bm25: float, half: float) -> float:
    """BM25 as `s / (s + half)`, written so that an infinite one is 1 and not NaN."""
    return 1.0 / (1.0 + half / bm25) if bm25 > 0 else 0.0


def _evidence(cosine: float | None, keyword: float, mode: Mode, weights: Weights) -> float:
    """What the vector and the words say together.

    0.7 vector + 0.3 keyword of both true scores; reciprocal rank fusion is 4 to 7 points worse.
    A row whose vector is still pending is judged by its words alone: to call the absent cosine 0
    would cost 10 points, and where both are known the cosine is on average about what the
    keyword score is.
    """
    if mode == "keyword":
        return keyword
    if mode == "vector":
        return cosine or 0.0
    if cosine is None:
        return keyword
    both = weights.vector * cosine + weights.keyword * keyword
    return both / (weights.vector + weights.keyword)


def _boosted(score: float, boost: float) -> float:
    """Lift `score` by `boost` of what it lacks to 1: in 0..1, and the order of equals is kept.

    A lift in proportion to the score left the first ten at 82 % of the memories asked for by date
    ("what was decided in May?"), this one at all of them: nothing but the date speaks for those.
    (`tests/relevance`, 21 questions.)
    """
    return 1.0 - (1.0 - score) * (1.0 - boost)


def _near_dates(candidates: Sequence[Candidate], query: str) -> list[float]:
    """How near each candidate is, 0..1, to the day, month or year that `query` names."""
    if not dates(query, (2000,)):
        return [0.0] * len(candidates)
    asked_around: dict[int, list[DateSpan]] = {}
    nearness = []
    for candidate in candidates:
        nearest = 0.0
        for span in _dates_of(candidate):
            year = 1970 + span.start_us // _YEAR_US
            if year not in asked_around:  # "on 5 May" is asked of the years around the memory's
                asked_around[year] = dates(query, (year - 1, year, year + 1))
            for asked in asked_around[year]:
                nearest = max(nearest, _nearness(asked, span))
        nearness.append(nearest)
    return nearness


@lru_cache(maxsize=16_384)
def _written(text: str) -> Sequence[DateSpan]:
    """The dates that a text names: memories are found again and again, and do not change."""
    return dates(text, ())


def _dates_of(candidate: Candidate) -> Sequence[DateSpan]:
    """When a memory was true: as its text says and as recorded, else when it was learned."""
    written = _written(candidate.text[:_DATED_CHARACTERS])
    if written and candidate.happened_at is None:
        return written
    at = candidate.created_at if candidate.happened_at is None else candidate.happened_at
    return [*written, DateSpan(at, at + 1)]


def _nearness(asked: DateSpan, named: DateSpan) -> float:
    """1 inside the asked day, month or year, falling to 0 within two days and a quarter of it.

    A memory that names a whole year is only a twelfth as near to one of its months.
    """
    width = asked.end_us - asked.start_us
    gap = max(asked.start_us - named.end_us, named.start_us - asked.end_us, 0)
    falling = 1.0 - gap / (2 * _DAY_US + width / 4)
    if falling <= 0:
        return 0.0
    return falling * min(1.0, width / (named.end_us - named.start_us))
