"""Renewing the kept primes: those of branches that moved, and all if the ledger changed.

A renewal runs after a write, in another thread or at the end of a command, so no write waits for
it. Its errors are only logged: an old prime does no harm.
"""

import logging
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Final

from day1.errors import Day1Error, UnknownBranch
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
        repo, kept_primes = self._repo, self._services.primes
        current_state = self._state()
        old_state, self._seen = self._seen, current_state
        if current_state == old_state:
            return
        stamp = kept_primes.stamp()
        prime_by_key = {(prime.branch, prime.space): prime for prime in kept_primes.every()}
        branches_with_pending = repo.history.dirty_branches()
        changed_keys = [
            (branch_name, None) for branch_name in sorted({*moved, *branches_with_pending})
        ]
        prime_keys = list(dict.fromkeys([*self._own(), *changed_keys, *prime_by_key]))
        branch_by_name = {
            branch.name: branch for branch in repo.ledger.branches() if branch.retired_tip is None
        }
        # If neither branch nor ledger changed, only the stamp of its prime is renewed.
        is_ledger_unchanged = (
            old_state is not None
            and current_state[1] is not None
            and current_state[1:] == old_state[1:]
        )
        tip_by_branch = repo.history.branches() if is_ledger_unchanged else {}
        for position, branch_and_space in enumerate(prime_keys):
            (branch_name, space), kept_prime = branch_and_space, prime_by_key.get(branch_and_space)
            if branch_name not in branch_by_name or position >= _MAX_KEPT:
                kept_primes.drop(branch_name, space)
            elif (
                kept_prime is not None
                and kept_prime.at == tip_by_branch.get(branch_name)
                and branch_name not in branches_with_pending
            ):
                kept_primes.restamp(kept_prime, stamp)
            else:
                self._renew_one(branch_by_name[branch_name], space, stamp)

    def _state(self) -> tuple[Hashable, Hashable, Mask]:
        """Return values that change with writes: the stamps of store and ledger, the redactions."""
        ledger = self._repo.ledger
        return self._repo.store.stamp(), ledger.stamp(), ledger.mask()

    def _own(self) -> list[_Key]:
        branch_name, space = self._choice.branch, self._choice.space
        return (
            [(branch_name, None)] if space is None else [(branch_name, None), (branch_name, space)]
        )

    def _renew_one(self, branch: Branch, space: str | None, stamp: Stamp) -> None:
        kept_primes = self._services.primes
        for _ in range(_MAX_TRIES):
            deletion_count = kept_primes.forgotten()
            try:
                prime = prime_of(self._repo, self._services, branch, space, self._choice.chars)
            except UnknownBranch:  # it was deleted meanwhile
                return
            except Day1Error as exc:
                log.warning("a prime was not renewed: %s", exc.code)
                return
            if kept_primes.keep(prime, stamp, deletion_count):
                return
