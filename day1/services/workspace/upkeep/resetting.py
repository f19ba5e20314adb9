"""Removing all memory that a caller owns, after a snapshot and with a backup, in one commit."""

from __future__ import annotations

from dataclasses import dataclass

from day1.model.rows.change import Message
from day1.services.access.calls import Writing
from day1.services.branches.lookup import find_open_again
from day1.services.rows.editing import Editor
from day1.services.rows.recording import BranchAfter
from day1.services.workspace.upkeep.removing import (
    Backup,
    BranchIngestion,
    Owner,
    back_up,
    count_present,
    owned,
    snapshot_before,
)


@dataclass(frozen=True, slots=True)
class Reset:
    """What was removed, what stayed, and the state of the branch."""

    deleted: int
    kept: int
    """The items of the branch that stayed: those of others."""
    backup: Backup
    snapshot_id: str | None
    """None: there was nothing to remove."""
    after: BranchAfter


def reset_memory(write: Writing) -> Reset:
    """Remove the items that the caller owns, with their links; a revert brings them back.

    Raises:
        Refused: their backup has more bytes than a call answers.
        BranchClosed, BranchProtected: the branch was closed or protected meanwhile.
    """
    repo, now = write.repo, write.repo.clock()
    snapshot_id = snapshot_before(write, "a reset") if owned(write) else None
    with repo.store.adding(find_open_again(repo, write.branch).name) as adding:
        owner = Owner.of(write)
        items = owner.items(adding, now)
        backup = back_up(adding, items, owner, now)
        kept = count_present(adding, now) - len(items)
        if not items:
            return Reset(0, kept, backup, snapshot_id, BranchAfter.of(adding, 0))
        work = adding.to_change()
        editor = Editor(repo, work, write.origin, "reset")
        deleted = BranchIngestion(editor).delete_items(items)
        repo.point("gwt.reset")
        commit = work.commit(Message("remove", f"reset: remove {deleted} memories"))
        return Reset(deleted, kept, backup, snapshot_id, BranchAfter(commit, 0, work.now))
