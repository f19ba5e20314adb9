"""Seed 001, "Branch Operations": diff and merge."""

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import JsonObject, Label, Read, Request, Response, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.branches.branch import MAIN
from day1.model.merge.held import HeldItem, columns_of
from day1.model.merge.plan import MergePlan, Strategy
from day1.model.merge.row_merge import Choice, PlanRow
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.change import Changes, Query, Ref, RowChange
from day1.model.rows.kind import (
    BY_TABLE,
    CONVERSATION,
    FACT,
    HELD,
    MEMORIES,
    OBSERVATION,
    RELATION,
    WHOLE,
    Cell,
    Kind,
    Row,
    kind_of,
    revision,
)
from day1.model.values.instant import show
from day1.services.branches.lookup import find, name_of
from day1.services.merges.comparing import compare
from day1.services.merges.merging import merge
from day1.services.merges.planning import MergeRequest
from day1.services.merges.protection import Merger, guard
from day1.services.repository.idempotency import BY_REQUEST
from day1.toolsets.day1.core.values import given_columns

_JSON_COLUMNS = frozenset({"properties", "scores", "tool_calls"})
_HIDDEN = frozenset({"content_hash", "origin_id", "origin_branch", "thinking"})


def shown(kind: Kind, row: Row) -> dict[str, Any]:
    """A row as tools show it, with its revision."""
    return {"type": kind.name, **shown_columns(row), "revision": revision(kind, row)}


def shown_columns(columns: Row) -> dict[str, Any]:
    """Columns as tools show them: times as ISO, JSON as JSON, no bookkeeping."""
    return {c: _shown(c, value) for c, value in columns.items() if c not in _HIDDEN}


def _shown(column: str, value: Cell) -> Any:
    if value is None:
        return None
    if column in {"created_at", "happened_at"}:
        return show(int(value))
    return json.loads(str(value)) if column in _JSON_COLUMNS else value


class BranchDiff(Request):
    """Seed 001 `memory_branch_diff`; checklist S1-035.

    Attributes:
        source_branch: The branch whose changes are shown.
        target_branch: The branch that they would be merged into.
        category: Only facts of this category, now or before; other rows are left out then.
    """

    source_branch: Label
    target_branch: Label
    category: Label | None = None


class Clash(Response):
    """S1-036: one cell that both sides changed; `source` and `target` are its values."""

    id: str
    type: str
    cell: str
    source: str
    target: str
    reason: str


class Diff(Response):
    """S1-036; what the source has since the branches last were one."""

    new_facts: list[dict[str, Any]]
    new_relations: list[dict[str, Any]]
    conflicts: list[Clash]
    new_observations: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    held: list[str]
    """Ids of the target's open held items."""
    read: Read


def branch_diff(ctx: Context, request: BranchDiff) -> Diff:
    """What merging source into target would bring, and what clashes. Changes nothing."""
    source = find(ctx.repo, request.source_branch).name
    target = find(ctx.repo, request.target_branch).name
    both = compare(ctx.repo, source, target, request.category)
    rows = both.changes
    ids = {c.id for table in rows.values() for c in table}
    return Diff(
        new_facts=_added(rows, FACT),
        new_relations=_added(rows, RELATION),
        new_observations=_added(rows, OBSERVATION),
        changed=[changed(BY_TABLE[t], c) for t, c in _every(rows) if c.how == "changed"],
        removed=[
            shown(BY_TABLE[t], c.before)
            for t, c in _every(rows)
            if c.before is not None and c.after is None
        ],
        conflicts=[c for c in clashes(both.plan) if request.category is None or c.id in ids],
        held=[item.id for item in both.held],
        read=Read(branch=source, commit=both.source_commit, pending=both.pending.count),
    )


def _every(changes: Changes) -> Iterable[tuple[str, RowChange]]:
    return ((table, change) for table, rows in changes.items() for change in rows)


def _added(changes: Changes, kind: Kind) -> list[dict[str, Any]]:
    rows = (c.after for c in changes.get(kind.table, ()) if c.before is None)
    return [shown(kind, row) for row in rows if row is not None]


def changed(kind: Kind, change: RowChange) -> dict[str, Any]:
    """A changed row: its id and the columns that differ, before and after."""
    before, after = change.before or {}, change.after or {}
    columns = [c for c in kind.group(WHOLE) if before[c] != after[c] and c not in _HIDDEN]
    return {
        "type": kind.name,
        "id": change.id,
        "before": shown_columns({c: before[c] for c in columns}),
        "after": shown_columns({c: after[c] for c in columns}),
    }


def clashes(plan: MergePlan) -> list[Clash]:
    """The cells of a plan that are held, with both values."""
    return [
        Clash(
            id=row.id,
            type=row.kind.name,
            cell=cell,
            source=_value(row.kind, row.source, cell),
            target=_value(row.kind, row.target, cell),
            reason=reason,
        )
        for row in plan.rows
        for cell, reason in row.held.items()
    ]


def _value(kind: Kind, row: Row | None, cell: str) -> str:
    if row is None:
        return ""
    column = kind.text if cell == WHOLE and kind.text else cell
    if column == WHOLE and kind is CONVERSATION:
        return str(row["title"] or row["id"])
    if column == WHOLE:
        return f"{row.get('source_entity')} {row.get('relation_type')} {row.get('target_entity')}"
    value = row[column] if column in _JSON_COLUMNS else _shown(column, row[column])
    return "" if value is None else str(value)


class ChoiceGiven(Request):
    """A decision for one cell of a row, or with cell `*` for all of it.

    Attributes:
        id: The id of the row: a fact, observation, relation, conversation or message.
        take: `ours` keeps the target's side, `theirs` takes the source's, `value` sets what
            `value` gives, `delete` removes the row, `skip` holds it.
        cell: The cell to decide, as conflicts name it; `*` is the whole row.
        value: The columns to set, by name; only with take=value.
    """

    id: Label
    take: Literal["ours", "theirs", "value", "delete", "skip"]
    cell: Label | None = WHOLE
    value: JsonObject | None = None

    def choice(self) -> Choice:
        """The decision as the plan takes it.

        Raises:
            InvalidRequest: the id is not of a row, the cell not of its kind, or the value unsound.
        """
        kind, cell = kind_of(self.id), self.cell or WHOLE
        if kind not in MEMORIES:
            raise InvalidRequest(f"choices: {self.id!r} is not the id of a memory.", id=self.id)
        cells = [WHOLE, *(group[0] for group in kind.groups)]
        if cell not in cells:
            raise InvalidRequest(
                f"choices: a {kind.name} has no cell {cell!r}; it has: {', '.join(cells)}.",
                id=self.id,
                cell=cell,
            )
        if (self.take == "value") != (self.value is not None):
            raise InvalidRequest("choices: `value` goes with take=value, and only there.")
        value = None if self.value is None else given_columns(kind, cell, self.value)
        return Choice(self.id, self.take, cell, value)


Choices = Annotated[
    list[ChoiceGiven] | None,
    Field(description="decide conflicts; ours = target's side"),
]


class BranchMerge(WriteRequest):
    """Seed 001 `memory_branch_merge`; checklist S1-037.

    Attributes:
        source_branch: The branch to merge.
        target_branch: The branch that it is merged into.
        strategy: `auto` takes all that does not clash and holds the rest, `cherry_pick` takes the
            rows in `items`, `squash` makes one commit and closes the source.
        items: The ids of the rows to take; only with strategy=cherry_pick.
        choices: Decisions about rows or cells, for conflicts and for whatever else should not
            merge as planned. Conflicts without one are held.
        expect: The `digest` of memory_merge_preview: a plan that is different by now is refused
            (plan_changed).
    """

    source_branch: Label
    target_branch: Label | None = MAIN
    strategy: Strategy
    items: Annotated[list[Label] | None, Field(description="cherry_pick: ids to take")] = None
    choices: Choices = None
    expect: Annotated[Label | None, Field(description="digest of the previewed plan")] = None


class BranchMerged(Response):
    """S1-038, S1-040."""

    merged_count: int
    rejected_count: int
    merge_id: str
    conflicts: list[Clash]
    left: list[str]
    written: Written


def branch_merge(ctx: Context, request: BranchMerge) -> BranchMerged:
    """Merge source into target.

    auto takes all that does not clash and holds the rest; cherry_pick takes `items`; squash
    makes one commit and closes the source.
    """
    asked = merge_request(
        find(ctx.repo, request.source_branch).name,
        find(ctx.repo, request.target_branch or MAIN).name,
        request.strategy,
        request.choices,
        request.items,
        request.expect,
    )
    may = guard(ctx.repo, Merger(ctx.caller.access.token_id))
    if asked.writes:
        ctx.note_token(find(ctx.repo, asked.target))
    done = merge(ctx.repeatable(request), asked, ctx.origin(request), ctx.clock(), may)
    record = done.record
    notes = [] if record.commit else ["Nothing new to merge."]
    notes += [BY_REQUEST] if done.repeated else []
    return BranchMerged(
        merged_count=record.merged_count,
        rejected_count=record.rejected_count,
        merge_id=record.id,
        conflicts=held_by(ctx, record) if done.repeated else clashes(done.plan),
        left=list(done.left),
        written=Written(
            branch=asked.target,
            commit=record.commit or ctx.repo.history.branches()[asked.target],
            notes=notes,
        ),
    )


def held_by(ctx: Context, record: MergeRecord) -> list[Clash]:
    """What a merge held, as its target has it."""
    target = Ref(branch=name_of(ctx.repo, record.target_id))
    with ctx.repo.store.reading(target) as reading:
        rows = reading.find(HELD, Query(equal={"merge_id": record.id, "closes": None}))
    return [
        Clash(
            id=item.row_id,
            type=item.kind.name,
            cell=item.cell,
            source=_value(item.kind, columns_of(item.theirs), item.cell),
            target=_value(item.kind, columns_of(item.ours), item.cell),
            reason=item.reason,
        )
        for item in map(HeldItem.of, rows)
    ]


def merge_request(
    source: str,
    target: str,
    strategy: Strategy,
    choices: list[ChoiceGiven] | None,
    items: list[str] | None,
    expect: str | None = None,
) -> MergeRequest:
    """What was asked, as the merging service takes it."""
    return MergeRequest(
        source,
        target,
        strategy,
        tuple(given.choice() for given in choices or ()),
        None if items is None else tuple(items),
        expect,
    )


def summary(row: PlanRow) -> dict[str, Any]:
    """One row of a plan in short."""
    text = _value(row.kind, row.source or row.target, WHOLE)
    return {
        "id": row.id,
        "type": row.kind.name,
        "effect": row.effect,
        "text": text,
        "held": dict(row.held),
        "belongs_to": row.belongs_to,
        "decided": dict(row.decided),
    }


DIFF = Operation("memory_branch_diff", BranchDiff, Diff, branch_diff, Effect.READ)
MERGE = Operation(
    "memory_branch_merge", BranchMerge, BranchMerged, branch_merge, Effect.WRITE, scope="merge"
)
