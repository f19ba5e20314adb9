"""What commands ask of the composition root; click's context object leads to it.

The modules of `day1.app` fulfil these protocols, and tell what their functions raise.
"""

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


class Stores(Protocol):
    """Open and make stores."""

    def open_store(
        self, settings: Settings, *, create: bool = False, folder: Path | None = None
    ) -> OpenStore:
        """Open the store that the settings name; `folder` overrides where they say it is."""

    def create_store(self, settings: Settings, folder: Path, clock: Callable[[], int]) -> bool:
        """Make a store where there is none; says whether one was made."""

    def refuse_anothers(self, folder: Path) -> None:
        """Refuse the folder of a store that another user made."""

    def open_with_mask(self, store: OpenStore, mask: Mask) -> AbstractContextManager[Repository]:
        """Open the rows once more, through a mask that no later redaction changes."""

    def open_copy_target(
        self, settings: Settings, source: Repository
    ) -> AbstractContextManager[Repository]:
        """Open the store that the settings name, as a copy of `source` that is to be filled."""

    def place_of(self, store: OpenStore) -> StoreLocation:
        """Describe the place of a store for `day1 doctor`."""

    def point(self, settings: Settings) -> KillPoint:
        """Make the points at which tests kill a process that has no open store."""

    def prime_renewer(self, store: OpenStore) -> PrimeRenewer:
        """Make what renews the kept primes of an open store."""


class ArchiveTools(Protocol):
    """Back up, copy and rewrite stores."""

    def files(self) -> Archives:
        """Keep backups as files."""

    def copying(self, settings: Settings, folder: Path) -> Copying:
        """Copy the files of an open store."""

    def rewriting(self, settings: Settings, folder: Path) -> Rewriting:
        """Rewrite the rows of an open store without what is redacted."""


class Sources(Protocol):
    """Find what to import from."""

    def import_source(self, kind: str, paths: Sequence[Path], root: Path) -> Source:
        """Open a source: git, graph, or many paths of text or markdown."""

    def tool_memory(self, name: str, paths: Sequence[Path], machine: Machine) -> ToolMemory:
        """Find the memory of a tool: at the given paths, else where the tool keeps it."""

    def found_memories(self, machine: Machine) -> Sequence[ToolMemory]:
        """Find the memory of each tool that has one on a machine."""


class Models(Protocol):
    """Find and install the embedding model."""

    def embedder(self, settings: EmbedderSettings) -> Embedder | None:
        """Make the embedder that the settings name; it loads its model when it is first used."""

    def place(self, settings: EmbedderSettings) -> str | None:
        """Find the embedding model: a folder or an address; None if there is none."""

    def install(
        self, settings: EmbedderSettings, given: Path | None, report: Callable[[str], None]
    ) -> Path | None:
        """Install the model from `given`, else by download; None if neither works."""


class Servers(Protocol):
    """Start the servers."""

    def serve_stdio(self, settings: Settings, toolsets: str, branch: str | None) -> None:
        """Serve MCP over stdin and stdout until the client leaves."""

    def serve_http(self, settings: Settings, ready: Callable[[str], None]) -> None:
        """Serve over HTTP until a signal; `ready` is told the address."""


class Application(Protocol):
    """The parts of the composition root that commands use; `day1.app.commands` fulfils it."""

    @property
    def stores(self) -> Stores:
        """Open and make stores."""

    @property
    def archives(self) -> ArchiveTools:
        """Back up, copy and rewrite stores."""

    @property
    def sources(self) -> Sources:
        """Find what to import from."""

    @property
    def models(self) -> Models:
        """Find and install the embedding model."""

    @property
    def servers(self) -> Servers:
        """Start the servers."""

    def now(self) -> int:
        """The clock: microseconds since 1970 UTC."""

    def setup(self) -> Setup:
        """What connects the clients of this machine."""
