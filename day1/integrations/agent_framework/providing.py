"""The memory of a provider of Agent Framework: one that it gets, or one that it opens."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import day1
from day1 import errors
from day1.integrations.agent_framework.sessions import Sessions
from day1.integrations.branching import BranchOfCall
from day1.integrations.connecting import connected


class OnMemory:
    """A provider whose messages are in the sessions of a memory."""

    def _connect(
        self, memory: day1.Branch | str | Path | None, name: str, branch: BranchOfCall
    ) -> None:
        """Use a memory, or connect to one."""
        at, self._owned = connected(memory)
        self._sessions = Sessions(at, name, branch)
        self._closed = False

    @property
    def memory_branch(self) -> day1.Branch:
        """The branch of the memory that the provider reads and writes now."""
        return self._on()

    def close(self) -> None:
        """Close the provider, and the memory if the provider connected to it."""
        self._closed = True
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        """Return the provider."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the provider."""
        self.close()

    def _on(self) -> day1.Branch:
        """Return the branch of the memory that an operation is about.

        Raises:
            HandleClosed: the provider is closed.
        """
        if self._closed:
            raise errors.HandleClosed("This provider is closed: make another one.")
        return self._sessions.on()
