"""Renewing the kept primes: those of branches that moved, and all if the ledger changed.

A renewal runs after a write, in another thread or at the end of a command, so no write waits for
it. Its errors are only logged: an old prime does no harm.
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

_MAX_KEPT: Final = 20
"""Maximum number of kept primes; others are made when a session asks for them."""

_MAX_TRIES: Final = 3
"""Maximum number of attempts to make a prime while other processes redact rows."""

_Key = tuple[str, str | None]
"""A branch and a space."""


@dataclass(frozen=True, slots=True)
class PrimeChoice:
    """Which primes a process always keeps, and their length."""

    branch: str
    """The branch on which the process's sessions begin."""
    space: str | None = None
    """A space for which a second prime is kept; None: no second prime."""
    chars: int = 1_200


class PrimeRenewer:
    """Renews the kept primes of a store; for one thread at a time."""

    def __init__(self, repo: Repository, services: PrimeServices, choice: PrimeChoice) -> None:
        """Begin without a known state, so that the first call renews everything."""
        self._repo, self._services, self._choice = repo, services, choice
        self._seen: tuple[Hashable, Hashable, Mask] | None = None

    def renew(self, moved: Collection[str] = ()) -> None:
        """Renew primes if the store changed since the last call; all of them at the first call.

        `moved` are the branches that were written to since.
        """
        try:
            self._renew(moved)
        except Exception as exc:  # noqa: BLE001 - an old prime does no harm
            note_failure(log, "renewing the prime", exc)

    def begin(self) -> None:
        """Remember the present state, so that only later changes are renewed."""
        self._seen = self._state()

    def _renew(self, moved: Collection[str]) -> None:
        repo, primes = self._repo, self._services.primes
        state = self._state()
        old_state, self._seen = self._seen, state
        if state == old_state:
            return
        stamp = primes.stamp()
        prime_by_key = {(prime.branch, prime.space): prime for prime in primes.every()}
        names_with_pending = repo.history.dirty_branches()
        changed_keys = [(name, None) for name in sorted({*moved, *names_with_pending})]
        keys = list(dict.fromkeys([*self._own(), *changed_keys, *prime_by_key]))
        branch_by_name = {b.name: b for b in repo.ledger.branches() if b.retired_tip is None}
        # If neither branch nor ledger changed, only the stamp of its prime is renewed.
        is_ledger_unchanged = (
            old_state is not None and state[1] is not None and state[1:] == old_state[1:]
        )
        tip_by_branch = repo.history.branches() if is_ledger_unchanged else {}
        for position, key in enumerate(keys):
            (name, space), kept_prime = key, prime_by_key.get(key)
            if name not in branch_by_name or position >= _MAX_KEPT:
                primes.drop(name, space)
            elif (
                kept_prime is not None
                and kept_prime.at == tip_by_branch.get(name)
                and name not in names_with_pending
            ):
                primes.restamp(kept_prime, stamp)
            else:
                self._renew_one(branch_by_name[name], space, stamp)

    def _state(self) -> tuple[Hashable, Hashable, Mask]:
        """Return values that change with writes: the stamps of store and ledger, the redactions."""
        ledger = self._repo.ledger
        return self._repo.store.stamp(), ledger.stamp(), ledger.mask()

    def _own(self) -> list[_Key]:
        name, space = self._choice.branch, self._choice.space
        return [(name, None)] if space is None else [(name, None), (name, space)]

    def _renew_one(self, branch: Branch, space: str | None, stamp: Stamp) -> None:
        primes = self._services.primes
        for _ in range(_MAX_TRIES):
            forgotten = primes.forgotten()
            try:
                prime = prime_of(self._repo, self._services, branch, space, self._choice.chars)
            except Day1Error as exc:  # the branch was deleted meanwhile, or cannot be read now
                log.warning("a prime was not renewed: %s", exc.code)
                return
            if primes.keep(prime, stamp, forgotten):
                return
