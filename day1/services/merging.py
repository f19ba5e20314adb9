"""Merging: gather the two sides, plan, and do exactly the plan under the target's lock."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from day1.errors import InvalidRequest, Json, NotFound, PlanChanged, Refused, WouldHold
from day1.model.branch import Branch
from day1.model.change import Changes, CommitId, Message, Pending, Query, Ref
from day1.model.deed import MergeRecord
from day1.model.held import (
    HeldItem,
    closing_row,
    closings,
    held_id,
    keeps_out,
    kept_out,
    open_items,
    value_json,
)
from day1.model.kind import BY_TABLE, FACT, HELD, WHOLE, Kind, Row, complete, kind_of
from day1.model.merge import (
    MergePlan,
    Sides,
    Strategy,
    follow_supersession,
    plan_merge,
)
from day1.model.origin import Origin
from day1.model.row_merge import OWN, Choice, Take
from day1.ports.store import Reading, Work
from day1.services.branching import find, refuse_closed, refuse_protected
from day1.services.deeds import Repository, deed, record_merge
from day1.services.recording import decided_edits
from day1.services.repeating import made_by


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """What is asked of a merge."""

    source: str
    target: str
    strategy: Strategy
    choices: tuple[Choice, ...] = ()
    items: tuple[str, ...] | None = None
    expect: str | None = None
    """The digest of the previewed plan; another plan is refused."""
    review_id: str | None = None
    """The review that this merge concludes."""

    @property
    def writes(self) -> bool:
        """Whether who decides it also writes."""
        return any(choice.take in OWN for choice in self.choices)


Guard = Callable[[Branch, Branch, MergePlan], None]
"""Lets a plan of source and target pass, or raises; asked under the target's lock."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan and what it was made from."""

    plan: MergePlan
    base: CommitId
    source_commit: CommitId
    target_commit: CommitId
    pending: Pending
    """Rows of the source that no commit holds yet; they are in the plan."""
    sides: Sides
    """What it was planned from, for plans with other choices."""
    held: tuple[HeldItem, ...]
    """Every open item of the target."""
    target_changes: Changes
    """What the target changed since the base, where that was asked for."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was done, or had nothing to do (`record.commit` is None)."""

    record: MergeRecord
    plan: MergePlan
    at: int
    left: tuple[str, ...] = ()
    """Facts that a picked fact supersedes and that stay active on the target."""
    repeated: bool = False
    """The same request did it before; what the plan was is not known any more."""


def preview(repo: Repository, request: MergeRequest, *, both: bool = False) -> Preview:
    """Plan a merge without a lock and without writing; waiting rows count.

    Each side is read as one state; with `both` also what the target changed.

    Raises:
        UnknownBranch: one of the branches is not there.
        Refused: source and target are one branch.
        NotFound: a picked id is not on the source, or one of `choices` on neither branch.
        BranchClosed: the source was squashed, or is kept.
    """
    refuse_closed(find(repo, request.source))
    return look(repo, request, both=both)


def look(repo: Repository, request: MergeRequest, *, both: bool = False) -> Preview:
    """`preview`, of a closed source too: it cannot be merged, but be compared."""
    source_id = _check(repo, request).id
    with (
        repo.store.reading(Ref(branch=request.target)) as target,
        repo.store.reading(Ref(branch=request.source)) as source,
    ):
        base = repo.history.merge_base(target.tip, source.tip)
        plan, sides = _plan(repo, request, source_id, base, (source, target))
        return Preview(
            plan,
            base,
            source.tip,
            target.tip,
            source.pending,
            sides,
            tuple(open_items(target.find(HELD, Query()))),
            target.changes(base) if both and sides.changes.get(FACT.table) else {},
        )


def _unprotected(_source: Branch, target: Branch, _plan: MergePlan) -> None:
    refuse_protected(target)


def merge(
    repo: Repository,
    request: MergeRequest,
    origin: Origin,
    now: int,
    guard: Guard = _unprotected,
) -> Merged:
    """Merge, pick or squash; the plan is made anew under the target's lock.

    Raises:
        PlanChanged: `expect` is given and the plan is another one.
        WouldHold: a squash would leave rows undecided.
        BranchClosed: one of the branches was squashed.
        BranchProtected: the target is, and `guard` does not let the plan pass.
        RequestReused: the request merged something else.
        as `preview`.
    """
    merge_id = repo.new_id("merge", now)
    first = _merged_before(repo, request, merge_id)
    if first is not None:
        return first
    source = refuse_closed(_check(repo, request))
    target = refuse_closed(find(repo, request.target))
    if request.strategy == "squash" and source.protection:
        raise Refused(f"A squash closes its source, and {source.name!r} is protected: use auto.")
    commit = repo.store.cut(source.name)
    payload: dict[str, Json] = {
        "id": merge_id,
        "source_id": source.id,
        "target_id": target.id,
        "source_commit": commit,
        "strategy": request.strategy,
        "choices": _choices_json(request.choices),
        "decided_by": origin.agent_id,
        "created_at": now,
        "review_id": request.review_id,
    }
    with deed(repo, "merge", {**payload, "target": target.name}, now):
        # Whatever this request has done, a killed process too, is in the ledger by now.
        first = _merged_before(repo, request, merge_id)
        if first is not None:
            return first
        repo.point("merge.after_intent")
        with repo.store.changing(target.name) as work:
            base = repo.history.merge_base(work.tip, commit)
            with repo.store.reading(Ref(commit=commit)) as merged:
                plan, _ = _plan(repo, request, source.id, base, (merged, work))
            _check_plan(request, plan)
            guard(source, find(repo, target.name), plan)
            what = _Deed(repo, request, source.id, commit, merge_id, origin, base)
            done = _do(work, plan, what)
            at = work.now
        repo.point("merge.after_deed")
        counts = {"merged_count": plan.merged_count, "rejected_count": plan.rejected_count}
        record = MergeRecord(**{**payload, **counts, "base": base, "commit": done})  # type: ignore[arg-type]  # built above
        record_merge(repo, record)
        repo.point("merge.after_ledger")
    return Merged(record, plan, at, _left(plan))


def _merged_before(repo: Repository, request: MergeRequest, merge_id: str) -> Merged | None:
    ends = {
        "source_id": find(repo, request.source).id,
        "target_id": find(repo, request.target).id,
    }
    asked = {"strategy": request.strategy, "choices": _choices_json(request.choices)}
    first = made_by(repo.ledger, MergeRecord, merge_id, **ends, **asked)
    if first is None:
        return None
    nothing = MergePlan(request.strategy, (), {}, (), (), digest="", moves_base=False)
    return Merged(first, nothing, first.created_at, repeated=True)


def _check(repo: Repository, request: MergeRequest) -> Branch:
    if request.source == request.target:
        raise Refused("A branch cannot be merged into itself.", branch=request.source)
    if request.strategy == "cherry_pick" and not request.items:
        raise Refused("cherry_pick needs `items`: the ids to take from the source.")
    if request.strategy != "cherry_pick" and request.items:
        raise Refused("`items` goes with the strategy cherry_pick only.")
    find(repo, request.target)
    return find(repo, request.source)


def _plan(
    repo: Repository,
    request: MergeRequest,
    source_id: str,
    base: CommitId,
    both: tuple[Reading, Reading],
) -> tuple[MergePlan, Sides]:
    source, target = both
    changes, target_items = source.changes(base), target.find(HELD, Query())
    source_items = source.find(HELD, Query())
    # A decision that comes along with the merge counts; a pick brings none.
    rows = [c.after for c in changes.get(HELD.table, ()) if c.after is not None]
    target_held = open_items(target_items, closings(() if request.items else rows))
    source_held = open_items(source_items, closings(target_items))
    items = None if request.items is None else _items(source, request.items, changes)
    named = {i.row_id for i in (*target_held, *source_held)} | set(items or ())
    named |= {choice.row_id for choice in request.choices}
    source_rows = rows_by_id(source, named)
    changed = {c.id for table in changes.values() for c in table}
    ids = changed | named
    ids |= {
        str(row["superseded_by"])
        for row in (*source_rows.values(), *(c.after for c in changes.get(FACT.table, ())))
        if row is not None and row.get("superseded_by") is not None
    }
    target_rows = rows_by_id(target, ids)
    _check_choices(request.choices, changed | source_rows.keys() | target_rows.keys())
    for choice in request.choices:
        on_both = choice.row_id in source_rows and choice.row_id in target_rows
        check_cell(choice.row_id, choice.cell, choice.take, both=on_both)
    waiting = [item.row_id for item in target_held if keeps_out(item)]
    sides = Sides(
        changes,
        source_rows,
        target_rows,
        source_held,
        target_held,
        source_id,
        kept_out(source_items),
        # Who picks a row wants it; what is open on it stays so.
        dict.fromkeys(waiting, frozenset[str]()) if items else kept_out(target_items, rows),
        _removed(repo, target, target_rows, source_held),
    )
    choices = [completed(choice) for choice in request.choices]
    return plan_merge(sides, request.strategy, choices, items), sides


def _removed(
    repo: Repository, target: Reading, rows: Mapping[str, Row], items: Iterable[HeldItem]
) -> frozenset[str]:
    """Rows that the target lacks because they were removed in its past, as open items offer."""
    removals = [
        item
        for item in items
        if item.cell == WHOLE and item.theirs is None and item.row_id not in rows
    ]
    if not removals:
        return frozenset()
    past = {commit.id for commit in repo.history.graph([target.tip])}
    return frozenset(item.row_id for item in removals if item.source_commit in past)


def _check_choices(choices: Sequence[Choice], known: Collection[str]) -> None:
    """A decision that a mistyped id would lose is refused."""
    unknown = [choice.row_id for choice in choices if choice.row_id not in known]
    if unknown:
        raise NotFound(
            f"`choices` names rows of neither branch: {', '.join(unknown[:10])}.", ids=unknown
        )


def check_cell(row_id: str, cell: str, take: Take, *, both: bool) -> None:
    """Let a decision about a cell pass if `both` sides have the row: else it would be lost.

    Raises:
        InvalidRequest: the row can be decided whole only.
    """
    if cell != WHOLE and (not both or take == "delete"):
        why = "a cell cannot be deleted" if both else "only one side has the row"
        raise InvalidRequest(f"{row_id}: {why}, so decide it whole, with cell `*`.", id=row_id)


def completed(choice: Choice) -> Choice:
    """A choice whose value has the hash of its text."""
    if choice.value is None:
        return choice
    return replace(choice, value=complete(kind_of(choice.row_id), dict(choice.value)))


def _items(source: Reading, items: Sequence[str], changes: Changes) -> list[str]:
    """The picked ids with what supersedes them.

    Raises:
        NotFound: some are not on the source, nor removed there since the merge base.
    """
    found: dict[str, Row] = {}
    queue = list(items)
    while queue:
        rows = rows_by_id(source, queue)
        found |= rows
        successors = {str(r["superseded_by"]) for r in rows.values() if r.get("superseded_by")}
        queue = [i for i in successors if i not in found]
    removed = {c.id for table in changes.values() for c in table if c.after is None}
    unknown = [i for i in items if i not in found and i not in removed]
    if unknown:
        raise NotFound(f"Not on the source branch: {', '.join(unknown[:10])}.", ids=list(unknown))
    return follow_supersession(items, found)


def rows_by_id(reading: Reading, ids: Iterable[str]) -> dict[str, Row]:
    """Rows of any kind by id."""
    by_kind: dict[str, list[str]] = {}
    for row_id in ids:
        kind = kind_of(row_id)
        if kind is not None:
            by_kind.setdefault(kind.table, []).append(row_id)
    found: dict[str, Row] = {}
    for table, some in by_kind.items():
        found |= reading.get(BY_TABLE[table], some)
    return found


def check_digest(expect: str | None, plan: MergePlan) -> None:
    """Let the plan pass that was previewed, and no other.

    Raises:
        PlanChanged: it is another one.
    """
    if expect is not None and expect != plan.digest:
        raise PlanChanged(
            "The plan is not the previewed one any more: look at a new preview and decide again.",
            expected=expect,
            digest=plan.digest,
            rows=[row.id for row in plan.rows][:50],
        )


def _check_plan(request: MergeRequest, plan: MergePlan) -> None:
    check_digest(request.expect, plan)
    if request.strategy == "squash" and plan.rejected_count:
        raise WouldHold(
            "A squash leaves nothing undecided: settle each of these rows with `choices`.",
            rows=[{"id": row.id, "cells": list(row.held)} for row in plan.rows if row.held],
        )


@dataclass(frozen=True, slots=True)
class _Deed:
    """Who merges what, for the rows and the message that a merge writes."""

    repo: Repository
    request: MergeRequest
    source_id: str
    source_commit: CommitId
    merge_id: str
    origin: Origin
    base: CommitId


def _do(work: Work, plan: MergePlan, what: _Deed) -> CommitId | None:
    """Bring the plan about; None where there is nothing to do."""
    decided = any(row.decided for row in plan.rows)
    new = plan.moves_base if plan.strategy == "auto" else plan.writes or plan.holds
    if not new and not decided:
        return None
    work.not_before(next(iter(what.repo.history.log(what.source_commit))).ts)
    writes = plan.writes
    edits = decided_edits(plan, what.origin, work.now, what.repo.new_id)
    for kind, row in (*_held_rows(work, plan, what), *edits):
        writes.setdefault(kind.table, {})[str(row["id"])] = row
    if plan.strategy == "auto":
        work.merge(what.source_commit, writes)
    else:
        work.apply(writes)
    request = what.request
    op = {"auto": "merge", "cherry_pick": "pick", "squash": "squash"}[plan.strategy]
    line = f"{op} {request.source} into {request.target}: {plan.merged_count} merged"
    if plan.rejected_count:
        line += f", {plan.rejected_count} held"
    meta: dict[str, Json] = {
        "source": request.source,
        "source_id": what.source_id,
        "source_commit": what.source_commit,
        "base": what.base,
        "strategy": plan.strategy,
        "merged_count": plan.merged_count,
        "rejected_count": plan.rejected_count,
    }
    return work.commit(Message(op, line, what.merge_id, meta))


def _held_rows(work: Work, plan: MergePlan, what: _Deed) -> Iterable[tuple[Kind, Row]]:
    origin = what.origin.columns(work.now)
    declines = [(row, WHOLE) for row in plan.declines]
    new = [*plan.holds, *declines]
    taken = work.get(HELD, [held_id(row.id, c, what.source_commit) for row, c in new])
    closes = list(plan.closes)
    for row, cell in new:
        item = held_id(row.id, cell, what.source_commit)
        if item in taken:
            item = held_id(row.id, cell, what.merge_id)
        held: Row = {
            "id": item,
            "row_id": row.id,
            "row_kind": row.kind.table,
            "cell": cell,
            "ours": value_json(row.kind, row.target, cell),
            "theirs": value_json(row.kind, row.source, cell),
            "source_branch": what.source_id,
            "source_commit": what.source_commit,
            "merge_id": what.merge_id,
            "reason": row.held.get(cell, "skipped"),
            "closes": None,
            "decision": None,
            **origin,
        }
        yield HELD, held
        if (row, cell) in declines:
            closes.append((HeldItem.of(held), "dismissed"))
    for item_, decision in closes:
        yield HELD, closing_row(item_, decision, what.repo.new_id(HELD.prefix, work.now), origin)


def _left(plan: MergePlan) -> tuple[str, ...]:
    """Facts which picked facts supersede on the source and which this pick left as they were."""
    if plan.strategy != "cherry_pick":
        return ()
    return tuple(row.id for row in plan.rows if row.kind is FACT and WHOLE in row.held)


def _choices_json(choices: Sequence[Choice]) -> list[Json]:
    return [
        {
            "id": c.row_id,
            "cell": c.cell,
            "take": c.take,
            "value": dict(c.value) if c.value else None,
        }
        for c in choices
    ]
