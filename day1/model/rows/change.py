"""States that can be read, commits, and changes between states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, Literal

from day1.errors import Json
from day1.model.rows.kind import Cell, Row, when

CommitId = str
REMOVED: Final = "removed"
"""The `value` of an edit that removed a row."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A state of memory: a branch as it is now or a commit; with `until`, without later rows.

    A branch as it is includes rows that no commit holds yet. Exactly one of `branch` and
    `commit` is given.
    """

    branch: str | None = None
    commit: CommitId | None = None
    until: int | None = None
    """Only rows with `created_at` up to this instant (microseconds UTC, inclusive)."""
    empty: bool = False
    """The state before the first commit: no rows at all."""
    shown_at: int | None = None
    """The instant (microseconds UTC) at which people and models see the state: without the rows
    that had expired, and with a mark in place of the words of secret rows
    (`model.redaction.veil`)."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Rows of a branch that are not committed yet."""

    count: int = 0
    oldest: int | None = None
    newest: int | None = None


NOTHING_PENDING: Final = Pending()


@dataclass(frozen=True, slots=True)
class ReadState:
    """The state of a branch that rows were read from."""

    tip: CommitId
    pending: Pending


NO_STATE: Final = ReadState("", NOTHING_PENDING)
"""The state where no branch was read."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a branch."""

    id: CommitId
    parents: tuple[CommitId, ...]
    op: str
    """add, change, remove, merge, pick, squash, import, restore, revert, init, schema; else
    `foreign`."""
    ts: int
    """Microseconds UTC: of an `add` the time of its last row, else the time of the commit."""
    author: str
    line: str
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """The message of a unit of work's commit."""

    op: str
    line: str
    id: str | None = None
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row that differs between two states; `before` is None for an added row."""

    id: str
    before: Row | None
    after: Row | None

    @property
    def how(self) -> str:
        """The kind of change: `added`, `changed` or `removed`."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


Changes = dict[str, list[RowChange]]
"""Changed rows by table name."""

Writes = dict[str, dict[str, Row | None]]
"""The rows to write, by table name and id; None removes a row."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query for rows of one kind: all conditions hold, in an order, up to a limit."""

    equal: Mapping[str, Cell] = field(default_factory=dict)
    among: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """Column -> allowed values; None among them allows rows without a value."""
    without: Mapping[str, Sequence[Cell]] = field(default_factory=dict)
    """Column -> values that are left out."""
    after: int | None = None
    """Only rows whose time (of the event, else of learning it) is not before this instant."""
    before: int | None = None
    """Only rows whose time is not after this instant."""
    created_after: int | None = None
    """Only rows with a `created_at` later than this instant."""
    above: str | None = None
    """Only rows whose id comes after this one."""
    alive_at: int | None = None
    """Only rows that had not expired by this instant."""
    present_at: int | None = None
    """Only rows whose valid time had not ended by this instant. That of a superseded fact
    counts as ended, unless the fact says when."""
    public: bool = False
    """Whether secret rows are left out."""
    under: str | None = None
    """A space: only its rows and those of the spaces below it, whose names go on after a `/`."""
    order: Literal["id", "created_at"] | None = None
    """The column by which `scan` sorts. `created_at`, descending, up to a limit: costs what these
    rows do."""
    descending: bool = False
    limit: int | None = None


def place_in_time(row: Mapping[str, Cell]) -> tuple[int, int, str]:
    """Return the sort key of a row in time: when it happened, when it was learned, its id.

    An index has rows in this order, so that the newest are found without reading all others.
    """
    return when(row), int(row["created_at"] or 0), str(row["id"])


def children_first(commits: Mapping[CommitId, Commit]) -> list[Commit]:
    """Sort commits so that each comes before its parents, newest first."""
    unsorted_child_counts = dict.fromkeys(commits, 0)
    for commit in commits.values():
        for parent_id in commit.parents:
            if parent_id in unsorted_child_counts:
                unsorted_child_counts[parent_id] += 1
    newest_first = sorted(commits.values(), key=lambda c: (c.ts, c.id), reverse=True)
    place_by_id = {commit.id: place for place, commit in enumerate(newest_first)}
    ready_places = [
        place for place, commit in enumerate(newest_first) if unsorted_child_counts[commit.id] == 0
    ]  # a heap, since it is sorted
    ordered_commits: list[Commit] = []
    while ready_places:
        commit = newest_first[heappop(ready_places)]
        ordered_commits.append(commit)
        for parent_id in commit.parents:
            if parent_id in unsorted_child_counts:
                unsorted_child_counts[parent_id] -= 1
                if unsorted_child_counts[parent_id] == 0:
                    heappush(ready_places, place_by_id[parent_id])
    return ordered_commits
