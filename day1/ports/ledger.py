"""What is true across branches: branches and their notes, snapshots, merges, intents, heads.

The ledger is never the truth about rows, and it points only at commits that exist.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from day1.model.branch import Branch
from day1.model.deed import Intent, MergeRecord, Snapshot

Settle = Callable[[Intent], None]
"""Finish or withdraw a deed whose process is gone."""


class Ledger(Protocol):
    """Small rows by id; every put is durable when it returns, or with `together` all at once."""

    def together(self) -> AbstractContextManager[None]:
        """Make the puts inside one transaction."""

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

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot, oldest first."""

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Write a snapshot by id."""

    def merges(self) -> list[MergeRecord]:
        """Every merge, oldest first."""

    def put_merge(self, merge: MergeRecord) -> None:
        """Write a merge by id."""

    def deed(self, intent: Intent, settle: Settle) -> AbstractContextManager[None]:
        """Do a deed: write the intent, run the block, strike the intent out.

        Deeds exclude one another, also between processes, so an intent that is found open by
        a deed that begins has lost its process: it is settled first. When the block raises,
        the intent is settled too: the engine may have done its part.
        """

    def settle_orphans(self, settle: Settle) -> int:
        """Settle intents whose process is gone, if no deed is going on; says how many."""

    def open_intents(self) -> list[Intent]:
        """Deeds that are going on, or whose process is gone."""

    def head(self, key: str) -> str | None:
        """The branch id that a client's HEAD points at."""

    def set_head(self, key: str, branch_id: str) -> None:
        """Point a client's HEAD at a branch."""
