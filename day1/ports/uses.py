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


class Uses(Protocol):
    """Counts what is shown; no method fails where the file cannot be used."""

    def shown(self, row_ids: Sequence[str], at: int) -> None:
        """Count that rows were shown."""

    def known(self) -> Mapping[str, Use]:
        """Every row that was shown, by id."""

    def most(self, count: int) -> Mapping[str, Use]:
        """So many of those that were shown most often, and of those that were shown last."""


class NoUses(Uses):
    """Counts nothing."""

    @override
    def shown(self, row_ids: Sequence[str], at: int) -> None:
        pass

    @override
    def known(self) -> Mapping[str, Use]:
        return {}

    @override
    def most(self, count: int) -> Mapping[str, Use]:
        return {}
