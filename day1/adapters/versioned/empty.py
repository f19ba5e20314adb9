"""The state before a store's first commit."""

from collections.abc import Iterator, Mapping, Sequence

from typing_extensions import override

from day1.model.redaction.mask import CLEAR, Mask
from day1.model.rows.change import Changes, Commit, CommitId, Pending, Query
from day1.model.rows.kind import Cell, Kind, Row
from day1.ports.reading import Reading


class EmptyReading(Reading):
    """A state without rows or commits."""

    branch: str | None = None
    tip: CommitId = ""
    pending: Pending = Pending()
    mask: Mask = CLEAR

    def __init__(self, branch: str | None) -> None:
        """Read a branch without commits."""
        self.branch = branch

    @override
    def get(self, _kind: Kind, _ids: Sequence[str], _columns: Sequence[str] = ()) -> dict[str, Row]:
        return {}

    @override
    def find(self, _kind: Kind, _query: Query, _columns: Sequence[str] = ()) -> list[Row]:
        return []

    @override
    def scan(self, _kind: Kind, _columns: Sequence[str], _query: Query) -> list[tuple[Cell, ...]]:
        return []

    @override
    def count(self, _kind: Kind, _equal: Mapping[str, Cell] | None = None) -> int:
        return 0

    @override
    def tally(self, _kind: Kind, _column: str, _query: Query | None = None) -> dict[Cell, int]:
        return {}

    @override
    def size(self, _kind: Kind, _column: str, _query: Query) -> int:
        return 0

    @override
    def log(self) -> Iterator[Commit]:
        return iter(())

    @override
    def merge_base(self, other: CommitId) -> CommitId:
        return other

    @override
    def changes(self, base: CommitId, of: Reading | None = None) -> Changes:
        return {} if of is None else of.changes(base)
