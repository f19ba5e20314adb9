"""What primes and hints are made with: counts, kept primes, best ratings, seen memories."""

import heapq
from dataclasses import dataclass, field
from typing import Final

from day1.model.lessons.rating import Votes
from day1.ports.primes import NoPrimes, Primes
from day1.ports.uses import NoUses, Uses
from day1.services.prime.seen import SessionsSeen

_MAX_BEST: Final = 50


class BestJudged:
    """The best-rated rows, cached until the votes change."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._known: tuple[Votes, dict[str, float]] = {}, {}

    def of(self, votes: Votes) -> dict[str, float]:
        """Return the scores of the best-rated rows, by row id."""
        cached_votes, score_by_row = self._known
        if votes is not cached_votes:
            scored_rows = (
                (row_votes.usefulness(frozenset()), row_id) for row_id, row_votes in votes.items()
            )
            score_by_row = {
                row_id: score for score, row_id in heapq.nlargest(_MAX_BEST, scored_rows)
            }
            self._known = votes, score_by_row
        return score_by_row


@dataclass(frozen=True, slots=True)
class PrimeServices:
    """Counts of shown facts, kept primes, best ratings and seen memories; one per process."""

    uses: Uses = field(default_factory=NoUses)
    primes: Primes = field(default_factory=NoPrimes)
    judged: BestJudged = field(default_factory=BestJudged)
    seen: SessionsSeen = field(default_factory=SessionsSeen)
    """Memories that hints leave out because the session has seen them."""
