"""What a ledger asks of the place where its database is."""

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Protocol


class Lock(Protocol):
    """Lets one process at a time change engine and ledger together."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the lock for the block."""

    def held_if_free(self) -> AbstractContextManager[bool]:
        """Hold the lock for the block if nobody has it; says whether."""


class Watch(Protocol):
    """What tells whether the database was written to."""

    def version(self) -> Hashable:
        """Another value after every write, whoever wrote."""

    def close(self) -> None:
        """Close what was opened for it."""
