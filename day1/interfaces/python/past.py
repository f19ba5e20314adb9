"""A branch as it was at a moment."""

from __future__ import annotations

from day1.interfaces.python.calls import Calls, Who
from day1.interfaces.python.options import When
from day1.interfaces.python.reading import Reads


class Past(Reads):
    """A branch as it was at a moment: it has the methods that read, and none that write."""

    def __init__(self, calls: Calls, who: Who, at: When) -> None:
        """Read the branch of `who` as of `at`."""
        super().__init__(calls, who)
        self._at = at

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self._who.branch

    @property
    def at(self) -> When:
        """The moment that is read."""
        return self._at or ""
