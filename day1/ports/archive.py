"""Copying an open store's files, and keeping copies in archives: one file each."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from day1.model.files.backup import Manifest, Part
from day1.ports.store import History, Store


class Copying(Protocol):
    """Copies the files of a store that others go on using."""

    def ahead(self, to: Path) -> None:
        """Copy into the folder `to` what will not change any more; nobody waits for it."""

    def rest(self, to: Path) -> AbstractContextManager[None]:
        """Copy the rest, all of it if nothing was copied ahead; nobody writes rows in the block.

        Raises:
            StoreBusy: another writer held the store for longer than the limit.
        """


class Copied(Protocol):
    """A copy that is looked at; nothing is written to it, and nothing in it is masked."""

    @property
    def store(self) -> Store:
        """Its rows."""

    @property
    def history(self) -> History:
        """Its commits."""

    def records(self) -> dict[str, int]:
        """How many records of each kind its ledger has.

        Raises:
            StoreDamaged: the ledger is not whole.
        """


class Archives(Protocol):
    """Archives as files. Every method raises StoreFull, StoreReadOnly or StoreUnavailable."""

    def staging(self, target: Path, *, folder: bool = False) -> AbstractContextManager[Path]:
        """A folder beside `target` to make it in; what a killed process left there goes first.

        `folder` says that it is to be one, for which an empty one makes way.

        Raises:
            Refused: `target` is there, something else is in the way, or another makes it too.
        """

    def opened(self, folder: Path) -> AbstractContextManager[Copied]:
        """Open a copy of a store; what is made beside its files for that is removed again.

        Raises:
            StoreDamaged, StoreVersionUnknown: it cannot be read.
        """

    def parts(self, folder: Path) -> tuple[Part, ...]:
        """What the files of a copy are."""

    def pack(self, folder: Path, manifest: Manifest, archive: Path) -> None:
        """Write an archive of a copy."""

    def unpack(self, archive: Path, to: Path) -> Manifest:
        """Write the files of an archive into a new folder `to`, exactly those it should hold.

        Raises:
            StoreDamaged: it is no archive, or another than was written.
            StoreVersionUnknown: a later day1 wrote it.
        """

    def publish(self, made: Path, target: Path) -> None:
        """Give what was made in a staging folder its name, at once and for good.

        Raises:
            Refused: there is something by now.
        """
