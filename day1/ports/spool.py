"""The spool of a store: what hooks have heard and nobody has taken in yet."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class Spool(Protocol):
    """Every method raises StoreUnavailable, StoreReadOnly or StoreFull."""

    def alone(self) -> AbstractContextManager[bool]:
        """Be the one who takes in, for the block, if nobody else is; yields whether it is so."""

    def waiting(self) -> Sequence[str]:
        """The files, those that have waited longest first."""

    def read(self, name: str) -> Sequence[bytes]:
        """The lines of a file, in the order in which they were heard, without their newlines.

        Hooks may add to it meanwhile; a line that is not whole yet is left for later.
        """

    def put_aside(self, line: bytes) -> None:
        """Keep a line that cannot be taken in; the same line twice is kept once.

        The oldest lines go where they would take too much room.
        """

    def drop(self, name: str, size: int) -> None:
        """Remove the first `size` bytes of a file: whole lines, which are taken in.

        A file that a hook writes to right now stays as it is: what is taken in twice is there once.
        """

    def aside(self) -> int:
        """How many lines are kept that could not be taken in."""

    def gone(self) -> int:
        """How many of these lines are gone, as there were too many."""
