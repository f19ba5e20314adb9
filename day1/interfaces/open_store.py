"""An open store with its ports, as every wire sees it; `day1.app.open` builds it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from day1.call.context import Caller, Context, Limits
from day1.errors import Day1Error
from day1.services.access.scoped import scoped
from day1.services.repository.repository import Repository
from day1.services.search.searching import SearchPorts
from day1.settings import Settings

if TYPE_CHECKING:
    from day1.ports.chat import Chat
    from day1.ports.judge import Judge


@dataclass(slots=True)
class OpenStore:
    """An open store with everything that works on it; close it once."""

    folder: Path
    """Of a store on a server: what this machine has of its own."""
    where: str
    """The store, as a person knows it: a path, or HOST:PORT/DATABASE."""
    node: str
    """Tells this machine's HEAD from those of others; empty where the store is a folder."""
    settings: Settings
    repo: Repository
    search: SearchPorts
    chat: Chat | None
    judge: Judge
    read_only: bool
    clock: Callable[[], int]
    """Microseconds since 1970 UTC."""
    _obstacles: Callable[[], list[Day1Error]]
    _closing: ExitStack

    def context(self, caller: Caller) -> Context:
        """What one call works with, as far as the caller's access goes."""
        write = self.settings.write
        limits = Limits(write.raw_characters, write.secrets)
        repo, search = self.repo, self.search
        if caller.access.branches:
            repo = scoped(repo, caller.access)
            search = replace(search, store=repo.store, history=repo.history)
        return Context(repo, search, self.clock, self.judge, caller, limits, self.chat)

    def obstacles(self) -> list[Day1Error]:
        """What would keep a store that can be read from being written now."""
        return [] if self.read_only or self.node else self._obstacles()

    def close(self) -> None:
        """Close files and connections; doing it twice is harmless."""
        self._closing.close()
