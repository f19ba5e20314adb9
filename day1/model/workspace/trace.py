"""The trace of a question: the steps of answering it, as ids, numbers and the caller's words. Pure.

A mind keeps the trace of its last question. Texts of memory are read again when it is shown, so a
trace never says more than its reader may see.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

_MOST_IDS: Final = 20
"""Maximum number of ids that a phase keeps; `count` says how many rows there were."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of answering a question."""

    name: str
    """`search`, `admit`, `broadcast` or `bus`."""
    number: int
    """The number, from 1, of the pass with this step."""
    count: int
    ids: tuple[str, ...] = ()
    """The ids of the first rows that the step was about."""


def phase(name: str, number: int, ids: Sequence[str]) -> Phase:
    """Build a phase from the ids of its rows."""
    return Phase(name, number, len(ids), tuple(ids[:_MOST_IDS]))


@dataclass(frozen=True, slots=True)
class Trace:
    """The steps of answering one question, and how an exact answer was found."""

    question: str
    planner: str
    strategy: str
    operation: str | None
    """The operation that found the exact answer; None without an exact answer."""
    answer_ids: tuple[str, ...]
    """The ids of the first rows that have the exact answer."""
    passes: int
    calls: tuple[str, ...]
    """The names of the calls that were made, in order."""
    phases: tuple[Phase, ...]
    at: int
    """When the question was answered (microseconds UTC)."""

    @property
    def ids(self) -> set[str]:
        """The ids of all rows in the trace."""
        return {*self.answer_ids, *(row_id for step in self.phases for row_id in step.ids)}

    def among_visible(self, visible: Collection[str]) -> "Trace":
        """Leave out the ids of rows that may not be shown; the numbers of rows stay."""

        def shown(ids: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(row_id for row_id in ids if row_id in visible)

        phases = tuple(replace(step, ids=shown(step.ids)) for step in self.phases)
        return replace(self, answer_ids=shown(self.answer_ids), phases=phases)

    @property
    def value(self) -> dict[str, Any]:
        """The trace as the JSON value that a mind keeps."""
        return asdict(self)


def read_trace(value: Mapping[str, Any]) -> Trace:
    """Read a trace from the JSON value that a mind keeps."""
    phases = tuple(Phase(**{**step, "ids": tuple(step["ids"])}) for step in value["phases"])
    tuple_fields = {
        "answer_ids": tuple(value["answer_ids"]),
        "calls": tuple(value["calls"]),
        "phases": phases,
    }
    return Trace(**{**value, **tuple_fields})
