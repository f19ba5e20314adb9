"""Copies of an open store's files, and archives of them."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from day1.model.files.backup import Manifest, Part
from day1.ports.history import History
from day1.ports.store import Store


class Copying(Protocol):
    """Copies the files of a store while others use it."""

    def ahead(self, to: Path) -> None:
        """Copy the settled part of the files into the folder `to`, while others write."""

    def rest(self, to: Path) -> AbstractContextManager[None]:
        """Copy all that `ahead` did not copy into `to`; nobody writes rows during the block.

        Raises:
            StoreBusy: another writer held the store for longer than the limit.
        """


class Copied(Protocol):
    """A read-only copy of a store; nothing in it is masked."""

    @property
    def store(self) -> Store:
        """The rows of the copy."""

    @property
    def history(self) -> History:
        """The commits of the copy."""

    def records(self) -> dict[str, int]:
        """Count the records of each kind in the copy's ledger.

        Raises:
            StoreDamaged: the ledger is not whole.
        """


class Archives(Protocol):
    """Archives as files. Every method raises StoreFull, StoreReadOnly or StoreUnavailable."""

    def staging(self, target: Path, *, folder: bool = False) -> AbstractContextManager[Path]:
        """Make an empty folder beside `target` for the work; remove it after the block.

        What a killed process left there is removed first.

        Args:
            target: what is to be made.
            folder: it is a folder; an empty one that exists may be replaced.

        Raises:
            Refused: `target` exists, something else is in the way, or another process makes it.
        """

    def opened(self, folder: Path) -> AbstractContextManager[Copied]:
        """Open a copy of a store; files that opening it makes are removed again.

        Raises:
            StoreDamaged, StoreVersionUnknown: it cannot be read.
        """

    def parts(self, folder: Path) -> tuple[Part, ...]:
        """Return the name, size and hash of each file of a copy."""

    def pack(self, folder: Path, manifest: Manifest, archive: Path) -> None:
        """Write an archive of a copy."""

    def unpack(self, archive: Path, to: Path) -> Manifest:
        """Write the files of an archive into the new folder `to`.

        Raises:
            StoreDamaged: it is no archive, or it was changed since it was written.
            StoreVersionUnknown: a later day1 wrote it.
        """

    def publish(self, made: Path, target: Path) -> None:
        """Rename what was made in a staging folder to `target`, atomically and durably.

        Raises:
            Refused: `target` exists by now.
        """
