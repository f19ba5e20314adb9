"""The branch of the memory that an operation of an adapter is about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import day1
from day1 import errors

BranchOfCall = str | Callable[[], str | None] | None


class Branching:
    """Calls on a memory whose branch has a name, or a function that names it at each operation."""

    def __init__(self, memory: day1.Branch, branch: BranchOfCall) -> None:
        """Name the branch; nothing is asked."""
        self._memory, self._branch = memory, branch

    def now(self) -> day1.Branch:
        """Return the branch of an operation that begins now."""
        name = self._branch() if callable(self._branch) else self._branch
        return self._memory if name is None else self._memory.branch(name)

    def call(self, on: day1.Branch, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation on a branch; make the branch first if it is missing.

        Raises:
            UnknownBranch: the branch that the memory itself is on is missing.
        """
        try:
            return on.call(operation, **arguments)
        except errors.UnknownBranch:
            if on.name == self._memory.name:
                raise
        with suppress(errors.BranchExists):  # another one made it meanwhile
            self._memory.create_branch(on.name)
        return on.call(operation, **arguments)
