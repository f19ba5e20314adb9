"""Counts of the memories that this node has shown; they are no memory and may be lost."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from typing_extensions import override

USED: Final = 3
"""The number of memories in an answer, the best ones, that count as used: a search always shows as
many as it is asked for, and the last of them are seldom about the question."""


@dataclass(frozen=True, slots=True)
class Use:
    """How often a memory was used, and when it was last shown (microseconds UTC)."""

    times: int
    """How often the memory was among the best `USED` of an answer, or was opened; 0: only shown."""
    last: int


Branches = frozenset[str] | None
"""Ids of the branches whose uses are counted; None: all branches, deleted ones too."""


class Uses(Protocol):
    """Counts the memories shown; no method fails where the file cannot be used."""

    def shown(self, row_ids: Sequence[str], at: int, branch_id: str) -> None:
        """Record that rows of a branch were shown together, best first."""

    def known(self, branches: Branches = None) -> Mapping[str, Use]:
        """Return the use of every row that was shown, by id."""

    def of(self, row_ids: Collection[str], branches: Branches = None) -> Mapping[str, Use]:
        """Return the use of each of these rows that was shown, by id; only the ids cost."""

    def most(self, count: int, branches: Branches = None) -> Mapping[str, Use]:
        """Return the `count` rows used most often, and the `count` used rows shown last."""


class NoUses(Uses):
    """A `Uses` that counts nothing."""

    @override
    def shown(self, row_ids: Sequence[str], at: int, branch_id: str) -> None:
        pass

    @override
    def known(self, branches: Branches = None) -> Mapping[str, Use]:
        return {}

    @override
    def of(self, row_ids: Collection[str], branches: Branches = None) -> Mapping[str, Use]:
        return {}

    @override
    def most(self, count: int, branches: Branches = None) -> Mapping[str, Use]:
        return {}
