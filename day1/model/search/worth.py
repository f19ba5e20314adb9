"""What ratings say of a memory, and how far they may move its score. Pure.

The mean of the votes is Bayesian: one vote alone says little. It moves a score by a bounded part of
what the score lacks, or has. That a memory was found or shown is no vote: it would make whatever
is found be found again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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


def asked_words(query: str) -> frozenset[str]:
    """The words of a query by which it is compared with others."""
    return frozenset(content_words(query))


def worth(votes: Iterable[Vote], asked: frozenset[str]) -> float:
    """What votes say of a memory for a query: from -1, useless, over 0, nothing, to 1.

    A vote for a similar query counts twice, one for another query a quarter: at their full weight
    those took two in a thousand of the recall of questions that nobody had judged
    (`tests/relevance/test_judged.py`).
    """
    total, weight = PRIOR * PRIOR_WEIGHT, PRIOR_WEIGHT
    for vote in votes:
        counts = _OTHER_WEIGHT if vote.words else 1.0
        if _similar(vote.words, asked):
            counts = _SIMILAR_WEIGHT
        total += counts * vote.score
        weight += counts
    return 2.0 * (total / weight - PRIOR)


def _similar(some: frozenset[str], others: frozenset[str]) -> bool:
    if some.isdisjoint(others):  # as nearly always
        return False
    return len(some & others) >= _SIMILAR * len(some | others)


def moved(score: float, by: float) -> float:
    """A score in 0..1, moved by what a memory is worth; it stays in 0..1."""
    return score + MOST * by * (1.0 - score if by > 0 else score)
