"""The functions of `day1.app` that commands call; click's context object finds them.

The modules of `day1.app` fulfil these protocols; their docstrings say which errors are raised.
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
        """Open the store that the settings name; `folder` is used instead of their folder."""

    def create_store(self, settings: Settings, folder: Path, clock: Callable[[], int]) -> bool:
        """Make a store where there is none; return whether one was made."""

    def refuse_anothers(self, folder: Path) -> None:
        """Raise an error if another user made the store in the folder."""

    def open_with_mask(self, store: OpenStore, mask: Mask) -> AbstractContextManager[Repository]:
        """Open the store's rows a second time, with a fixed mask of redactions."""

    def open_copy_target(
        self, settings: Settings, source: Repository
    ) -> AbstractContextManager[Repository]:
        """Open the empty store that the settings name, to copy `source` into it."""

    def place_of(self, store: OpenStore) -> StoreLocation:
        """Measure a store's folder, disk and files for `day1 doctor`."""

    def point(self, settings: Settings) -> KillPoint:
        """Make the function that kills the process at a point that a test chose."""

    def prime_renewer(self, store: OpenStore) -> PrimeRenewer:
        """Make the renewer of an open store's saved primes."""


class ArchiveTools(Protocol):
    """Functions that back up, copy and rewrite stores."""

    def files(self) -> Archives:
        """Return the writer and reader of backup files."""

    def copying(self, settings: Settings, folder: Path) -> Copying:
        """Return the copier of the files of the open store in `folder`."""

    def rewriting(self, settings: Settings, folder: Path) -> Rewriting:
        """Return the rewriter of an open store without its redacted texts."""


class Sources(Protocol):
    """Functions that open files to import and find the memories of other tools."""

    def import_source(self, kind: str, paths: Sequence[Path], root: Path) -> Source:
        """Open files to import: a git repository, a graph, or paths of text or Markdown."""

    def tool_memory(self, name: str, paths: Sequence[Path], machine: Machine) -> ToolMemory:
        """Find a tool's memory at the paths, or without paths where the tool keeps it."""

    def found_memories(self, machine: Machine) -> Sequence[ToolMemory]:
        """Find the memory of each tool that has one on the machine."""


class Models(Protocol):
    """Functions that find and install the embedding model."""

    def embedder(self, settings: EmbedderSettings) -> Embedder | None:
        """Make the embedder that the settings name; it loads its model when it is first used."""

    def place(self, settings: EmbedderSettings) -> str | None:
        """Return the embedding model's folder or address; None if there is none."""

    def install(
        self, settings: EmbedderSettings, path: Path | None, report: Callable[[str], None]
    ) -> Path | None:
        """Install the model from `path`, else by download; None if neither works."""


class Application(Protocol):
    """The functions of `day1.app` that commands call, by subject: `day1.app.commands`."""

    @property
    def stores(self) -> Stores:
        """The functions that open and make stores."""

    @property
    def archives(self) -> ArchiveTools:
        """The functions that back up, copy and rewrite stores."""

    @property
    def sources(self) -> Sources:
        """The functions that open files to import and find the memories of other tools."""

    @property
    def models(self) -> Models:
        """The functions that find and install the embedding model."""

    def serve_stdio(self, settings: Settings, toolsets: str, branch: str | None) -> None:
        """Serve MCP over stdin and stdout until the client leaves."""

    def serve_http(self, settings: Settings, ready: Callable[[str], None]) -> None:
        """Serve over HTTP until a signal; `ready` is called with the address."""

    def now(self) -> int:
        """Return the time: microseconds since 1970 UTC."""

    def setup(self) -> Setup:
        """Return the setup that connects this machine's clients to day1."""
