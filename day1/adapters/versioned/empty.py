"""The state before a store's first commit."""

from collections.abc import Mapping, Sequence

from day1.model.records.redaction import CLEAR
from day1.model.rows.change import Changes, CommitId, Pending, Query
from day1.model.rows.kind import Cell, Kind, Row


class EmptyReading:
    """A `ports.reading.Reading` without rows."""

    def __init__(self, branch: str | None) -> None:
        """Name the branch that was asked for."""
        self.branch = branch
        self.tip = ""
        self.pending = Pending()
        self.mask = CLEAR

    def get(self, _kind: Kind, _ids: Sequence[str]) -> dict[str, Row]:
        """No row has any id."""
        return {}

    def find(self, _kind: Kind, _query: Query) -> list[Row]:
        """No row fits."""
        return []

    def scan(self, _kind: Kind, _columns: Sequence[str], _query: Query) -> list[tuple[Cell, ...]]:
        """No row fits."""
        return []

    def count(self, _kind: Kind, _equal: Mapping[str, Cell] | None = None) -> int:
        """There are none."""
        return 0

    def tally(self, _kind: Kind, _column: str) -> dict[Cell, int]:
        """There are none."""
        return {}

    def merge_base(self, other: CommitId) -> CommitId:
        """Everything stands on the state without commits."""
        return other

    def changes(self, _base: CommitId) -> Changes:
        """Nothing stands before the first commit."""
        return {}
