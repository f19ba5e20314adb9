"""Renewing the kept primes: of the branches that moved, and of all if the ledger changed.

A renewal reads the memory after somebody wrote to it, in another thread or at the end of a command,
so no write waits for it. What hinders it is logged and disturbs nobody: a prime may be old.
"""

import logging
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Final

from day1.errors import Day1Error
from day1.logs import note_failure
from day1.model.branches.branch import Branch
from day1.model.redaction.mask import Mask
from day1.ports.primes import Stamp
from day1.services.prime.gathering import prime_of
from day1.services.prime.prime_services import PrimeServices
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)

_MOST: Final = 20
"""Primes that are kept: more are made when a session asks for them."""

_TRIES: Final = 3
"""Something may be redacted while the memory is read for a prime: then it is read again."""

_Key = tuple[str, str | None]
"""A branch and a space."""


@dataclass(frozen=True, slots=True)
class PrimeChoice:
    """Which primes a process keeps in any case, and how long they are."""

    branch: str
    """The one on which its sessions begin."""
    space: str | None = None
    """A space of which it keeps one too."""
    chars: int = 1_200


class PrimeRenewer:
    """Renews the kept primes of a memory; one thread at a time calls it."""

    def __init__(self, repo: Repository, services: PrimeServices, choice: PrimeChoice) -> None:
        """Renew nothing yet."""
        self._repo, self._services, self._choice = repo, services, choice
        self._seen: tuple[Hashable, Hashable, Mask] | None = None

    def renew(self, moved: Collection[str] = ()) -> None:
        """Renew, if the memory changed since the last time; at first all that are kept.

        `moved` are branches that were written to since.
        """
        try:
            self._renew(moved)
        except Exception as exc:  # noqa: BLE001 - a prime that is old disturbs nobody
            note_failure(log, "renewing the prime", exc)

    def begin(self) -> None:
        """Take the memory as it is now for known: only what changes from now on is renewed."""
        self._seen = self._state()

    def _renew(self, moved: Collection[str]) -> None:
        repo, primes = self._repo, self._services.primes
        state = self._state()
        before, self._seen = self._seen, state
        if state == before:
            return
        stamp = primes.stamp()
        kept = {(one.branch, one.space): one for one in primes.every()}
        dirty = repo.history.dirty_branches()
        fresh = [(name, None) for name in sorted({*moved, *dirty})]
        wanted = list(dict.fromkeys([*self._own(), *fresh, *kept]))
        branches = {b.name: b for b in repo.ledger.branches() if b.retired_tip is None}
        # Of a branch that did not move only the stamp is renewed, unless the ledger says more now.
        still = before is not None and state[1] is not None and state[1:] == before[1:]
        tips = repo.history.branches() if still else {}
        for place, key in enumerate(wanted):
            (name, space), there = key, kept.get(key)
            if name not in branches or place >= _MOST:
                primes.drop(name, space)
            elif there is not None and there.at == tips.get(name) and name not in dirty:
                primes.restamp(there, stamp)
            else:
                self._renew_one(branches[name], space, stamp)

    def _state(self) -> tuple[Hashable, Hashable, Mask]:
        """What changes when something is written; not every ledger tells more than redactions."""
        ledger = self._repo.ledger
        return self._repo.store.stamp(), ledger.stamp(), ledger.mask()

    def _own(self) -> list[_Key]:
        name, space = self._choice.branch, self._choice.space
        return [(name, None)] if space is None else [(name, None), (name, space)]

    def _renew_one(self, branch: Branch, space: str | None, stamp: Stamp) -> None:
        primes = self._services.primes
        for _ in range(_TRIES):
            forgotten = primes.forgotten()
            try:
                prime = prime_of(self._repo, self._services, branch, space, self._choice.chars)
            except Day1Error as exc:  # it was deleted meanwhile, or cannot be read now
                log.warning("a prime was not renewed: %s", exc.code)
                return
            if primes.keep(prime, stamp, forgotten):
                return
