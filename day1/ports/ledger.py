"""What is true across branches, kept as small records.

Branches and their notes, sessions, snapshots, merges, tasks, templates, handoffs, bundles, heads,
and intents. The ledger is never the truth about rows, and it points only at commits that exist.
"""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from day1.model.branches.branch import Branch
from day1.model.records.intent import Intent

T = TypeVar("T")
Recover = Callable[[Intent], None]
"""Finish or withdraw a deed whose process is gone."""


class Ledger(Protocol):
    """Small rows by id; every put is durable when it returns, or with `together` all at once."""

    def together(self) -> AbstractContextManager[None]:
        """Make the puts inside one transaction."""

    def check(self) -> list[str]:
        """Read everything, and say what is wrong with it."""

    def stamp(self) -> Hashable:
        """Another value after every write, whoever wrote; None where that is not known."""

    def steady(self) -> AbstractContextManager[None]:
        """Let this thread ask but once for the stamp during the block, which is one call.

        Then the call sees the branches and the redactions that there were when it began, until a
        second has passed, or it writes here itself: whoever waited for a lock looks again.
        """

    def branches(self) -> list[Branch]:
        """Every branch, retired ones too, oldest first."""

    def branch(self, name: str) -> Branch | None:
        """A branch by name, without regard to case."""

    def put_branch(self, branch: Branch) -> None:
        """Write a branch by id.

        Raises:
            BranchExists: another branch has the name.
        """

    def remove_branch(self, branch_id: str) -> None:
        """Forget a branch."""

    def record(self, kind: type[T], record_id: str) -> T | None:
        """A record by id: a snapshot, a merge, a task, a template, and others."""

    def records(self, kind: type[T], **equal: str) -> list[T]:
        """The records of a kind with these values, oldest first."""

    def put(self, *records: object) -> None:
        """Write records by id, all at once."""

    def remove(self, kind: type, *record_ids: str) -> None:
        """Forget records of a kind by id, all at once; an id that is not there is passed over."""

    def open_intent(self, intent: Intent, recover: Recover) -> AbstractContextManager[None]:
        """Do a deed: write the intent, run the block, strike the intent out.

        Deeds exclude one another, also between processes, so an intent that is found open by
        a deed that begins has lost its process: it is settled first. When the block raises,
        the intent is settled too: the engine may have done its part.
        """

    def exclusive(self, recover: Recover) -> AbstractContextManager[None]:
        """Let no deed go on during the block; none is half done when it begins."""

    def recover_orphans(self, recover: Recover) -> int:
        """Settle intents whose process is gone, if no deed is going on; says how many."""

    def open_intents(self) -> list[Intent]:
        """Deeds that are going on, or whose process is gone."""

    def head(self, key: str) -> str | None:
        """The branch id that a client's HEAD points at."""

    def heads(self) -> dict[str, str]:
        """Every client's HEAD: the branch id by its key."""

    def set_head(self, key: str, branch_id: str) -> None:
        """Point a client's HEAD at a branch."""
