"""What ratings say of a memory, and how far they may move its score. Pure.

The mean of the votes is Bayesian: one vote alone says little. It moves a score by a bounded part of
what the score lacks, or has. That a memory was found or shown is no vote: it would make whatever
is found be found again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from day1.model.search.wording import content_words

PRIOR: Final = 0.5
"""What a memory without a vote is worth."""
PRIOR_WEIGHT: Final = 3.0
"""As many votes as the prior counts."""
MOST: Final = 0.15
"""The part of what a score lacks (downwards: has) that votes can move it by."""
_SIMILAR: Final = 0.6
"""Jaccard of the words of two queries from which they ask for the same."""
_SIMILAR_WEIGHT: Final = 2.0
_OTHER_WEIGHT: Final = 0.25


@dataclass(frozen=True, slots=True)
class Vote:
    """How useful somebody found a memory, 0 to 1, and the words of the query."""

    score: float
    words: frozenset[str] = frozenset()
    voter: str = ""
    """Of votes with one voter the newest counts; each one without counts."""
    at: int = 0
    branch_id: str | None = None


def asked_words(query: str) -> frozenset[str]:
    """The words of a query by which it is compared with others."""
    return frozenset(content_words(query))


class _Sum(NamedTuple):
    """Votes added up, each as one for another query than the asked one."""

    total: float
    weight: float
    queries: Mapping[frozenset[str], tuple[float, int]]
    """The votes for each query: their scores together, and how many they are."""
    words: frozenset[str]
    """Of all these queries."""
    usefulness: float
    """What they say together."""


@dataclass(frozen=True)
class RowVotes:
    """The votes on one row, by rating; they are added up once for all searches."""

    by_rating: Mapping[str, Vote]

    @cached_property
    def counted(self) -> Mapping[str, Vote]:
        """The votes that count, by their voters."""
        found: dict[str, Vote] = {}
        for rating_id, vote in sorted(self.by_rating.items(), key=lambda one: (one[1].at, one[0])):
            found[vote.voter or rating_id] = vote
        return found

    def usefulness(self, asked: frozenset[str]) -> float:
        """What they say of the row for a query: from -1, useless, over 0, nothing, to 1.

        A vote for a similar query counts twice, one for another query a quarter: at their full
        weight those took two in a thousand of the recall of questions that nobody had judged
        (`tests/relevance/test_judged.py`).
        """
        known = self._sum
        if known.words.isdisjoint(asked):  # then no query is similar, as nearly always
            return known.usefulness
        total, weight = known.total, known.weight
        for one, (score, count) in known.queries.items():
            if _similar(one, asked):
                total += (_SIMILAR_WEIGHT - _OTHER_WEIGHT) * score
                weight += (_SIMILAR_WEIGHT - _OTHER_WEIGHT) * count
        return _usefulness(total, weight)

    @cached_property
    def _sum(self) -> _Sum:
        total = weight = 0.0
        queries: dict[frozenset[str], tuple[float, int]] = {}
        for vote in self.counted.values():
            counts = _OTHER_WEIGHT if vote.words else 1.0
            total += counts * vote.score
            weight += counts
            score, count = queries.get(vote.words, (0.0, 0))
            queries[vote.words] = score + vote.score, count + 1
        words = frozenset[str]().union(*queries)
        return _Sum(total, weight, queries, words, _usefulness(total, weight))


NO_VOTES: Final = RowVotes({})
"""Those on a row that nobody rated."""


def _usefulness(total: float, weight: float) -> float:
    """The mean with the prior's votes, as far as it is from the prior."""
    return 2.0 * ((PRIOR * PRIOR_WEIGHT + total) / (PRIOR_WEIGHT + weight) - PRIOR)


def _similar(some: frozenset[str], others: frozenset[str]) -> bool:
    return bool(some) and len(some & others) >= _SIMILAR * len(some | others)


def moved(score: float, by: float) -> float:
    """A score in 0..1, moved by what a memory is worth; it stays in 0..1."""
    return score + MOST * by * (1.0 - score if by > 0 else score)
