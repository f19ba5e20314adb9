"""Which memories this node has shown, and when: no truth and no memory, and it may be lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override


@dataclass(frozen=True, slots=True)
class Use:
    """How often a memory was shown, and when last (microseconds UTC)."""

    times: int
    last: int


Branches = frozenset[str] | None
"""By id, those on which rows were shown; None: all, and those that are not known any more."""


class Uses(Protocol):
    """Counts what is shown; no method fails where the file cannot be used."""

    def shown(self, row_ids: Sequence[str], at: int, branch_id: str) -> None:
        """Count that rows of a branch were shown."""

    def known(self, branches: Branches = None) -> Mapping[str, Use]:
        """Every row that was shown, by id."""

    def most(self, count: int, branches: Branches = None) -> Mapping[str, Use]:
        """So many of those that were shown most often, and of those that were shown last."""


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
