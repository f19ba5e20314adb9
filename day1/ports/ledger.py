"""Small records that belong to no single branch.

Branches and their notes, sessions, snapshots, merges, tasks, templates, handoffs, bundles, HEADs
and intents. The ledger is never the truth about rows, and it points only at commits that exist.
"""

from collections.abc import Callable, Collection, Hashable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from day1.model.branches.branch import Branch
from day1.model.lessons.rating import Votes
from day1.model.records.intent import Intent, IntentKind
from day1.model.redaction.mask import Mask

P = TypeVar("P")
T = TypeVar("T")
Recover = Callable[[Intent], object]
"""A function that finishes or undoes a change whose process died."""


class Ledger(Protocol):
    """Records by id; a put is durable when it returns, or when a `transaction` around it ends."""

    @property
    def is_limited(self) -> bool:
        """Whether it leaves out records of branches that the caller may not see."""
        return False

    def transaction(self) -> AbstractContextManager[None]:
        """Make all writes in the block one transaction."""

    def check(self) -> list[str]:
        """Read the whole ledger; return a description of each fault."""

    def stamp(self) -> Hashable:
        """Return a value that changes with every write of any process; None if none is known.

        It may stay the same where kinds of records that need no stamp were swapped and nothing else
        was written (`RecordKind.stamped`): they are written so often that what is remembered by
        the stamp, such as branches and redactions, would be read again all the time.
        """

    def same_version(self) -> AbstractContextManager[None]:
        """Let this thread ask for the stamp only once during the block, which is one call.

        The call then sees the branches and redactions of its beginning, until a second has passed
        or it writes to the ledger itself. Who waited for a lock asks again.
        """

    def mask(self) -> Mask:
        """Return all redactions so far, by any process; the store and the index apply them.

        The same object is given as long as nothing more is redacted, so that what was read through
        it can be kept with it.
        """

    def votes(self) -> Votes:
        """Return all ratings in the form that searches use; remembered until there are new ones."""

    def branches(self) -> list[Branch]:
        """List every branch, retired ones too, oldest first."""

    def branch(self, name: str) -> Branch | None:
        """Return a branch by name, without regard to case; None if there is none."""

    def put_branch(self, branch: Branch) -> None:
        """Write a branch by id.

        Raises:
            BranchExists: another branch has the name.
        """

    def remove_branch(self, branch_id: str) -> None:
        """Delete a branch's record."""

    def record(self, kind: type[T], record_id: str) -> T | None:
        """Return a record by id: a snapshot, a merge, a task and others; None if there is none."""

    def records(self, kind: type[T], **equal: str) -> list[T]:
        """List the records of a kind with these values, oldest first."""

    def swap(self, there: T | None, record: T) -> bool:
        """Write a record if the one of its id is still as `there`; returns whether it was.

        None: there must be none yet. Of those who try it at once, one succeeds.
        """

    def put(self, *records: object) -> None:
        """Write records by id, all at once."""

    def remove(self, kind: type, *record_ids: str) -> None:
        """Delete records of a kind by id, all at once; unknown ids are ignored."""

    def open_intent(
        self, kind: IntentKind[Any, P], payload: P, now: int, names: Collection[str] = ()
    ) -> AbstractContextManager[None]:
        """Change engine and ledger in the block, with an intent that is removed after it.

        The intent locks `names`, without regard to case: those of the branches that it makes,
        changes or deletes, and the id of a record that a repeated request would make again.
        Without names it locks the whole store. Only one intent has a name at a time, so the
        process of any other open intent with one of the names is gone: those are recovered first.
        When the block raises, its own intent is recovered too, since the engine may have done its
        part. No thread opens an intent in another.

        Raises:
            StoreBusy: another intent had one of the names for longer than the limit.
            StoreUnavailable: the locks were lost, and another process recovered this intent.
        """

    def ending(self, *, own: bool = False) -> AbstractContextManager[None]:
        """Make the writes of the block and the end of this thread's intent one transaction.

        Args:
            own: whether the block writes new records only, which nobody else knows yet. Then it
                waits for no other writer. A server refuses two changes of one record at a time.
        """

    def exclusive(self, *names: str) -> AbstractContextManager[None]:
        """Prevent other intents with these names during the block; without names, all others.

        Open intents of dead processes that have the names are recovered first.

        Raises:
            StoreBusy: another intent had one of the names for longer than the limit.
        """

    def recover_orphans(self) -> int:
        """Recover the open intents whose locks nobody holds; returns how many."""

    def open_intents(self) -> list[Intent]:
        """List the intents that were not removed: their process is at work, or died."""

    def head(self, key: str) -> str | None:
        """Return the branch id that a client's HEAD points at; None if the client has no HEAD."""

    def heads(self) -> dict[str, str]:
        """Return the branch id of every client's HEAD, by its key."""

    def set_head(self, key: str, branch_id: str) -> None:
        """Set a client's HEAD to a branch."""
