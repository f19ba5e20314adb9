"""What a prime and a hint are made with."""

import heapq
from dataclasses import dataclass, field
from typing import Final

from day1.model.lessons.rating import Votes
from day1.ports.primes import NoPrimes, Primes
from day1.ports.uses import NoUses, Uses
from day1.services.prime.seen import SessionsSeen

_JUDGED: Final = 50


class BestJudged:
    """The rows with the best votes, found again only when there are other votes."""

    def __init__(self) -> None:
        """Know none yet."""
        self._known: tuple[Votes, dict[str, float]] = {}, {}

    def of(self, votes: Votes) -> dict[str, float]:
        """What the votes say of the rows of which they say most good."""
        seen, best = self._known
        if votes is not seen:
            every = ((each.usefulness(frozenset()), row_id) for row_id, each in votes.items())
            best = {row_id: value for value, row_id in heapq.nlargest(_JUDGED, every)}
            self._known = votes, best
        return best


@dataclass(frozen=True, slots=True)
class PrimeServices:
    """The use of facts, the kept primes, and what sessions have seen; made once for a process."""

    uses: Uses = field(default_factory=NoUses)
    primes: Primes = field(default_factory=NoPrimes)
    judged: BestJudged = field(default_factory=BestJudged)
    seen: SessionsSeen = field(default_factory=SessionsSeen)
    """What hints leave out, because its session has it."""
