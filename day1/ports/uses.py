"""Which memories this node has shown, and when: no truth and no memory, and it may be lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from typing_extensions import override

USED: Final = 3
"""Of the memories shown together so many count as used, the best ones: a search always shows as
many as it is asked for, and the last of them are seldom about the question."""


@dataclass(frozen=True, slots=True)
class Use:
    """How often a memory was used, and when it was last shown (microseconds UTC)."""

    times: int
    """How often it was among the best `USED` of an answer, or was opened. 0: never, but shown."""
    last: int


Branches = frozenset[str] | None
"""By id, those on which rows were shown; None: all, and those that are not known any more."""


class Uses(Protocol):
    """Counts what is shown; no method fails where the file cannot be used."""

    def shown(self, row_ids: Sequence[str], at: int, branch_id: str) -> None:
        """Note that rows of a branch were shown together, best first."""

    def known(self, branches: Branches = None) -> Mapping[str, Use]:
        """Every row that was shown, by id."""

    def most(self, count: int, branches: Branches = None) -> Mapping[str, Use]:
        """So many of those that were used most often, and of those used that were shown last."""


class NoUses(Uses):
    """Counts nothing."""

    @override
    def shown(self, row_ids: Sequence[str], at: int, branch_id: str) -> None:
        pass

    @override
    def known(self, branches: Branches = None) -> Mapping[str, Use]:
        return {}

    @override
    def most(self, count: int, branches: Branches = None) -> Mapping[str, Use]:
        return {}
