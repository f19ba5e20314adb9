"""Plans of merges: a pure rule over base, source and target, the same for every engine.

A merge decides cell by cell (a cell is a group of columns). A cell that only one side changed is
taken from that side. A cell that both sides changed differently keeps the target's value and is
*held*. A cell with an open held item is written only if a choice decides it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from day1.model.merge.held import HeldItem, Resolution, keeps_out, same_value
from day1.model.merge.revert import keep_whole
from day1.model.merge.row_merge import (
    Choice,
    Held,
    PlanRow,
    Take,
    keep_valid_time,
    merge_row,
    source_changed,
    successor_of,
    taken_along,
    without_successor,
)
from day1.model.rows.change import Changes, Writes
from day1.model.rows.kind import (
    BY_TABLE,
    CONVERSATION,
    FACT,
    HELD,
    MEMORIES,
    MESSAGE,
    RECORDS,
    WHOLE,
    Kind,
    Row,
    canonical,
    kind_of,
    revision,
)
from day1.model.values.ids import short_hash

Strategy = Literal["auto", "cherry_pick", "squash"]
Planned = Strategy | Literal["revert"]
"""Strategies of plans. A revert's source is the past, so it must keep more rows together."""
_STATUS = "status"
_DECISIONS: Mapping[Take, Resolution] = {
    "ours": "dismissed",
    "theirs": "taken",
    "value": "edited",
    "delete": "edited",
}


@dataclass(frozen=True, slots=True)
class Sides:
    """The rows of source and target that a plan is made from."""

    changes: Changes
    """Changes from the base to the source."""
    source: Mapping[str, Row]
    """Source rows, by id, that have held items or supersede rows of the plan; changed rows may be
    left out."""
    target: Mapping[str, Row]
    """Rows of the target, by id, for every id in `changes` and in held items."""
    source_held: Sequence[HeldItem]
    target_held: Sequence[HeldItem]
    source_branch: str
    """Id of the source branch."""
    source_kept_out: Collection[str] = ()
    """Rows that merges kept out of the source (`model.merge.held.kept_out`)."""
    target_kept_out: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Rows that merges kept out of the target, each with the values dismissed there."""
    target_removed: frozenset[str] = frozenset()
    """Rows whose removal an open item of the source offers, and which the target removed itself."""
    veils: Mapping[str, Row] = field(default_factory=dict)
    """Placeholders by row id and column, for words that derived rows have from hidden ones."""


@dataclass(frozen=True)
class MergePlan:
    """Everything that a merge would do."""

    strategy: Planned
    rows: tuple[PlanRow, ...]
    records: Writes
    """New rows of the tables of edits and held items, which come along unmerged."""
    holds: tuple[tuple[PlanRow, str], ...]
    """Cells that this merge newly holds, as (row, cell)."""
    closes: tuple[tuple[HeldItem, Resolution], ...]
    moves_base: bool
    """Whether the source has changes since the merge base, even if the target has them all."""
    declines: tuple[PlanRow, ...] = ()
    """New rows that a choice keeps out; the target remembers that it declined them."""
    choices: tuple[Choice, ...] = ()
    open_items: tuple[HeldItem, ...] = ()
    """The held items that were open on either side."""

    @cached_property
    def digest(self) -> str:
        """A hash of what the plan does, without commit ids, times and counts."""

        def name(kind: Kind, row: Row | None) -> str | None:
            return None if row is None else revision(kind, row)

        planned_ids = {row.id for row in self.rows}
        content = {
            "strategy": self.strategy,
            "choices": sorted(
                canonical([c.row_id, c.cell, c.take, dict(c.value) if c.value else None])
                for c in self.choices
            ),
            "rows": [
                [
                    r.id,
                    *(name(r.kind, side) for side in (r.base, r.source, r.target, r.result)),
                    sorted(r.held),
                ]
                for r in self.rows
            ],
            "open": sorted({item.id for item in self.open_items if item.row_id in planned_ids}),
        }
        return short_hash(canonical(content))

    @property
    def rejected_count(self) -> int:
        """The number of rows that the merge holds, as a whole or in a cell."""
        return sum(1 for row in self.rows if row.held)

    @property
    def merged_count(self) -> int:
        """The number of the plan's rows that the merge does not hold."""
        return len(self.rows) - self.rejected_count

    @property
    def counts(self) -> dict[str, int]:
        """The counts of merged rows (`merged_count`) and of held rows (`rejected_count`)."""
        return {"merged_count": self.merged_count, "rejected_count": self.rejected_count}

    @property
    def writes(self) -> Writes:
        """The rows to write to the target, by table and id; None removes a row."""
        writes: Writes = {table: dict(rows) for table, rows in self.records.items() if rows}
        for row in self.rows:
            if row.effect != "kept":
                writes.setdefault(row.kind.table, {})[row.id] = row.result
        return writes


def plan_merge(
    sides: Sides, strategy: Planned, choices: Sequence[Choice], items: Sequence[str] | None = None
) -> MergePlan:
    """Plan a merge; `items` restricts it to a pick of these rows and of their successors."""
    held_by_row = _held(sides)
    picked_ids = None if items is None else set(items)
    row_by_id = {row.id: row for row in three_ways(sides, picked_ids)}
    choices_by_row: dict[str, dict[str, Choice]] = {}
    for choice in choices:
        choices_by_row.setdefault(choice.row_id, {})[choice.cell] = choice
    if strategy != "revert":
        _take_successors(choices_by_row, sides, row_by_id)
    for row in row_by_id.values():
        merge_row(row, held_by_row(row.id), choices_by_row.get(row.id, {}))
    _hold_together(row_by_id, sides, reverts=strategy == "revert")
    if strategy == "revert":
        keep_whole(row_by_id, sides.target)
    moves_base = any(sides.changes.values())
    planned_rows = sorted(
        (r for r in row_by_id.values() if r.effect != "kept" or r.held or r.decided),
        key=lambda r: (r.kind.table, r.id),
    )
    if picked_ids is None and not moves_base and not any(r.decided for r in planned_rows):
        planned_rows = []  # Nothing is new or decided: held items stay open without a plan.
    records = _records(sides, picked_ids)
    return MergePlan(
        strategy=strategy,
        rows=tuple(planned_rows),
        records=records,
        holds=tuple(_new_holds(planned_rows, sides, records)),
        declines=tuple(_new_declines(planned_rows, sides)),
        closes=tuple(_closings(planned_rows, sides)),
        moves_base=moves_base,
        choices=tuple(choices),
        open_items=(*sides.source_held, *sides.target_held),
    )


def follow_supersession(items: Iterable[str], source: Mapping[str, Row]) -> list[str]:
    """List the picked ids, followed by the facts that supersede them."""
    row_ids: dict[str, None] = {}
    unvisited_ids = list(items)
    while unvisited_ids:
        row_id = unvisited_ids.pop(0)
        if row_id in row_ids:
            continue
        row_ids[row_id] = None
        successor = successor_of(source.get(row_id))
        if successor is not None:
            unvisited_ids.append(successor)
    return list(row_ids)


def _held(sides: Sides) -> Callable[[str], Held]:
    """Make a function that finds, by row id, the held cells and the sides that lack the row."""
    cells_by_row: dict[str, frozenset[str]] = {}
    for item in (*sides.source_held, *sides.target_held):
        if not keeps_out(item):
            cells_by_row[item.row_id] = cells_by_row.get(item.row_id, frozenset()) | {item.cell}
    removed_ids = {i.row_id for i in sides.target_held if i.cell == WHOLE and not keeps_out(i)}
    return lambda row_id: Held(
        cells_by_row.get(row_id, frozenset()),
        row_id in sides.source_kept_out,
        sides.target_kept_out.get(row_id),
        row_id in removed_ids or row_id in sides.target_removed,
    )


def _take_successors(
    chosen: dict[str, dict[str, Choice]], sides: Sides, rows: dict[str, PlanRow]
) -> None:
    """Add to `chosen` the new fact where a choice takes its supersession (`taken_along`).

    Args:
        chosen: choices by row and cell.
        sides: the input of the plan.
        rows: the rows of the plan; a fact that is taken along is added.
    """
    after_by_id = {c.id: c.after for c in sides.changes.get(FACT.table, ())}
    source_by_id = {i: row for i, row in {**sides.source, **after_by_id}.items() if row is not None}
    ids_to_follow = [row_id for row_id in chosen if row_id in rows]
    for row_id in ids_to_follow:
        choice = chosen[row_id].get(_STATUS) or chosen[row_id].get(WHOLE)
        if choice is None or choice.take != "theirs":
            continue
        row = rows[row_id]
        successor = taken_along(row.source, row.target, source_by_id, sides.target)
        if successor is not None and successor not in chosen:
            new_row = source_by_id[successor]
            rows.setdefault(successor, PlanRow(FACT, successor, new_row, new_row, None, None))
            chosen[successor] = {WHOLE: Choice(successor, "theirs")}
            ids_to_follow.append(successor)


def three_ways(sides: Sides, picked: set[str] | None = None) -> Iterable[PlanRow]:
    """Yield every row that a plan must consider, with its three sides and nothing decided."""
    changed_ids: set[str] = set()
    for kind in MEMORIES:
        for change in sides.changes.get(kind.table, ()):
            if picked is None or change.id in picked:
                changed_ids.add(change.id)
                target = sides.target.get(change.id)
                versions = change.before, change.after, target
                yield PlanRow(kind, change.id, *versions, target, veil=sides.veils.get(change.id))
    kind_by_row = {
        i.row_id: i.kind for i in sides.target_held if i.source_branch == sides.source_branch
    }
    if picked is not None:
        kind_by_row = {
            i: picked_kind for i in sorted(picked) if (picked_kind := kind_of(i)) is not None
        }
    for row_id, kind in kind_by_row.items():
        if row_id not in changed_ids:
            source, target = sides.source.get(row_id), sides.target.get(row_id)
            # A picked row comes back even if the target removed it.
            base = None if picked is not None and target is None else source
            veil = sides.veils.get(row_id)
            yield PlanRow(kind, row_id, base, source, target, target, veil=veil)


def _hold_together(rows: Mapping[str, PlanRow], sides: Sides, *, reverts: bool) -> None:
    """Hold rows of a plan, in place, that must stay together, until nothing changes.

    A held supersession holds the new fact, and a held new fact its supersession; a held new
    conversation holds its messages.
    """
    has_changed = True
    while has_changed:
        has_changed = False
        for row in rows.values():
            if row.kind is FACT:
                has_changed |= _hold_supersession(row, rows, sides, reverts=reverts)
            elif row.kind is MESSAGE and row.source is not None and row.target is None:
                owner = rows.get(str(row.source["conversation_id"]))
                if owner and owner.kind is CONVERSATION and WHOLE in owner.held:
                    has_changed |= _withhold(row, owner.id)


def _hold_supersession(
    row: PlanRow, rows: Mapping[str, PlanRow], sides: Sides, *, reverts: bool
) -> bool:
    """Hold a new fact with its supersession, or the reverse; return whether a row changed.

    If the source lacks the new fact too, the old fact stays superseded without naming a successor.
    A revert has a rule of its own for that (`keep_whole`).
    """
    superseded_by = row.source and row.source["superseded_by"]
    if superseded_by is None or successor_of(row.target) == superseded_by:
        return False
    successor_id = str(superseded_by)
    successor = rows.get(successor_id)
    is_new = successor is not None and successor.target is None
    if reverts and not is_new:
        return False
    is_held = _STATUS in row.held or WHOLE in row.held
    if successor is not None and is_new and is_held and successor.result is not None:
        return _withhold(successor, row.id)
    successor_row = sides.target.get(successor_id) if successor is None else successor.result
    if row.result is None or successor_of(row.result) != successor_id or successor_row is not None:
        return False
    offered_row = sides.source.get(successor_id) if successor is None else successor.source
    was_held_back = (reverts or offered_row is not None) and _hold_back(row, successor_id)
    if not was_held_back and not reverts:
        row.result = without_successor(row.result)
        return True
    return was_held_back


def _hold_back(row: PlanRow, successor: str) -> bool:
    """Hold the supersession in a row: it stays as in the target; return whether the row changed."""
    if row.target is None:
        return _withhold(row, successor)
    row.result = {**(row.result or {}), **{c: row.target[c] for c in FACT.group(_STATUS)}}
    row.held[_STATUS] = "belongs_to"
    row.decided.pop(_STATUS, None)
    keep_valid_time(row)
    return True


def _withhold(row: PlanRow, owner: str) -> bool:
    """Keep an undecided new row out because the row it belongs to is held; return whether so."""
    if row.decided or WHOLE in row.held:
        return False
    row.result, row.belongs_to = row.target, owner
    row.held[WHOLE] = "belongs_to"
    return True


def _records(sides: Sides, picked: set[str] | None) -> Writes:
    """Collect edits and held items that the target lacks; with a pick, only edits of its rows."""
    writes: Writes = {}
    for kind in RECORDS:
        if picked is not None and kind is not BY_TABLE["edits"]:
            continue
        for change in sides.changes.get(kind.table, ()):
            row = change.after
            if row is None or change.id in sides.target:
                continue
            if picked is None or row["row_id"] in picked:
                writes.setdefault(kind.table, {})[change.id] = row
    return writes


def _new_holds(
    rows: Iterable[PlanRow], sides: Sides, records: Writes
) -> Iterable[tuple[PlanRow, str]]:
    """Yield held cells whose source value no open item of the target offers yet.

    Items that come along with the merge count as the target's. Two sorts do not count: items of
    other branches, which offer those branches' present values, and items that keep out a row which
    the target has.
    """
    new_items = records.get(HELD.table, {})
    offering_items = (*sides.target_held, *(i for i in sides.source_held if i.id in new_items))
    items_by_cell: dict[tuple[str, str], list[HeldItem]] = {}
    for item in offering_items:
        if item.source_branch == sides.source_branch:
            items_by_cell.setdefault((item.row_id, item.cell), []).append(item)
    for row in rows:
        for cell in (cell for cell in row.held if source_changed(row, cell)):
            cell_items = (
                *items_by_cell.get((row.id, cell), ()),
                *items_by_cell.get((row.id, WHOLE), ()),
            )
            valid_items = [i for i in cell_items if row.target is None or not keeps_out(i)]
            if not any(same_value(i.kind, row.source, i.cell, i.theirs) for i in valid_items):
                yield row, cell


def _new_declines(rows: Iterable[PlanRow], sides: Sides) -> Iterable[PlanRow]:
    """Yield new rows that a choice keeps out of the target and that have no open item."""
    held_row_ids = {i.row_id for i in (*sides.source_held, *sides.target_held) if i.cell == WHOLE}
    for row in rows:
        is_new = row.base is None and row.source is not None and row.target is None
        if is_new and row.decided.get(WHOLE) == "ours" and row.id not in held_row_ids:
            yield row


def _closings(rows: Iterable[PlanRow], sides: Sides) -> Iterable[tuple[HeldItem, Resolution]]:
    """Yield the open items whose cells a choice decided, with the decision."""
    item_by_id = {i.id: i for i in (*sides.target_held, *sides.source_held)}
    row_by_id = {row.id: row for row in rows if row.decided}
    for item in item_by_id.values():
        row = row_by_id.get(item.row_id)
        if row is None:
            continue
        take = row.decided.get(item.cell) or row.decided.get(WHOLE)
        if take is not None and take in _DECISIONS:
            yield item, _DECISIONS[take]
