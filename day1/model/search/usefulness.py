"""The usefulness of a memory by its ratings, and how far it may move a score. Pure.

The mean of the votes is Bayesian: one vote alone says little. It moves a score by a bounded part of
what the score lacks, or has. Being found or shown does not count as a vote: hits would then lift
themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from day1.model.search.wording import content_words

PRIOR: Final = 0.5
"""Usefulness of a memory without votes, 0 to 1."""
PRIOR_WEIGHT: Final = 3.0
"""The number of votes that the prior counts as."""
MOST: Final = 0.15
"""Largest share of a score's distance to 1 (downwards: to 0) by which votes can move it."""
_SIMILAR: Final = 0.6
"""Two queries are similar from this Jaccard similarity of their words."""
_SIMILAR_WEIGHT: Final = 2.0
_OTHER_WEIGHT: Final = 0.25


@dataclass(frozen=True, slots=True)
class Vote:
    """How useful somebody found a memory, 0 to 1, and the words of the query."""

    score: float
    words: frozenset[str] = frozenset()
    voter: str = ""
    """The voter, whose newest vote counts; votes without a voter all count."""
    at: int = 0
    branch_id: str | None = None


def asked_words(query: str) -> frozenset[str]:
    """Return the words by which a query is compared with other queries."""
    return frozenset(content_words(query))


class _Sum(NamedTuple):
    """The sum of a row's votes, each weighed as a vote for a different query."""

    total: float
    weight: float
    queries: Mapping[frozenset[str], tuple[float, int]]
    """The sum of scores and the number of votes, by the words of the query."""
    words: frozenset[str]
    """The words of all queries together."""
    usefulness: float
    """The usefulness by all votes, -1 to 1."""


@dataclass(frozen=True)
class RowVotes:
    """The votes on one row, by the id of the rating; their sum is computed once."""

    by_rating: Mapping[str, Vote]

    @cached_property
    def counted(self) -> Mapping[str, Vote]:
        """The newest vote of each voter, by `Vote.voter`, or by the rating's id without a voter."""
        vote_by_voter: dict[str, Vote] = {}
        for rating_id, vote in sorted(
            self.by_rating.items(), key=lambda pair: (pair[1].at, pair[0])
        ):
            vote_by_voter[vote.voter or rating_id] = vote
        return vote_by_voter

    def usefulness(self, query_words: frozenset[str]) -> float:
        """Compute how useful the row is for a query: -1 useless, 0 unknown, 1 most useful.

        A vote for a similar query counts twice, one for another query a quarter: at their full
        weight those took two in a thousand of the recall of questions that nobody had judged
        (`tests/relevance/test_judged.py`).
        """
        votes_sum = self._sum
        # In nearly every search no query is similar.
        if votes_sum.words.isdisjoint(query_words):
            return votes_sum.usefulness
        score_sum, weight_sum = votes_sum.total, votes_sum.weight
        for other_words, (query_score_sum, vote_count) in votes_sum.queries.items():
            if _similar(other_words, query_words):
                score_sum += (_SIMILAR_WEIGHT - _OTHER_WEIGHT) * query_score_sum
                weight_sum += (_SIMILAR_WEIGHT - _OTHER_WEIGHT) * vote_count
        return _usefulness(score_sum, weight_sum)

    @cached_property
    def _sum(self) -> _Sum:
        score_sum = weight_sum = 0.0
        sum_by_query: dict[frozenset[str], tuple[float, int]] = {}
        for vote in self.counted.values():
            vote_weight = _OTHER_WEIGHT if vote.words else 1.0
            score_sum += vote_weight * vote.score
            weight_sum += vote_weight
            query_score_sum, vote_count = sum_by_query.get(vote.words, (0.0, 0))
            sum_by_query[vote.words] = query_score_sum + vote.score, vote_count + 1
        query_words = frozenset[str]().union(*sum_by_query)
        return _Sum(
            score_sum, weight_sum, sum_by_query, query_words, _usefulness(score_sum, weight_sum)
        )


NO_VOTES: Final = RowVotes({})
"""The votes on a row that nobody rated."""


def _usefulness(total: float, weight: float) -> float:
    """Compute the distance of the mean, with the prior's votes, from the prior, -1 to 1."""
    return 2.0 * ((PRIOR * PRIOR_WEIGHT + total) / (PRIOR_WEIGHT + weight) - PRIOR)


def _similar(words: frozenset[str], other_words: frozenset[str]) -> bool:
    return bool(words) and len(words & other_words) >= _SIMILAR * len(words | other_words)


def moved(score: float, by: float) -> float:
    """Move a score by a memory's usefulness; it stays in 0..1."""
    return score + MOST * by * (1.0 - score if by > 0 else score)
