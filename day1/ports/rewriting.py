"""Rewriting an embedded store, so that its files hold nothing that cannot be read."""

from contextlib import AbstractContextManager
from typing import Protocol

from day1.ports.history import History
from day1.ports.store import Store


class Rewriting(Protocol):
    """Rewrites the files of a store that others use meanwhile."""

    def fresh(self, created_at: int) -> AbstractContextManager[tuple[Store, History]]:
        """Make an empty store beside the old one; it is removed with the block if not used.

        Its first commit is of `created_at` (microseconds UTC). What a killed process left there
        is removed first.

        Raises:
            Refused: another process rewrites this store.
        """

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep every writer of rows out of the block.

        Raises:
            StoreBusy: another writer held the store for longer than the limit.
        """

    def replace(self) -> None:
        """Replace the old store's rows by the fresh store's, atomically and durably."""

    def scrub(self) -> None:
        """Remove deleted records from the ledger's files for good.

        Raises:
            StoreBusy: others read it without a pause.
        """
