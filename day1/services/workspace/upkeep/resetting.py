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
    with repo.store.adding(find_open_again(repo, write.branch).name) as unit_of_work:
        owner = Owner.of(write)
        own_items = owner.items(unit_of_work, now)
        backup = back_up(unit_of_work, own_items, owner, now)
        kept_count = count_present(unit_of_work, now) - len(own_items)
        if not own_items:
            return Reset(0, kept_count, backup, snapshot_id, BranchAfter.of(unit_of_work, 0))
        changing_unit = unit_of_work.to_change()
        editor = Editor(repo, changing_unit, write.origin, "reset")
        removed_count = BranchIngestion(editor).delete_items(own_items)
        repo.point("gwt.reset")
        commit_id = changing_unit.commit(
            Message("remove", f"reset: remove {removed_count} memories")
        )
        return Reset(
            removed_count,
            kept_count,
            backup,
            snapshot_id,
            BranchAfter(commit_id, 0, changing_unit.now),
        )
