"""A memory: its own branch, and the connection that all its branches share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from day1.interfaces.python.branch import Branch
from day1.interfaces.python.calls import Calls, Who

if TYPE_CHECKING:
    from day1.toolsets.day1.core.search import Hits


class Memory(Branch):
    """A connected memory; it is the handle of its own branch, and makes handles of others.

    Threads may share it. As a context manager it is closed at the end of the block.
    """

    def __init__(self, calls: Calls, who: Who) -> None:
        """Use a connection; `day1.connect` makes one."""
        super().__init__(calls, who, who.branch)

    @property
    def place(self) -> str:
        """Where the memory is: a folder, HOST:PORT/DATABASE, or the address of a server."""
        return self._calls.place

    def settle(self) -> list[str]:
        """Wait until every text of the branch can be found, by meaning where there is a model.

        Returns:
            What is still missing, as notes; empty if nothing is.

        Raises:
            UnknownBranch: the branch does not exist.
        """
        empty_time_range = {"before": "0001-01-01"}  # so no memory counts as found
        answer: Hits = self._ask(
            "memory_search", query="settle", limit=1, wait=True, time_range=empty_time_range
        )
        return [str(note) for note in answer.read.notes]

    def close(self) -> None:
        """Wait for the calls that run, then close; closing twice is harmless.

        Inside of a call, such as in a signal handler, nothing is waited for: the memory takes no
        further calls, and is closed when the running ones have ended.
        """
        self._calls.close()

    def __enter__(self) -> Self:
        """Return the memory."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the memory."""
        self.close()
