"""The memories that each session has seen: in its prime, and in the hints since.

A hint has room for three memories: those that a session has in its context already would take the
room of new ones. This process remembers a bounded number of them, as hashes. A memory that is
forgotten here is shown twice, and nothing is lost.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from day1.model.prime.framing import one_line, size
from day1.ports.primes import ToldPrime

_SESSIONS: Final = 500
"""Sessions that are remembered; beyond, the one that asked longest ago is forgotten."""
_TEXTS: Final = 60
"""Texts of hints that count as seen: after some 20 hints one may be shown again."""

SessionKey = tuple[str | None, str]
"""The caller's token and its session: no caller is shown less because of another."""


class Seen:
    """What one session has seen; threads may share it."""

    def __init__(self, prime: ToldPrime | None = None) -> None:
        """Begin with a prime, or with nothing."""
        self.prime_at = prime and prime.at
        """When the session was given its prime."""
        self._primed = frozenset(
            hash(line[2:].rpartition(" (")[0])
            for line in (prime.text.splitlines() if prime else ())
            if line.startswith("- ")
        )
        self._hinted: OrderedDict[int, None] = OrderedDict()
        self._guard = threading.Lock()

    def has(self, text: str) -> bool:
        """Whether the session has seen a memory; a prime that shortened it does not count."""
        key = _key_of(text)
        return key in self._primed or key in self._hinted

    def add(self, texts: Iterable[str]) -> None:
        """Add the memories of a hint."""
        with self._guard:
            self._hinted |= dict.fromkeys(map(_key_of, texts))
            while len(self._hinted) > _TEXTS:
                self._hinted.popitem(last=False)


class SessionsSeen:
    """What the last sessions of this process have seen."""

    def __init__(self) -> None:
        """Know of no session."""
        self._sessions: OrderedDict[SessionKey, Seen] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, session: SessionKey, prime: ToldPrime | None) -> Seen:
        """What a session has seen; each new prime begins the record anew.

        A client gives a prime at the start, and again when it has shortened the context.
        """
        with self._guard:
            seen = self._sessions.get(session)
            if seen is None or seen.prime_at != (prime and prime.at):
                seen = self._sessions[session] = Seen(prime)
            self._sessions.move_to_end(session)
            while len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
            return seen


def _key_of(text: str) -> int:
    return hash(one_line(text, size(text)))
