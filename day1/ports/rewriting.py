"""Writing an embedded store anew, so that its files hold nothing but what can be read."""

from contextlib import AbstractContextManager
from typing import Protocol

from day1.ports.store import History, Store


class Rewriting(Protocol):
    """Works beside the files of a store that others use."""

    def fresh(self, born: int) -> AbstractContextManager[tuple[Store, History]]:
        """Make a store without rows in a folder beside, which goes with the block.

        Its first commit is of the instant `born`. What a killed process left there goes first.

        Raises:
            Refused: another process is at it.
        """

    def exclusive(self) -> AbstractContextManager[None]:
        """Let nobody write rows in the block.

        Raises:
            StoreBusy: another writer held the store for longer than the limit.
        """

    def replace(self) -> None:
        """Put the fresh store's rows in the place of the old ones, at once and for good."""

    def scrub(self) -> None:
        """Leave nothing in the ledger's files of what it says no more.

        Raises:
            StoreBusy: somebody reads it without a pause.
        """
