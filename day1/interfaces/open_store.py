"""An open store with its services, as the interfaces use it; `day1.app.open` builds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from day1.call.context import Context, Limits
from day1.errors import Day1Error, Json
from day1.services.access.caller import Caller
from day1.services.access.scoped import scoped
from day1.services.access.scoped_ledger import ScopedUses
from day1.services.jobs.job_services import JobServices
from day1.services.prime.prime_services import PrimeServices
from day1.services.repository.repository import Repository
from day1.services.search.search_engine import SearchEngine
from day1.settings import Settings

if TYPE_CHECKING:
    from day1.ports.chat import Chat
    from day1.ports.judge import Judge
    from day1.ports.pinning import Pinning


@dataclass(slots=True)
class OpenStore:
    """An open store with its services; whoever opened it closes it."""

    folder: Path
    """The store's folder; for a store on a server, the folder of this machine's own files."""
    where: str
    """Where a person finds the store: a path, or HOST:PORT/DATABASE."""
    node: str
    """This machine's id, which names its HEAD; empty if the store is a folder."""
    settings: Settings
    repo: Repository
    search: SearchEngine
    prime: PrimeServices
    chat: Chat | None
    pinning: Pinning | None
    judge: Judge
    jobs: JobServices
    read_only: bool
    clock: Callable[[], int]
    """The function that returns the time: microseconds since 1970 UTC."""
    failing_chores: Callable[[], list[tuple[str, str]]]
    """The function that lists the chores that fail in processes of this machine, each with the code
    of its error."""
    _obstacles: Callable[[], list[Day1Error]]
    _closing: ExitStack
    _told: Mapping[str, Json] = field(init=False)
    """The settings that an agent may read: `Settings.told`."""

    def __post_init__(self) -> None:
        """Keep the shown settings, since the context of each call has them."""
        self._told = self.settings.told

    def context(self, caller: Caller) -> Context:
        """Build the context of one call, limited to what the caller may see and do."""
        write, answer_bytes = self.settings.write, self.settings.store.answer_bytes
        limits = Limits(
            write.raw_characters, write.secrets, self.settings.prime.chars, answer_bytes
        )
        repo, search, prime_services = self.repo, self.search, self.prime
        if caller.access.branches:
            repo = scoped(repo, caller.access)
            uses = ScopedUses(search.uses, repo.ledger, caller.access)
            search = replace(
                search,
                store=repo.store,
                history=repo.history,
                votes=repo.ledger.votes,
                uses=uses,
                limits=replace(search.limits, apart=True),
            )
            prime_services = replace(prime_services, uses=uses)
        return Context(
            repo,
            search,
            self.clock,
            self.judge,
            caller,
            limits,
            self.chat,
            self.pinning,
            configuration=self._told,
            prime=prime_services,
            jobs=self.jobs,
            place=self.where,
        )

    def obstacles(self) -> list[Day1Error]:
        """List the problems that prevent writing while reading works; empty if there are none."""
        return [] if self.read_only else self._obstacles()

    def close(self) -> None:
        """Close files and connections; closing twice is harmless."""
        self._closing.close()
