"""The spool of a store: events that hooks wrote and nobody has ingested yet."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class Spool(Protocol):
    """Every method raises StoreUnavailable, StoreReadOnly or StoreFull."""

    def alone(self) -> AbstractContextManager[bool]:
        """Become the only process that ingests, for the block; yield False if another one is."""

    def waiting(self) -> Sequence[str]:
        """List the waiting files, oldest first."""

    def read(self, name: str) -> Sequence[bytes]:
        """Read the lines of a file in the order of their events, without newlines.

        Hooks may add to it meanwhile; a line that is not whole yet is left for later.
        """

    def put_aside(self, line: bytes) -> None:
        """Store a line that cannot be ingested; equal lines are stored once.

        The oldest lines go where they would take too much room.
        """

    def drop(self, name: str, size: int) -> None:
        """Remove the first `size` bytes of a file: whole lines that were ingested.

        A file that a hook writes to right now stays as it is: what is taken in twice is there once.
        """

    def aside(self) -> int:
        """Count the kept lines that could not be ingested."""

    def gone(self) -> int:
        """Count the lines that could not be ingested and were dropped: too many were kept."""
