"""Where primes are kept for those who cannot ask the store: files, which may be lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from day1.model.prime.prime import Prime

Stamp = Sequence[int]
"""What the store looks like from outside; with another one it was written to."""


@dataclass(frozen=True, slots=True)
class KeptPrime:
    """What a renewal has use for of the prime that is kept."""

    branch: str
    space: str | None
    at: str
    """The commit that it was read at."""
    pinned: tuple[str, ...]
    """The ids of the facts that were pinned there."""
    evergreen: tuple[str, ...] | None
    """Those of the last facts that say how to work; None: an earlier day1 did not note them."""


@dataclass(frozen=True, slots=True)
class ToldPrime:
    """What a session began with."""

    at: int
    """When it was told: it is another one if this is another."""
    text: str


class Primes(Protocol):
    """Keeps primes; no method fails where the files cannot be used."""

    def stamp(self) -> Stamp:
        """What the store looks like now: to be asked before it is read."""

    def kept(self, branch: str, space: str | None) -> KeptPrime | None:
        """The prime that is kept of a branch, or was until it was forgotten."""

    def told(self, session: str) -> ToldPrime | None:
        """What a hook told a session last; None if none is known to have told it anything."""

    def every(self) -> list[KeptPrime]:
        """All that are kept, the newest first; then those that were forgotten, of no commit."""

    def forgotten(self) -> int:
        """How often something was forgotten by now: to be asked before the memory is read."""

    def keep(self, prime: Prime, stamp: Stamp, forgotten: int) -> bool:
        """Keep a prime in place of the earlier one.

        Returns:
            False if something was forgotten since: the memory is to be read again for it.
        """

    def restamp(self, kept: KeptPrime, stamp: Stamp) -> None:
        """Note that a kept prime is as new as the store that looks like this."""

    def drop(self, branch: str, space: str | None) -> None:
        """Remove one: its branch is gone, or nobody has asked for it for long."""

    def forget(self) -> None:
        """Remove all: something in one of them is to be read by nobody any more."""


class NoPrimes(Primes):
    """Keeps none."""

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
