"""A mind: goals, a buffer of waiting rows and a workspace. It is not memory, and has no versions.

It holds ids of rows, numbers, and the caller's own words (goals, questions), never words of memory:
these are read when they are shown. So a redacted, removed or expired row leaves it by itself.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar

from day1.model.rows.kind import canonical

T = TypeVar("T")
SLOTS: Final = 7
"""Default number of places in the workspace."""
BUFFER: Final = 50
"""Number of places in the buffer, where rows wait for the workspace."""
GOALS: Final = 10
"""Maximum number of goals that are kept: the newest; the last of them is active."""
MOST_BYTES: Final = 64 * 1024
"""Maximum number of bytes of a mind as JSON."""
_MOST_USES: Final = 400
"""Maximum number of rows whose uses are counted: those that were found last."""

State = Literal["long_term", "preconscious", "conscious"]
"""Where a row stands: nowhere in the mind, in the buffer, or in the workspace."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the work is for, in the caller's words. `created_at` is in microseconds UTC."""

    id: str
    description: str
    keywords: tuple[str, ...] = ()
    priority: float = 1.0
    """From 0.1 to 2.0."""
    created_at: int = 0
    agent: str | None = None
    """The agent that set the goal."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row's place in the buffer or the workspace, since an instant (microseconds UTC)."""

    id: str
    since: int
    score: float | None = None
    """The score with which it entered the workspace."""


@dataclass(frozen=True, slots=True)
class Mind:
    """The goals, buffer and workspace of a client, or of a task's agents, on a branch."""

    goals: tuple[Goal, ...] = ()
    """The goals, oldest first; the last one is active."""
    buffer: tuple[Place, ...] = ()
    """Items that wait, oldest first."""
    workspace: tuple[Place, ...] = ()
    """Items that are attended to, best first."""
    evicted: Mapping[str, str] = field(default_factory=dict)
    """Id of an item that was evicted by hand -> id of the goal during which it stays out."""
    uses: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Id of a row -> how many questions found it, and when the last one did (microseconds UTC)."""
    told: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Agent of a task -> ids of the rows that it got in broadcasts."""
    trace: Mapping[str, Any] | None = None
    """The trace of the last question (`Trace.value`): its words, ids of rows and numbers."""
    bus: Mapping[str, Any] | None = None
    """The result of the bus in the last cycle (`bus.applied`): ids, numbers and codes."""
    cycles: int = 0
    """The number of broadcasts."""

    @property
    def goal(self) -> Goal | None:
        """The active goal."""
        return self.goals[-1] if self.goals else None

    def with_goal(self, goal: Goal) -> "Mind":
        """Set the active goal; rows that were evicted during an earlier goal may come back."""
        return replace(self, goals=(*self.goals, goal)[-GOALS:])

    def fitting(self) -> "Mind":
        """Drop the oldest goals, never the active one, until the mind has at most `MOST_BYTES`."""
        fitting_mind = self
        while len(fitting_mind.goals) > 1 and fitting_mind.size > MOST_BYTES:
            fitting_mind = replace(fitting_mind, goals=fitting_mind.goals[1:])
        return fitting_mind

    def admitted(self, ids: tuple[str, ...], now: int) -> "Mind":
        """Put rows at the end of the buffer, each once; a full buffer drops its oldest rows."""
        present_ids = {place.id for place in (*self.buffer, *self.workspace)}
        new_places = tuple(
            Place(row_id, now) for row_id in dict.fromkeys(ids) if row_id not in present_ids
        )
        return replace(self, buffer=(*self.buffer, *new_places)[-BUFFER:])

    def found(self, ids: tuple[str, ...], now: int) -> "Mind":
        """Count one more use of rows that a question found; the rows found last stay counted."""
        use_by_id = dict(self.uses)
        for row_id in dict.fromkeys(ids):
            use_count, _ = use_by_id.pop(row_id, (0, 0))
            use_by_id[row_id] = (use_count + 1, now)
        newest_ids = sorted(use_by_id, key=lambda row_id: (use_by_id[row_id][1], row_id))[
            -_MOST_USES:
        ]
        return replace(self, uses={row_id: use_by_id[row_id] for row_id in newest_ids})

    def state_of(self, row_id: str) -> State:
        """Tell where a row stands in this mind."""
        if any(place.id == row_id for place in self.workspace):
            return "conscious"
        is_waiting = any(place.id == row_id for place in self.buffer)
        return "preconscious" if is_waiting else "long_term"

    @property
    def size(self) -> int:
        """The number of bytes of the mind as JSON."""
        return len(self.value.encode())

    @property
    def value(self) -> str:
        """The mind as canonical JSON."""
        json_by_name = {
            "buffer": _array(_place, self.buffer),
            "bus": canonical(self.bus),
            "cycles": canonical(self.cycles),
            "evicted": canonical(self.evicted),
            "goals": _array(_object, self.goals),
            "told": canonical(self.told),
            "trace": canonical(self.trace),
            "uses": canonical(self.uses),
            "workspace": _array(_place, self.workspace),
        }
        members = (f'"{name}":{part_json}' for name, part_json in json_by_name.items())
        return "{" + ",".join(members) + "}"


def _array(written: Callable[[T], str], parts: Iterable[T]) -> str:
    """Return parts of a mind as a JSON array; `written` returns one as an object."""
    return f"[{','.join(map(written, parts))}]"


def _object(part: Goal | Place) -> str:
    """Return a part as canonical JSON; `asdict` copies each value, which takes longer."""
    return canonical({name: getattr(part, name) for name in part.__slots__})


_place = lru_cache(maxsize=1_000)(_object)
"""Returns a place as JSON. Most places stay from one write to the next."""


def read_mind(value: str) -> Mind:
    """Read a mind from JSON; a name that an earlier version did not write has its default."""
    value_by_name: dict[str, Any] = json.loads(value)
    goals = (
        Goal(**{**goal, "keywords": tuple(goal["keywords"])}) for goal in value_by_name["goals"]
    )
    return Mind(
        goals=tuple(goals),
        buffer=tuple(Place(**place) for place in value_by_name["buffer"]),
        workspace=tuple(Place(**place) for place in value_by_name["workspace"]),
        evicted=value_by_name.get("evicted", {}),
        uses={
            row_id: (count, found_at)
            for row_id, (count, found_at) in value_by_name.get("uses", {}).items()
        },
        told={agent: tuple(ids) for agent, ids in value_by_name.get("told", {}).items()},
        trace=value_by_name.get("trace"),
        bus=value_by_name.get("bus"),
        cycles=value_by_name.get("cycles", 0),
    )
