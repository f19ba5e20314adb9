"""The trace of a question: what was done for it, by ids, numbers and the caller's own words. Pure.

A mind keeps the trace of its last question. Texts of memory are read again when it is shown, so a
trace never says more than its reader may see.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

_MOST_IDS: Final = 20
"""Ids that a phase keeps, at most; `count` says how many there were."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of attending to a question."""

    name: str
    """`search`, `admit`, `broadcast` or `bus`."""
    number: int
    """The pass in which it was, from 1."""
    count: int
    ids: tuple[str, ...] = ()
    """The first ids of the rows that it was about."""


def phase(name: str, number: int, ids: Sequence[str]) -> Phase:
    """Note a step about some rows."""
    return Phase(name, number, len(ids), tuple(ids[:_MOST_IDS]))


@dataclass(frozen=True, slots=True)
class Trace:
    """How a question was attended to."""

    question: str
    planner: str
    strategy: str
    operation: str | None
    """How the exact answer was found; None without one."""
    answer_ids: tuple[str, ...]
    """The first rows that have the exact answer."""
    passes: int
    calls: tuple[str, ...]
    """What was really called, in order."""
    phases: tuple[Phase, ...]
    at: int
    """Microseconds UTC."""

    @property
    def ids(self) -> set[str]:
        """The ids of the rows that it names."""
        return {*self.answer_ids, *(i for each in self.phases for i in each.ids)}

    def among_visible(self, visible: Collection[str]) -> "Trace":
        """Leave out the ids of rows that may not be shown; the numbers of rows stay."""

        def shown(ids: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(i for i in ids if i in visible)

        phases = tuple(replace(each, ids=shown(each.ids)) for each in self.phases)
        return replace(self, answer_ids=shown(self.answer_ids), phases=phases)

    @property
    def value(self) -> dict[str, Any]:
        """The trace as a mind keeps it."""
        return asdict(self)


def read_trace(value: Mapping[str, Any]) -> Trace:
    """Read a trace that a mind keeps."""
    phases = (Phase(**{**each, "ids": tuple(each["ids"])}) for each in value["phases"])
    given = {
        "answer_ids": tuple(value["answer_ids"]),
        "calls": tuple(value["calls"]),
        "phases": tuple(phases),
    }
    return Trace(**{**value, **given})
