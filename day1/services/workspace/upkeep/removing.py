"""Removing items: the memory that a call may remove, and the functions that remove it.

In a space, a call removes what the space has. Without one, it removes only what the tools of gwt
stored outside of all spaces for its agent or its task: the memory of others stays. Nothing is
removed that a backup may not hold, so secret, redacted and ended rows stay too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from day1.model.files.item_lines import ItemLine, written_lines
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import RELATION, Row
from day1.model.workspace.item import LINKED, Item
from day1.ports.reading import Reading
from day1.services.access.calls import Writing
from day1.services.branches.snapshots import snapshot
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor
from day1.services.workspace.desks import Seat, drop_mind, mind_of
from day1.services.workspace.upkeep.exporting import lines_of, present_rows


class Ingestion(Protocol):
    """Removes items from memory, in a commit that can be reverted."""

    def delete_items(self, items: Sequence[Item]) -> int:
        """Remove items with the links at them; return how many items."""


class Cycle(Protocol):
    """Removes items from a workspace; memory keeps them."""

    def evict_all(self) -> tuple[str, ...]:
        """Empty the workspace; return the ids that were in it."""


@dataclass(frozen=True, slots=True)
class BranchIngestion:
    """Removes items from a branch, in an open unit of work."""

    editor: Editor

    def delete_items(self, items: Sequence[Item]) -> int:
        """Remove items with the links at them; return how many items."""
        link_rows = links_at(self.editor.work, [item.id for item in items])
        kinds_and_rows = [
            *((item.kind, item.row) for item in items),
            *((RELATION, row) for row in link_rows),
        ]
        if kinds_and_rows:
            self.editor.remove(kinds_and_rows)
        return len(items)


@dataclass(frozen=True, slots=True)
class SeatCycle:
    """Empties the workspace of a seat: with its goals, its buffer and its trace."""

    repo: Repository
    seat: Seat

    def evict_all(self) -> tuple[str, ...]:
        """Empty the workspace; return the ids that were in it."""
        workspace_ids = tuple(place.id for place in mind_of(self.repo, self.seat).workspace)
        drop_mind(self.repo, self.seat)
        return workspace_ids


@dataclass(frozen=True, slots=True)
class Owner:
    """The space, or the agent and task, whose memory a call may remove."""

    space: str | None
    agent: str | None = None
    """Without a space: the agent whose rows may be removed; None: rows that name no agent."""
    task_id: str | None = None

    @staticmethod
    def of(write: Writing) -> Owner:
        """Return the owner whose memory a write may remove."""
        return Owner(write.space, write.origin.agent_id, write.origin.task_id)

    def items(self, reading: Reading, now: int) -> list[Item]:
        """Read the removable items of the owner that may be shown, ordered by kind and id."""
        if self.space is not None:
            return present_rows(reading, (self.space,), now)
        conditions: list[Row] = [{"agent_id": self.agent}]
        if self.task_id is not None:
            conditions.append({"task_id": self.task_id})
        item_by_id = {
            item.id: item
            for condition in conditions
            for item in present_rows(reading, (None,), now, Query(equal=condition))
            if item.is_own
        }
        return [item_by_id[row_id] for row_id in sorted(item_by_id)]


@dataclass(frozen=True, slots=True)
class Backup:
    """The lines of items that a call removes."""

    lines: Sequence[ItemLine]
    jsonl: str


def back_up(reading: Reading, items: Sequence[Item], owner: Owner, now: int) -> Backup:
    """Write the lines of items before they are removed, with the links that their owner sees.

    Raises:
        Refused: they have more bytes than a call answers; then nothing may be removed.
    """
    lines = lines_of(reading, items, () if owner.space is None else (owner.space,), now)
    return Backup(lines, written_lines(lines))


def links_at(reading: Reading, ids: Sequence[str]) -> list[Row]:
    """Read the links that have one of these rows as an end."""
    link_by_id: dict[str, Row] = {}
    for entity_column in ("source_entity", "target_entity") if ids else ():
        query = Query(equal={"relation_type": LINKED}, among={entity_column: ids})
        link_by_id |= {str(row["id"]): row for row in reading.find(RELATION, query)}
    return [link_by_id[row_id] for row_id in sorted(link_by_id)]


def count_present(reading: Reading, now: int) -> int:
    """Count the items of a branch that may be shown, in all spaces."""
    return len(present_rows(reading, (), now))


def snapshot_before(write: Writing, reason: str) -> str:
    """Make a snapshot of a branch before a removal; return its id. `reason` is in its label."""
    repo = write.repo
    new_snapshot = snapshot(repo, write.branch, f"before {reason}", repo.clock())
    repo.point("gwt.snapshot")
    return new_snapshot.id


def owned(write: Writing) -> int:
    """Count the items that a call may remove now."""
    with write.repo.store.reading(Ref(branch=write.branch.name)) as reading:
        return len(Owner.of(write).items(reading, write.repo.clock()))
