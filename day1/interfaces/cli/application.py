"""What commands ask of the composition root; click's context object leads to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from day1.interfaces.open_store import OpenStore
    from day1.model.redaction.mask import Mask
    from day1.model.values.callbacks import KillPoint
    from day1.ports.archive import Archives, Copying
    from day1.ports.embedder import Embedder
    from day1.ports.rewriting import Rewriting
    from day1.ports.setup import Setup
    from day1.ports.source import Machine, Source, ToolMemory
    from day1.services.health.doctor import StoreLocation
    from day1.services.prime.renewing import PrimeRenewer
    from day1.services.repository.repository import Repository
    from day1.settings import EmbedderSettings, Settings


class Application(Protocol):
    """Opens stores, finds adapters and starts servers; `day1.app.commands` implements it."""

    def now(self) -> int:
        """The clock: microseconds since 1970 UTC."""
        ...

    def open_store(
        self, settings: Settings, *, create: bool = False, folder: Path | None = None
    ) -> OpenStore:
        """Open the store that the settings name; `folder` overrides where they say it is.

        Raises:
            NotAStore: there is none, and `create` is false.
        """
        ...

    def create_store(self, settings: Settings, folder: Path, clock: Callable[[], int]) -> bool:
        """Make a store where there is none; says whether one was made.

        Raises:
            ForeignStore: another program has what would be the store's, or its ledger's.
        """
        ...

    def refuse_anothers(self, folder: Path) -> None:
        """Refuse the folder of a store that another user made.

        Raises:
            StoreOfAnother: it is one.
        """
        ...

    def open_with_mask(self, store: OpenStore, mask: Mask) -> AbstractContextManager[Repository]:
        """Open the rows once more, through a mask that no later redaction changes."""
        ...

    def open_copy_target(
        self, settings: Settings, source: Repository
    ) -> AbstractContextManager[Repository]:
        """Open the store that the settings name, as a copy of `source` that is still to be filled.

        Raises:
            Conflict: another store is there.
        """
        ...

    def place_of(self, store: OpenStore) -> StoreLocation:
        """What `day1 doctor` reports of the place where a store is."""
        ...

    def point(self, settings: Settings) -> KillPoint:
        """The named points at which tests kill a process that has no open store."""
        ...

    def prime_renewer(self, store: OpenStore) -> PrimeRenewer:
        """What renews the kept primes of an open store."""
        ...

    def archives(self) -> Archives:
        """Where backups are kept."""
        ...

    def copying(self, settings: Settings, folder: Path) -> Copying:
        """What copies the files of an open store.

        Raises:
            Unsupported: its rows are on a server.
        """
        ...

    def rewriting(self, settings: Settings, folder: Path) -> Rewriting:
        """What rewrites the rows of an open store without what is redacted.

        Raises:
            Unsupported: its rows are on a server.
        """
        ...

    def import_source(self, kind: str, paths: Sequence[Path], root: Path) -> Source:
        """What to import from: git, markdown or graph; only markdown takes many paths."""
        ...

    def tool_memory(self, name: str, paths: Sequence[Path], machine: Machine) -> ToolMemory:
        """What the tool of that name remembers: at the given paths, else where it keeps it.

        Raises:
            NotFound: there is none.
        """
        ...

    def found_memories(self, machine: Machine) -> Sequence[ToolMemory]:
        """What each tool remembers that has a memory on a machine."""
        ...

    def embedder(self, settings: EmbedderSettings) -> Embedder | None:
        """The embedder that the settings name; it loads its model when it is first used."""
        ...

    def model_place(self, settings: EmbedderSettings) -> str | None:
        """Where the embedding model is; None if there is none."""
        ...

    def install_model(
        self, settings: EmbedderSettings, given: Path | None, report: Callable[[str], None]
    ) -> Path | None:
        """Put the model where it is looked for, from `given` or by download; None if neither works.

        `report` is told each step in words.
        """
        ...

    def setup(self) -> Setup:
        """What connects the clients of this machine."""
        ...

    def serve_stdio(self, settings: Settings, toolsets: str, branch: str | None) -> None:
        """Serve MCP over stdin and stdout until the client leaves."""
        ...

    def serve_http(self, settings: Settings, ready: Callable[[str], None]) -> None:
        """Serve over HTTP until a signal; `ready` is told the address.

        Raises:
            NotAStore: there is none, and other machines can reach the address.
            Refused: the port is taken, or others could come in without a token.
            Conflict: another process serves the store.
        """
        ...
