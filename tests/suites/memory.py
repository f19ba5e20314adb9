"""The face that the contract suite sees: memory as a caller sees it, whatever the engine.

The engine under test fulfils it through day1's services; the oracle by copying everything.
Ids and times are the caller's to compare, so both are given in from outside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

State = dict[str, dict[str, dict[str, Any]]]
"""table -> id -> every column but the origin (agent, session, task, source, created_at, …)."""


@dataclass(frozen=True)
class Receipt:
    """What an acknowledged call answers."""

    at: int
    """The time of the action, microseconds UTC; for an addition the row's `created_at`."""
    id: str | None = None


@dataclass(frozen=True)
class Merged:
    """What a merge answers."""

    at: int | None
    """None when there was nothing to do."""
    merged: int
    rejected: int


@dataclass(frozen=True)
class Held:
    """One open held item, as it is listed."""

    row_id: str
    cell: str
    ours: Mapping[str, Any] | None
    theirs: Mapping[str, Any] | None
    """The offered value: the source's present one if its branch still is, else the stored one."""


@dataclass(frozen=True)
class Reverted:
    """What a revert answers."""

    at: int | None
    """None when all of it stays."""
    kept: tuple[tuple[str, str], ...]
    """Rows and cells that keep their present value."""


@dataclass(frozen=True)
class Choice:
    """As `day1.model.merge.plan.Choice`: take is ours, theirs, value, delete or skip."""

    row_id: str
    take: str
    cell: str = "*"
    value: Mapping[str, Any] | None = None


class Refusal(Exception):
    """A call that was refused; `code` is day1's stable error code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class Clock:
    """A clock that the test turns; each writer has a skew of its own (microseconds)."""

    now: int = 1_700_000_000_000_000
    skew: int = 0
    skews: dict[str, int] = field(default_factory=dict)

    def __call__(self) -> int:
        return self.now + self.skew

    def tick(self, by: int = 1_000) -> None:
        self.now += by


class Memory(Protocol):
    """Every call acts on one branch and is durable when it returns."""

    clock: Clock

    def add_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt: ...
    def add_observation(self, branch: str, obs_id: str, **columns: Any) -> Receipt: ...
    def add_relation(self, branch: str, rel_id: str, **columns: Any) -> Receipt: ...
    def update_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt:
        """Set fact_text, category, confidence; a changed text makes the fact unverified.
        An open held item on a cell that is edited is closed by it."""

    def judge(self, branch: str, fact_id: str, verification: str, scores: str | None) -> Receipt:
        """Give a verdict: sets the cell (verification, scores)."""

    def supersede(self, branch: str, fact_id: str, new_id: str, text: str) -> Receipt:
        """Add a fact `new_id` and mark `fact_id` superseded by it, in one commit."""

    def remove(self, branch: str, row_id: str) -> Receipt: ...
    def fork(self, name: str, parent: str, at: int | None = None) -> None:
        """Fork the parent as it is, or as it was at an instant."""

    def merge(
        self,
        source: str,
        target: str,
        strategy: str = "auto",
        choices: Sequence[Choice] = (),
        items: Sequence[str] | None = None,
    ) -> Merged: ...
    def restore_row(self, branch: str, row_id: str, at: int) -> Receipt:
        """Bring a row to what it was at an instant, as a new commit (absent then: removed)."""

    def restore_branch(self, branch: str, at: int) -> Receipt: ...
    def revert(self, branch: str, at: int, choices: Sequence[Choice] = ()) -> Reverted:
        """Undo the action of a branch that was done at an instant, as a new one.

        What changed since keeps its present value; held items stay as they are.
        """

    def versions(self, branch: str, row_id: str) -> list[tuple[int, dict[str, Any] | None]]:
        """Every version of a row with its time, across merges, oldest first; None: removed."""

    def held(self, branch: str) -> list[Held]:
        """Listed items: open there, and the branch's value is not the held one."""

    def decide(
        self,
        branch: str,
        row_id: str,
        cell: str,
        decision: str,
        value: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Decide an open item: taken, edited (with value) or dismissed."""

    def state(self, branch: str, at: int | None = None) -> State:
        """All facts, observations and relations, now or as of an instant."""

    def within(self, branch: str, space: str) -> list[str]:
        """The ids of the facts in a space and in those below it, sorted."""

    def commit_pending(self, branch: str) -> None:
        """Let the engine commit pending rows; nothing a caller sees changes."""
