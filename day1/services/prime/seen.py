"""What each session was told: by the prime that it began with, and by the hints since.

A hint has room for three memories, and what a session has in its context already would take it from
what is new there. What hints told is known to this process alone, as hashes, and bounded: who
forgets it tells a session something twice, and nothing is lost.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from day1.model.prime.framing import one_line, size
from day1.ports.primes import ToldPrime

_SESSIONS: Final = 500
"""Sessions of which it is remembered; then the one that asked longest ago is forgotten."""
_TEXTS: Final = 60
"""Texts of hints that a session has in mind: some 20 hints later one may be told again."""

SessionKey = tuple[str | None, str]
"""The token of whoever asks, so that no caller is told less because of another, and the session."""


class Seen:
    """What one session was told; threads may share it."""

    def __init__(self, prime: ToldPrime | None = None) -> None:
        """Begin with a prime, or with nothing."""
        self.prime_at = prime and prime.at
        """When the prime was told."""
        self._primed = frozenset(
            hash(line[2:].rpartition(" (")[0])
            for line in (prime.text.splitlines() if prime else ())
            if line.startswith("- ")
        )
        self._hinted: OrderedDict[int, None] = OrderedDict()
        self._guard = threading.Lock()

    def has(self, text: str) -> bool:
        """Whether a memory was told; a prime that shortened it has not told it."""
        known = _known_by(text)
        return known in self._primed or known in self._hinted

    def add(self, texts: Iterable[str]) -> None:
        """Note what a hint tells."""
        with self._guard:
            self._hinted |= dict.fromkeys(map(_known_by, texts))
            while len(self._hinted) > _TEXTS:
                self._hinted.popitem(last=False)


class SessionsSeen:
    """What the last sessions of a process were told."""

    def __init__(self) -> None:
        """Know of no session."""
        self._known: OrderedDict[SessionKey, Seen] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, session: SessionKey, prime: ToldPrime | None) -> Seen:
        """What a session was told; from each prime that it gets on, it is known anew.

        A client tells one at the start, and again when it has shortened what is in the context.
        """
        with self._guard:
            told = self._known.get(session)
            if told is None or told.prime_at != (prime and prime.at):
                told = self._known[session] = Seen(prime)
            self._known.move_to_end(session)
            while len(self._known) > _SESSIONS:
                self._known.popitem(last=False)
            return told


def _known_by(text: str) -> int:
    return hash(one_line(text, size(text)))
