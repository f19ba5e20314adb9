"""The manifest of a backup: its files, and a summary of the memory in them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from day1.model.rows.kind import Cell, Kind, canonical, content_of

FORMAT: Final = 1
"""The version of the format; raise it when an older day1 could no longer restore the file."""
FILES: Final = ("memory.db", "ledger.db")
"""The files of a backup: those that cannot be rebuilt, so not the index."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the store, as it lies in the archive."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BranchContent:
    """A summary of a branch: two branches with equal summaries hold the same rows."""

    name: str
    commit: str
    waiting: int
    """Rows that no commit holds yet."""
    rows: int
    sha256: str
    """The hash over every column of every row, pending rows included."""


@dataclass(frozen=True, slots=True)
class Content:
    """A summary of a whole store."""

    branches: tuple[BranchContent, ...]
    records: Mapping[str, int]
    """The number of ledger records of each kind."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a backup: the first file in its archive."""

    format: int
    day1: str
    engine: str
    created_at: int
    content: Content
    files: tuple[Part, ...]


class RowsHash:
    """Hashes rows, table after table; equal rows in equal order give equal hashes."""

    def __init__(self) -> None:
        """Create a hash of no rows yet."""
        self._hash, self.rows = hashlib.sha256(), 0

    def take(self, kind: Kind, columns: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> None:
        """Add these columns of the rows of a table to the hash."""
        self._hash.update(f"{kind.table}\n".encode())
        for row in rows:
            row_json = canonical(content_of(kind, dict(zip(columns, row, strict=True)), columns))
            self._hash.update(row_json.encode("utf-8", "surrogatepass") + b"\n")
            self.rows += 1

    def hexdigest(self) -> str:
        """Return the hash of all rows so far, in hex."""
        return self._hash.hexdigest()
