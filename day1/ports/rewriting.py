"""Rewriting an embedded store, so that its files hold readable rows only."""

from contextlib import AbstractContextManager
from typing import Protocol

from day1.ports.history import History
from day1.ports.store import Store


class Rewriting(Protocol):
    """Rewrites the files of a store while others use it."""

    def fresh(self, created_at: int) -> AbstractContextManager[tuple[Store, History]]:
        """Make an empty store beside the old one; it is removed with the block if not used.

        Its first commit is of `created_at` (microseconds UTC). What a killed process left there
        is removed first.

        Raises:
            Refused: another process rewrites this store.
        """

    def exclusive(self) -> AbstractContextManager[None]:
        """Lock out every writer of rows during the block.

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
