"""The protocols of a ledger's lock and of the watch on its database."""

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Protocol


class Lock(Protocol):
    """A lock that lets one process at a time change engine and ledger together."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the lock for the block."""

    def held_if_free(self) -> AbstractContextManager[bool]:
        """Try to hold the lock for the block; the block gets whether it is held."""


class Watch(Protocol):
    """A watch on a database, which tells whether it was written to."""

    def version(self) -> Hashable:
        """Return a value that changes whenever any process writes to the database."""

    def close(self) -> None:
        """Close the connection of the watch."""
