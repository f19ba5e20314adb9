"""Reverts of rows that point to one another: they stay or go together.

A revert is planned as a merge (`model.merge.plan`): the commit to undo is the base, and the state
before it is the source. This module adds the rule for rows that point to one another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from day1.model.merge.row_merge import PlanRow, keep_valid_time
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, WHOLE, Row, kind_of

STATUS: Final = "status"


def needed(row: Mapping[str, object] | None) -> str | None:
    """Return the id of the row that a row points to: its successor, or its conversation."""
    if row is None:
        return None
    kind = kind_of(str(row["id"]))
    pointer_id = None if kind is None or kind.pointer is None else row[kind.pointer[0]]
    return None if pointer_id is None else str(pointer_id)


def keep_whole(rows: dict[str, PlanRow], target: Mapping[str, Row]) -> None:
    """Change a plan so that rows which belong together stay together, until nothing changes.

    A row that others still need stays, and a fact that stays keeps its supersession. A message
    without its conversation is left out. No fact stays superseded by a missing one.

    Args:
        rows: the plan's rows by id; a fact that must become active again is added.
        target: the rows of the target that are in the plan, need such a row, or are needed.
    """
    plan = _Plan(rows, target, _needing(rows, target))
    has_changed = True
    while has_changed:
        has_changed = False
        for row in list(rows.values()):
            if row.result is None:
                has_changed |= row.target is not None and plan.keep_needed(row)
            elif row.kind is FACT:
                has_changed |= plan.keep_superseded(row) or plan.free(row)
            elif row.kind is MESSAGE:
                has_changed |= plan.keep_away(row)


def _needing(rows: Mapping[str, PlanRow], target: Mapping[str, Row]) -> dict[str, list[str]]:
    """Return, by the id of each row that others need, the ids of the rows that point to it.

    The pointing rows are those of the target and of the past.
    """
    pointing_ids_by_owner: dict[str, dict[str, None]] = {}
    for row in (*target.values(), *(row.source for row in rows.values())):
        owner_id = needed(row)
        if row is not None and owner_id is not None:
            pointing_ids_by_owner.setdefault(owner_id, {})[str(row["id"])] = None
    return {owner: list(pointing_ids) for owner, pointing_ids in pointing_ids_by_owner.items()}


@dataclass(slots=True)
class _Plan:
    rows: dict[str, PlanRow]
    target: Mapping[str, Row]
    needing: Mapping[str, list[str]]

    def final(self, row_id: str) -> Row | None:
        """Return a row as it is after the revert; None if it is gone."""
        row = self.rows.get(row_id)
        return self.target.get(row_id) if row is None else row.result

    def keep_needed(self, row: PlanRow) -> bool:
        """Keep a row that others need, or free the facts it replaced; return whether rows changed.

        The facts are freed if a choice removes the row.
        """
        if row.kind not in {FACT, CONVERSATION}:
            return False
        needing_ids = [
            row_id
            for row_id in self.needing.get(row.id, ())
            if needed(self.final(row_id)) == row.id
        ]
        if not needing_ids:
            return False
        if row.kind is FACT and row.decided:
            for needing_id in needing_ids:
                freed_row = self.rows.get(needing_id) or _untouched(self.target[needing_id])
                self.rows[needing_id] = freed_row
                _free(freed_row, freed_row.result or {})
            return True
        row.result, row.belongs_to = row.target, needing_ids[0]
        row.held[WHOLE] = "belongs_to"
        row.decided.clear()
        return True

    def keep_superseded(self, row: PlanRow) -> bool:
        """Keep a fact superseded, against the plan, if its successor stays; return whether so."""
        successor = self.rows.get(needed(row.target) or "")
        successor_stays = (
            successor is not None and successor.source is None and successor.result is not None
        )
        is_decided = STATUS in row.decided or WHOLE in row.decided
        if not successor_stays or is_decided or needed(row.result) == needed(row.target):
            return False
        target_row = row.target or {}
        row.result = {
            **(row.result or {}),
            **{column: target_row[column] for column in FACT.group(STATUS)},
        }
        row.held[STATUS], row.belongs_to = "belongs_to", needed(row.target)
        keep_valid_time(row)
        return True

    def free(self, row: PlanRow) -> bool:
        """Make a fact active that a missing fact would supersede; return whether it was made so."""
        successor_id = needed(row.result)
        is_missing = successor_id is not None and self.final(successor_id) is None
        if not is_missing or successor_id == needed(row.target) or row.result is None:
            return False
        _free(row, row.result)
        return True

    def keep_away(self, row: PlanRow) -> bool:
        """Leave out a message that would return without its conversation; return whether it was."""
        owner_id = needed(row.result)
        if row.target is not None or owner_id is None or self.final(owner_id) is not None:
            return False
        row.result, row.belongs_to = None, owner_id
        row.held[WHOLE] = "belongs_to"
        row.decided.clear()
        return True


def _untouched(fact: Row) -> PlanRow:
    return PlanRow(FACT, str(fact["id"]), fact, fact, fact, fact)


def _free(row: PlanRow, fact: Row) -> None:
    """Set a row's result to the active fact, with a valid time from one side only."""
    row.result = _active(fact, row.target)
    if row.result["valid_until"] is not None:
        keep_valid_time(row)


def _active(fact: Row, target: Row | None) -> Row:
    """Return a fact as active; its end is the target's if nothing supersedes the fact there."""
    is_active_in_target = target is not None and needed(target) is None
    valid_until = target["valid_until"] if target is not None and is_active_in_target else None
    return {**fact, "status": "active", "superseded_by": None, "valid_until": valid_until}
