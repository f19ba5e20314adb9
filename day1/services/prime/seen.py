"""The memories that each session has seen: in its prime, and in the hints since.

A hint has room for three memories, which should be new to the session. This process remembers a
bounded number of seen memories, as hashes. A memory that is forgotten here is shown again, which
does no harm.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from day1.model.prime.framing import one_line, size
from day1.ports.primes import ToldPrime

_MAX_SESSIONS: Final = 500
"""Maximum number of remembered sessions; the one unused for longest is forgotten first."""
_MAX_TEXTS: Final = 60
"""Maximum number of texts of hints remembered as seen: some 20 hints have more."""

SessionKey = tuple[str | None, str]
"""The caller's token and session: callers do not affect what others are shown."""


class Seen:
    """The memories that one session has seen; threads may share it."""

    def __init__(self, prime: ToldPrime | None = None) -> None:
        """Begin with the memories of a prime as seen; without a prime, with no memories."""
        self.prime_at = prime and prime.at
        """When the session got its prime; None without a prime."""
        self._primed = frozenset(
            hash(line[2:].rpartition(" (")[0])
            for line in (prime.text.splitlines() if prime else ())
            if line.startswith("- ")
        )
        self._hinted: OrderedDict[int, None] = OrderedDict()
        self._guard = threading.Lock()

    def has(self, text: str) -> bool:
        """Whether the session has seen a memory in full; shortened in a prime does not count."""
        text_hash = _key_of(text)
        return text_hash in self._primed or text_hash in self._hinted

    def add(self, texts: Iterable[str]) -> None:
        """Add the memories of a hint as seen."""
        with self._guard:
            self._hinted |= dict.fromkeys(map(_key_of, texts))
            while len(self._hinted) > _MAX_TEXTS:
                self._hinted.popitem(last=False)


class SessionsSeen:
    """The memories that the latest sessions of this process have seen."""

    def __init__(self) -> None:
        """Begin with no sessions."""
        self._sessions: OrderedDict[SessionKey, Seen] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, session: SessionKey, prime: ToldPrime | None) -> Seen:
        """Return what a session has seen; each new prime starts it again.

        A client shows a prime at the start, and again after it has compacted its context.
        """
        with self._guard:
            seen_memories = self._sessions.get(session)
            if seen_memories is None or seen_memories.prime_at != (prime and prime.at):
                seen_memories = self._sessions[session] = Seen(prime)
            self._sessions.move_to_end(session)
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return seen_memories


def _key_of(text: str) -> int:
    return hash(one_line(text, size(text)))
