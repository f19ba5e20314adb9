"""Who of the processes of a store does a job that only one of them may do."""

from typing import Protocol


class Lease(Protocol):
    """The right to do a job; at most one process of a store holds it, on any machine."""

    def acquire(self) -> bool:
        """Take the lease or renew it; return whether this process holds it now.

        The lease of a process that died is taken over.

        Raises:
            StoreUnavailable, StoreReadOnly: nobody can tell who holds it.
        """

    def release(self) -> None:
        """Give the lease back, for another process to take at once; harmless if it is not held."""
