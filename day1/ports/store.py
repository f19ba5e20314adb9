"""The versioned store: units of work on one branch, readings of one state, and the history.

Every method that reaches the engine may raise `StoreUnavailable` (a retry may succeed) or
`StoreDamaged`; what else it raises is said beside it.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from day1.errors import Json
from day1.model.records.redaction import Mask
from day1.model.rows.change import Changes, Commit, CommitId, Message, Pending, Query, Ref, Writes
from day1.model.rows.kind import Cell, Kind, Row


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do; asking for the rest raises `Unsupported`."""

    engine: str
    version: str
    merge_base_moves: bool
    row_history: bool
    compaction: bool


class Reading(Protocol):
    """Rows of one state. All reads of one Reading see the same state."""

    @property
    def branch(self) -> str | None:
        """The branch that is read, None at a bare commit."""

    @property
    def tip(self) -> CommitId:
        """The commit that is read, or on which the waiting rows stand."""

    @property
    def pending(self) -> Pending:
        """Rows of this state that no commit holds yet."""

    @property
    def mask(self) -> Mask:
        """What is redacted: rows read as it says, and are not found by what it hides."""

    def get(self, kind: Kind, ids: Sequence[str]) -> dict[str, Row]:
        """Rows by id; unknown ids are left out."""

    def find(self, kind: Kind, query: Query) -> list[Row]:
        """Rows by conditions, ordered by time and id."""

    def scan(self, kind: Kind, columns: Sequence[str], query: Query) -> list[tuple[Cell, ...]]:
        """Some columns of the rows that `find` would give, as tuples.

        In the order of ids, or with `created_after` in that of `created_at`.
        """

    def count(self, kind: Kind, equal: Mapping[str, Cell] | None = None) -> int:
        """How many rows of a kind there are, or have these values."""

    def tally(self, kind: Kind, column: str) -> dict[Cell, int]:
        """How many rows have each value of `column`."""

    def merge_base(self, other: CommitId) -> CommitId:
        """The commit at which this history and that of an older commit last were one."""

    def changes(self, base: CommitId) -> Changes:
        """Rows that differ between a commit and this state; costs O(changes)."""


class Additions(Reading, Protocol):
    """A unit of work that only adds rows, which later share a commit (`Store.cut`).

    Nothing else can be done in it: a changed row that no commit holds would block every later
    commit of the branch.
    """

    @property
    def now(self) -> int:
        """The one time of this unit: later than every row and commit of the branch."""

    def add(self, kind: Kind, rows: Sequence[Row]) -> None:
        """Insert rows.

        Raises:
            Conflict: an id is taken.
        """


class Work(Additions, Protocol):
    """A unit of work: rows of one branch, with the store's lock held from first to last."""

    def not_before(self, instant: int) -> None:
        """Move `now` past an instant that enters the branch with this unit (a merge, a pick)."""

    def turn_back(self, instant: int) -> None:
        """Give this unit, which may come without changes, a time before that of its branch.

        For a branch whose times are ahead of the clock: every row is brought to `instant` or
        before it in this unit. The past stays as it is, and *as of* finds it by the graph.
        """

    def change(self, kind: Kind, row_id: str, values: Row) -> None:
        """Set columns of a row that exists."""

    def apply(self, writes: Writes) -> None:
        """Bring rows to the given values: insert, replace or remove."""

    def merge(self, source: CommitId, writes: Writes) -> None:
        """Join `source` into the branch so that exactly `writes` come about.

        The next commit gets two parents where the engine has such commits.

        Raises:
            IntegrityBroken: what the engine changed is not what the plan says.
        """

    def commit(self, message: Message) -> CommitId:
        """Make the unit durable as one commit of its own; the unit ends with it.

        Raises:
            IntegrityBroken: rows that are not of this unit would slip in.
        """


class Store(Protocol):
    """Opens readings and units of work."""

    @property
    def capabilities(self) -> Capabilities:
        """What this engine can do."""

    def reading(self, ref: Ref) -> AbstractContextManager[Reading]:
        """Open a state for reading. Never writes.

        Raises:
            UnknownBranch: no such branch.
            NotFound: no such commit.
        """

    def adding(self, branch: str) -> AbstractContextManager[Additions]:
        """Open work that only adds rows; leaving it makes them durable, without a commit.

        The rows share a later commit (`cut`). An exception leaves no trace.

        Raises:
            UnknownBranch: no such branch.
            StoreBusy: the lock was not free within the limit.
            StoreReadOnly, StoreFull: the file cannot be written.
        """

    def changing(self, branch: str) -> AbstractContextManager[Work]:
        """Open work that ends in its own commit; waiting rows are cut before it.

        Left without `commit`, it leaves no trace. Raises as `adding`.
        """

    def repeat(self, branch: str, commit: Commit, writes: Writes) -> CommitId:
        """Make a commit of another store on a branch: its rows, times, author and message.

        `writes` are what it changed, of its parents the ids are those of this store, and the
        first one is the branch's tip. What waits on the branch is part of it. The message
        also says which commit it was, as `from`.

        Raises:
            IntegrityBroken: the branch stands elsewhere, or what changed is not `writes`.
        """

    def commit_pending(self, branch: str) -> CommitId:
        """Commit the waiting rows of a branch as one `add`; returns the tip."""

    def commit_pending_if_due(self, branch: str) -> None:
        """Cut when 256 rows wait or the oldest has waited ten minutes."""

    def stamp(self) -> Hashable:
        """Another value after every unit of work, whoever did it; asking costs next to nothing."""

    def size(self) -> int:
        """Bytes that the store takes on disk."""

    def compact(self) -> dict[str, Json]:
        """Give unused space back; says sizes in bytes before and after.

        Raises:
            Unsupported: the engine does this by itself.
        """

    def check(self) -> list[str]:
        """Read every page and index of the store; says what is wrong, nothing if all is whole."""

    def doubts(self) -> list[str]:
        """What cannot be known of the store and should be; each says what to do."""

    def close(self) -> None:
        """Let go of files and connections."""


class History(Protocol):
    """The commit graph. Nothing here changes rows."""

    def branches(self) -> dict[str, CommitId]:
        """Every branch of the engine with its tip."""

    def dirty_branches(self) -> set[str]:
        """Branches that have rows which no commit holds yet."""

    def fork(self, name: str, start: CommitId) -> None:
        """Create a branch at a commit; its cost does not grow with the rows.

        Raises:
            BranchExists: the engine has a branch of that name.
        """

    def drop(self, name: str) -> None:
        """Delete a branch's ref."""

    def keep(self, name: str, commit: CommitId) -> None:
        """Tag a commit so that compaction does not destroy it; once is enough."""

    def kept(self) -> dict[str, CommitId]:
        """Every tag with its commit."""

    def log(self, start: str | CommitId) -> Iterator[Commit]:
        """First parents from the tip of a branch, or from a commit, newest first."""

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        """Every commit reachable from `starts`, children before parents."""

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        """The commit at which two histories last were one."""

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        """Rows that differ between a commit and a state; costs O(changes)."""

    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        """Every version of a row that is kept anywhere, as it was written: for redacting only.

        Of held items, all those on the row.
        """

    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        """One row at a commit; its cost does not grow with the history."""

    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        """A row at every commit reachable from `start`, over all parents, that has it.

        Raises:
            NotFound: no such commit.
            Unsupported: the engine has no row history (`Capabilities.row_history`).
        """

    def at(self, branch: str, instant: int) -> Ref:
        """The state of a branch at an instant, by its first parents (design section 5)."""
