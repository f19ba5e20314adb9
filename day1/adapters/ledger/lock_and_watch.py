"""The protocols of a ledger's locks and of the watch on its database."""

from collections.abc import Collection, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

WHOLE: tuple[str, ...] = ()
"""No names: the lock of the whole store."""


class Locks(Protocol):
    """Locks by name that keep apart the processes and threads that change engine and ledger.

    A lock is freed when its process ends, however it ends.
    """

    limit_s: float
    """The longest wait for locks, in seconds."""

    def held(self, names: Collection[str], wait_s: float) -> AbstractContextManager[None]:
        """Hold the locks of these names for the block, or that of the whole store for no names.

        Everybody takes locks in the same order, so two that want the same ones cannot block each
        other. Names differ by more than upper and lower case.

        Raises:
            StoreBusy: another holder kept one of them for longer than `wait_s` seconds.
        """

    def held_if_free(self, names: Collection[str]) -> AbstractContextManager[bool]:
        """Try to hold the locks for the block; the block gets whether they are held."""

    def whole_is_free(self) -> bool:
        """Whether nobody else holds the lock of the whole store."""


class Watch(Protocol):
    """A watch on a database, which tells whether it was written to."""

    def version(self) -> Hashable:
        """Return a value that changes whenever any process writes to the database."""

    def overlooking(self, writer: Any) -> AbstractContextManager[None]:  # noqa: ARG002 - a file's
        """Keep the version over the block, in which `writer` commits, if that can be known.

        `writer` is the driver's connection, in a transaction that keeps out other writers.
        """
        return nullcontext()

    def close(self) -> None:
        """Close the connection of the watch."""
