"""Files that searches derive from rows, and that all processes of a store share.

A file has a checksum, and its name the edition of the index: text numbers may be void with another
one. What has another edition is deleted, since it may tell about rows that were redacted.
"""

from __future__ import annotations

import logging
import mmap
import os
from pathlib import Path
from zlib import crc32

from day1.adapters.index.database import VECTORS, Database, remove
from day1.adapters.index.failures import usable
from day1.ports.index import IndexBehind

log = logging.getLogger(__name__)

_ENDING, _BEGUN = ".kept", ".new"
_SUM_BYTES = 8


class KeptFiles:
    """The files beside the vectors; the lock for vectors keeps two writers apart."""

    def __init__(self, database: Database) -> None:
        """Use the folder of vectors."""
        self._database = database
        self._folder = database.folder / VECTORS

    def load(self, name: str) -> memoryview | None:
        """Map the file with a name; return None if it is missing or damaged."""
        try:
            with self._path(name, self._database.edition()).open("rb") as file:
                content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # ValueError: it is empty
            return None
        checksum = int.from_bytes(content[-_SUM_BYTES:], "little")
        content = content[:-_SUM_BYTES]
        return content if crc32(content) == checksum else None

    def save(self, name: str, edition: str, content: bytes) -> None:
        """Write the file with a name, unless the index has another edition by now."""
        if self._database.read_only:
            return
        try:
            with self._database.embedding.held(wait=True), usable(VECTORS):
                if self._database.edition() != edition:
                    return
                self._folder.mkdir(exist_ok=True)
                self._sweep(edition)
                path = self._path(name, edition)
                unfinished = path.with_suffix(_BEGUN)
                with unfinished.open("wb") as file:
                    file.write(content)
                    file.write(crc32(content).to_bytes(_SUM_BYTES, "little"))
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(path)
        except IndexBehind as error:
            log.info("a table of rows is not kept: %s", error.details.get("engine_code"))

    def sweep(self) -> None:
        """Delete the files of other editions, and those that a killed process began."""
        if not self._database.read_only and any(self._folder.glob(f"*{_ENDING}")):
            with self._database.embedding.held(wait=True), usable(VECTORS):
                self._sweep(self._database.edition())

    def _sweep(self, edition: str) -> None:
        for file in [*self._folder.glob(f"*{_ENDING}"), *self._folder.glob(f"*{_BEGUN}")]:
            if not file.name.endswith(f".{edition}{_ENDING}"):
                remove(file)

    def _path(self, name: str, edition: str) -> Path:
        return self._folder / f"{name}.{edition}{_ENDING}"
