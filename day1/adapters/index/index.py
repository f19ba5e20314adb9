"""The index of a store on this machine: words in `index.db`, vectors in files, and Chroma."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from typing_extensions import override

from day1.adapters.index import words
from day1.adapters.index.chroma_address import ChromaAddress
from day1.adapters.index.database import (
    CHROMA_FILE,
    FILE,
    VECTORS,
    Damaged,
    Database,
    MemoryDatabase,
)
from day1.adapters.index.failures import is_damage
from day1.adapters.index.soundness import is_sound
from day1.adapters.index.vectors import FileVectors
from day1.adapters.index.words import SqliteWords
from day1.model.rows.kind import KINDS, Kind
from day1.ports.index import IndexLost, TextId

if TYPE_CHECKING:  # brings numpy
    from day1.adapters.index.chroma import Neighbours
    from day1.adapters.index.kept_files import KeptFiles

log = logging.getLogger(__name__)

_SQLITE = b"SQLite format 3\0"
"""The first bytes of a SQLite file."""
_WAIT_S = 5.0
"""Seconds that a writer waits for another process's writer."""


class LocalIndex:
    """`ports.index.Index` in a store's folder; threads and processes may share it."""

    def __init__(
        self,
        folder: Path,
        *,
        read_only: bool = False,
        chroma: bool = False,
        chroma_above: int = 0,
        chroma_server: ChromaAddress | None = None,
    ) -> None:
        """Prepare the index without opening its files.

        Args:
            folder: the folder of `index.db`, `vectors/` and `chroma/`.
            read_only: do not write to the folder; use existing files as they are.
            chroma: this process may own Chroma (a long-lived one, never a CLI call).
            chroma_above: Chroma is opened only with more vectors than these.
            chroma_server: the Chroma server to use in place of Chroma's own files.
        """
        self.read_only = read_only
        self._database = Database(folder, read_only=read_only, wait_s=_WAIT_S)
        make_neighbours = None
        if chroma and not read_only:
            make_neighbours = partial(_neighbours, self._database, chroma_server)
        self.generation = self._database.generation
        self.edition = self._database.edition
        self.words = SqliteWords(self._database)
        self.vectors = FileVectors(self._database, make_neighbours, chroma_above)

    def in_memory(self) -> MemoryIndex:
        """Make an empty index of words in main memory, which uses no files."""
        return MemoryIndex(self._database.folder)

    def size(self) -> int:
        """Count the bytes of words and vectors on disk, without Chroma's own files."""
        folder = self._database.folder
        files = [*folder.glob(f"{FILE}*"), *folder.glob(f"{VECTORS}/*")]
        total_bytes = 0
        for file in files:
            with suppress(OSError):  # deleted meanwhile
                total_bytes += file.stat().st_size
        return total_bytes

    def check(self) -> None:
        """Read the whole index and compare hashes and checksums; delete it if damaged."""
        with self._database.reading() as connection:
            if not is_sound(connection, read_only=self.read_only):
                raise Damaged
        self.vectors.check()

    def forget(self, hashes: Collection[str]) -> None:
        """Delete words and vectors of texts of all kinds, by content hash."""
        kind_by_text_id: dict[TextId, Kind] = {}
        for kind in KINDS:
            if kind.text:
                text_id_by_hash = self.words.known(kind, list(hashes))
                kind_by_text_id |= dict.fromkeys(text_id_by_hash.values(), kind)
        # Words last: if this stops halfway, the texts are still found and forgotten later.
        self.vectors.forget(kind_by_text_id, hashes)
        if kind_by_text_id:
            with self._database.writing() as connection:
                for text_id, kind in kind_by_text_id.items():
                    words.forget(connection, kind, text_id)
            self._database.checkpoint()
        kept_files = self._kept_files()
        if kept_files is not None:
            kept_files.sweep()

    def kept(self, name: str) -> memoryview | None:
        """Return what `keep` wrote under a name for this edition; None if it cannot be used."""
        kept_files = self._kept_files()
        return None if kept_files is None else kept_files.load(name)

    def keep(self, name: str, edition: str, content: bytes) -> None:
        """Write content that searches derived from rows to a file that all processes share."""
        kept_files = self._kept_files()
        if kept_files is not None:
            kept_files.save(name, edition, content)

    def _kept_files(self) -> KeptFiles | None:
        """Return the files of searches that processes share; None for an index in memory."""
        from day1.adapters.index.kept_files import KeptFiles  # noqa: PLC0415 - few stores need it

        return KeptFiles(self._database)

    def update_neighbours(self, enough: Callable[[], bool] | None = None) -> bool:
        """Open Chroma if it is free and add new rows; return whether more rows are missing."""
        try:
            return self.vectors.update_neighbours(enough)
        except IndexLost:
            return False

    def close(self) -> None:
        """Close all files, after writing the WAL back into `index.db`."""
        self.vectors.close()
        self._database.close()


class MemoryIndex(LocalIndex):
    """An index of words alone, in the memory of one process."""

    def __init__(self, folder: Path) -> None:
        """Stand in for the index of a folder without using its files."""
        self.read_only = False
        self._database = MemoryDatabase(folder)
        self.generation = self._database.generation
        self.edition = self._database.edition
        self.words = SqliteWords(self._database)
        self.vectors = FileVectors(self._database, None)

    @override
    def _kept_files(self) -> None:
        return None


def chroma_trouble(folder: Path) -> str | None:
    """Find what is visibly wrong with Chroma's own files in a store's folder; None if nothing."""
    chroma_folder = folder / "chroma"
    if chroma_folder.exists() and not chroma_folder.is_dir():
        return "chroma is not a folder: move it away"
    try:
        with (folder / CHROMA_FILE).open("rb") as file:
            first_bytes = file.read(len(_SQLITE))
    except FileNotFoundError:
        return None
    except OSError as exc:
        return f"chroma/ cannot be read: {exc.strerror}"
    if first_bytes == _SQLITE and _is_whole(folder / CHROMA_FILE):
        return None
    return f"{CHROMA_FILE} is damaged: the next server empties and fills it again"


def _is_whole(file: Path) -> bool:
    """Whether SQLite finds no damage in a file, or this user may not read it."""
    file_uri = f"file:{quote(os.fsencode(file.absolute()))}?mode=ro"
    try:
        with closing(sqlite3.connect(file_uri, uri=True)) as connection:
            return bool(connection.execute("PRAGMA quick_check").fetchone() == ("ok",))
    except Exception as error:  # noqa: BLE001 - what a damaged file makes a reader raise is any
        return not is_damage(error)


def _neighbours(database: Database, server: ChromaAddress | None) -> Neighbours:
    from day1.adapters.index.chroma import Neighbours  # noqa: PLC0415 - brings numpy
    from day1.adapters.index.chroma_server import ServerNeighbours  # noqa: PLC0415 - too

    return Neighbours(database) if server is None else ServerNeighbours(database, server)
