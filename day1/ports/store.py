"""The versioned store: readings of its states, and units of work on one branch.

Errors as in `ports.reading`, and those that are named beside a method.
"""

from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from day1.errors import Json
from day1.model.rows.change import Commit, CommitId, Message, Pending, Ref, Writes
from day1.model.rows.kind import Kind, Row
from day1.ports.additions import Additions
from day1.ports.reading import Reading


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The abilities of an engine; a call that needs another one raises `Unsupported`."""

    engine: str
    version: str
    row_history: bool
    compaction: bool


class Work(Additions, Protocol):
    """A unit of work on one branch; it holds the branch's lock until it ends."""

    def not_before(self, instant: int) -> None:
        """Move `now` past the time of a row that this unit copies (a merge, a pick)."""

    def turn_back(self, instant: int) -> None:
        """Give this unit a time before that of its branch; its commit may have no changes.

        This repairs a branch whose times are ahead of the clock: the unit sets every row's time to
        `instant` or earlier. Older commits stay as they are; *as of* finds them by the graph.
        """

    def change(self, kind: Kind, row_id: str, values: Row) -> None:
        """Set columns of a row that exists."""

    def apply(self, writes: Writes) -> None:
        """Insert, replace or remove rows so that each has its given value; None removes a row."""

    def merge(self, source: CommitId, writes: Writes) -> None:
        """Merge the commit `source` into the branch so that exactly `writes` are the result.

        The next commit gets two parents where the engine has such commits.

        Raises:
            IntegrityBroken: the engine changed other rows than `writes` says.
        """

    def commit(self, message: Message) -> CommitId:
        """Commit this unit; it ends here.

        Raises:
            IntegrityBroken: the commit would hold rows of another unit.
        """


class AddingUnit(Additions, Protocol):
    """A unit of work that only adds rows, and that can still go on as one that changes rows."""

    def to_change(self) -> Work:
        """Go on as a unit that ends in a commit of its own, before this one has added anything.

        The branch stays locked, so what was read still holds. Pending rows are committed first.
        Without `Work.commit` nothing of the unit is stored.
        """


class Store(Protocol):
    """A store whose rows have versions: it opens readings and units of work."""

    @property
    def capabilities(self) -> Capabilities:
        """The abilities of this engine."""

    def reading(self, ref: Ref) -> AbstractContextManager[Reading]:
        """Open a state for reading. Never writes.

        Raises:
            UnknownBranch: no such branch.
            NotFound: no such commit.
        """

    def adding(self, branch: str) -> AbstractContextManager[AddingUnit]:
        """Open a unit of work that only adds rows.

        When the block ends they are durable, and pending: a later commit holds them
        (`commit_pending`). After an exception none of them is stored.

        Raises:
            UnknownBranch: no such branch.
            StoreBusy: another writer held the lock for longer than the limit.
            StoreReadOnly, StoreFull: the file cannot be written.
        """

    def changing(self, branch: str) -> AbstractContextManager[Work]:
        """Open a unit of work that ends in a commit of its own.

        Pending rows are committed before it. Without `commit` nothing of it is stored. Errors as
        in `adding`.
        """

    def repeat(self, branch: str, commit: Commit, writes: Writes) -> CommitId:
        """Make a commit of another store on a branch: its rows, times, author and message.

        Args:
            branch: where; its pending rows become part of the commit.
            commit: as the other store has it, but its parents are named by their ids in this
                store, and the first is the branch's tip. The message keeps its own id as `from`.
            writes: what it changed.

        Raises:
            IntegrityBroken: the branch has another tip, or other rows changed than `writes` says.
        """

    def sealed(self, branch: str) -> AbstractContextManager[CommitId]:
        """Keep every writer from a branch during the block, in which its ref may be deleted.

        Yields the branch's last commit, which has all of its rows. Writers wait for the end of
        the block, as they wait for one another.
        """

    def commit_pending(self, branch: str) -> CommitId:
        """Commit a branch's pending rows as one `add`; returns the tip."""

    def commit_pending_if_due(self, branch: str, pending: Pending | None = None) -> None:
        """Commit a branch's pending rows if there are 256, or if the oldest is ten minutes old.

        With the `pending` rows that it had just now, the engine is asked only if they seem due.
        """

    def stamp(self) -> Hashable:
        """Return a value that changes with every unit of work of any process; cheap to ask for."""

    def present(self, machine_time: int) -> int:
        """Return the time by which rows are dated: the machine's, unless the store has a clock."""
        return machine_time

    def size(self) -> int:
        """Return the store's size on disk in bytes; 0 where the server does not tell."""

    def compact(self, above: int = 0) -> dict[str, Json]:
        """Give unused space back; returns the sizes before and after, in bytes.

        Nothing is done if the store has at most `above` bytes once others' writes have ended:
        another process may just have compacted it.

        Raises:
            Unsupported: the engine does it by itself.
        """

    def compact_size(self) -> int | None:
        """Return the store's size in bytes after its last compaction by any process, if known."""
        return None

    def check(self) -> list[str]:
        """Read all of the store; return a description of each fault."""

    def warnings(self) -> list[str]:
        """List warnings about the store; each says what to do."""

    def close(self) -> None:
        """Close files and connections."""
