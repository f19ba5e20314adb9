"""Primes kept in files for hooks, which cannot ask the store; the files may be lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from day1.model.prime.prime import Prime

Stamp = Sequence[int]
"""A fingerprint of the store's files; another one means that the store was written to."""


@dataclass(frozen=True, slots=True)
class KeptPrime:
    """The parts of a kept prime that a renewal needs."""

    branch: str
    space: str | None
    at: str
    """The commit from which the prime was read."""
    pinned: tuple[str, ...]
    """The ids of the facts that were pinned at that commit."""
    evergreen: tuple[str, ...] | None
    """The ids of the newest facts that say how to work; None: an earlier day1 did not note them."""


@dataclass(frozen=True, slots=True)
class ToldPrime:
    """The prime with which a session began."""

    at: int
    """The time at which the session got the prime; it also identifies the prime."""
    text: str


class Primes(Protocol):
    """Keeps primes; no method fails where the files cannot be used."""

    def stamp(self) -> Stamp:
        """Return the store's fingerprint now; take it before reading the store."""

    def kept(self, branch: str, space: str | None) -> KeptPrime | None:
        """Return the kept prime of a branch, or the one kept until it was deleted."""

    def told(self, session: str) -> ToldPrime | None:
        """Return the prime that a hook last gave to a session; None if none is known."""

    def every(self) -> list[KeptPrime]:
        """Return all kept primes, newest first; then the deleted ones, without their commit."""

    def forgotten(self) -> int:
        """Return how often all primes were deleted at once; ask before reading the memory."""

    def keep(self, prime: Prime, stamp: Stamp, forgotten: int) -> bool:
        """Store a prime in place of the earlier one.

        Returns:
            False if something was forgotten since: the memory is to be read again for it.
        """

    def restamp(self, kept: KeptPrime, stamp: Stamp) -> None:
        """Record that a kept prime is up to date with the store of this fingerprint."""

    def drop(self, branch: str, space: str | None) -> None:
        """Remove the prime of one branch: it was deleted, or not used for long."""

    def forget(self) -> None:
        """Remove all primes: one of them holds words that nobody may read any more."""


class NoPrimes(Primes):
    """A `Primes` that keeps nothing."""

    @override
    def stamp(self) -> Stamp:
        return ()

    @override
    def kept(self, branch: str, space: str | None) -> KeptPrime | None:
        return None

    @override
    def told(self, session: str) -> ToldPrime | None:
        return None

    @override
    def every(self) -> list[KeptPrime]:
        return []

    @override
    def forgotten(self) -> int:
        return 0

    @override
    def keep(self, prime: Prime, stamp: Stamp, forgotten: int) -> bool:
        return True

    @override
    def restamp(self, kept: KeptPrime, stamp: Stamp) -> None:
        pass

    @override
    def drop(self, branch: str, space: str | None) -> None:
        pass

    @override
    def forget(self) -> None:
        pass
