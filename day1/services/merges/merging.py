"""Carrying out a merge: plan it again under the target's lock, check the plan, apply it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from day1.errors import Json, Refused, WouldHold
from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem, closing_row, held_id, value_json
from day1.model.merge.plan import MergePlan, Sides
from day1.model.merge.row_merge import successor_of
from day1.model.records.intent import IntentKind
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.rows.change import CommitId, Message, Ref
from day1.model.rows.kind import FACT, HELD, WHOLE, Kind, Row
from day1.model.rows.origin import Origin
from day1.ports.store import Work
from day1.services.branches.lookup import find_again, refuse_closed, refuse_protected
from day1.services.merges.planning import MergeRequest, check, check_digest, plan_of
from day1.services.repository.idempotency import made_by
from day1.services.repository.repository import Repository
from day1.services.rows.recording import decided_edits, origin_columns

Guard = Callable[[Branch, Branch, MergePlan], None]
"""A check of (source, target, plan) that raises to refuse a merge; run under the target's lock."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge; `record.commit` is None if there was nothing to do."""

    record: MergeRecord
    plan: MergePlan
    at: int
    left: Mapping[str, str] = field(default_factory=dict)
    """Facts that stay active on the target, each with the picked fact that supersedes it on the
    source: ids by id."""
    repeated: bool = False
    """Whether an earlier call with the same request id merged; then `plan` is empty."""


@dataclass(frozen=True, slots=True)
class MergeIntent:
    """The intent of a merge: its record without the fields that are known only afterwards."""

    id: str
    source_id: str
    target_id: str
    source_commit: CommitId
    strategy: str
    choices: Json
    decided_by: str | None
    created_at: int
    target: str
    """The name of the target branch."""
    review_id: str | None = None

    def record(self, **outcome: Any) -> MergeRecord:
        """Build the merge's record from the intent and the outcome's fields."""
        fields = asdict(self)
        del fields["target"]
        return MergeRecord(**fields, **outcome)


def _unprotected(_source: Branch, target: Branch, _plan: MergePlan) -> None:
    refuse_protected(target)


def merge(
    repo: Repository,
    request: MergeRequest,
    origin: Origin,
    now: int,
    guard: Guard = _unprotected,
) -> Merged:
    """Merge, cherry-pick or squash the source into the target, by a plan made under the lock.

    Raises:
        PlanChanged: `expect` is given and the plan has another digest.
        WouldHold: a squash would leave rows undecided.
        BranchClosed: one of the branches was squashed.
        BranchProtected: the target is protected, and `guard` refuses the plan.
        RequestReused: an earlier call with the same request id merged something else.
        as `preview`.
    """
    merge_id = repo.new_id("merge", now)
    earlier = _merged_before(repo, request, merge_id)
    if earlier is not None:
        return earlier
    check(request)
    _check_ends(request)
    commit = repo.store.commit_pending(request.source.name)
    source = find_again(repo, request.source)  # the name may belong to another branch by now
    target = request.target
    intent = MergeIntent(
        id=merge_id,
        source_id=source.id,
        target_id=target.id,
        source_commit=commit,
        strategy=request.strategy,
        choices=_decided_json(request),
        decided_by=origin.agent_id,
        created_at=now,
        review_id=request.review_id,
        target=target.name,
    )
    with repo.ledger.open_intent(MERGE, intent, now, _names(repo, request, merge_id)):
        # Recovery is done: a merge by an earlier, killed process is in the ledger by now.
        earlier = _merged_before(repo, request, merge_id)
        if earlier is not None:
            return earlier
        repo.point("merge.after_intent")
        with repo.store.changing(target.name) as work:
            base = work.merge_base(commit)
            with repo.store.reading(Ref(commit=commit)) as source_reading:
                plan, sides, _ = plan_of(repo, request, base, (source_reading, work))
            _check_plan(request, plan)
            guard(source, refuse_closed(find_again(repo, target)), plan)
            details = _MergeDetails(repo, request, commit, merge_id, origin, base)
            new_commit = _do(work, plan, details)
            merged_at = work.now
        repo.point("merge.after_engine")
        record = intent.record(**plan.counts, base=base, commit=new_commit)
        with repo.ledger.ending():  # others may change the source's record too
            record_merge(repo, record)
        repo.point("merge.after_ledger")
    return Merged(record, plan, merged_at, _left(plan, sides))


def _names(repo: Repository, request: MergeRequest, merge_id: str) -> list[str]:
    """List what a merge locks: its branches, its review, and its record if it may be repeated."""
    review = [] if request.review_id is None else [request.review_id]
    record_ids = [merge_id] if repo.of_request else []
    return [request.source.name, request.target.name, *review, *record_ids]


def _check_ends(request: MergeRequest) -> None:
    source, _ = refuse_closed(request.source), refuse_closed(request.target)
    if request.strategy == "squash" and source.protection:
        raise Refused(f"A squash closes its source, and {source.name!r} is protected: use auto.")


def _merged_before(repo: Repository, request: MergeRequest, merge_id: str) -> Merged | None:
    if not repo.of_request:
        return None
    branch_ids = {"source_id": request.source.id, "target_id": request.target.id}
    arguments = {"strategy": request.strategy, "choices": _decided_json(request)}
    earlier = made_by(repo.ledger, MergeRecord, merge_id, **branch_ids, **arguments)
    if earlier is None:
        return None
    empty_plan = MergePlan(request.strategy, (), {}, (), (), moves_base=False)
    return Merged(earlier, empty_plan, earlier.created_at, repeated=True)


def _check_plan(request: MergeRequest, plan: MergePlan) -> None:
    check_digest(request.expect, plan)
    if request.strategy == "squash" and plan.rejected_count:
        raise WouldHold(
            "A squash needs every conflict decided: decide these rows with `choices`.",
            rows=[{"id": row.id, "cells": list(row.held)} for row in plan.rows if row.held],
        )


@dataclass(frozen=True, slots=True)
class _MergeDetails:
    """The details of a merge that its held items and its commit message name."""

    repo: Repository
    request: MergeRequest
    source_commit: CommitId
    merge_id: str
    origin: Origin
    base: CommitId


def _do(work: Work, plan: MergePlan, details: _MergeDetails) -> CommitId | None:
    """Apply the plan and commit; returns None if there is nothing to do."""
    has_decisions = any(row.decided for row in plan.rows)
    has_changes = plan.moves_base if plan.strategy == "auto" else plan.writes or plan.holds
    if not has_changes and not has_decisions:
        return None
    work.not_before(details.repo.history.commit(details.source_commit).ts)
    writes = plan.writes
    has_new_values = has_decisions or any(row.joined for row in plan.rows)
    if plan.holds or plan.declines or plan.closes or has_new_values:
        edits = decided_edits(plan, details.origin, work.now, details.repo.new_id)
        for kind, row in (*_held_rows(work, plan, details), *edits):
            writes.setdefault(kind.table, {})[str(row["id"])] = row
    if plan.strategy == "auto":
        work.merge(details.source_commit, writes)
    else:
        work.apply(writes)
    request = details.request
    op = {"auto": "merge", "cherry_pick": "pick", "squash": "squash"}[plan.strategy]
    counts = plan.counts
    line = f"{op} {request.source.name} into {request.target.name}: {counts['merged_count']} merged"
    if counts["rejected_count"]:
        line += f", {counts['rejected_count']} held"
    meta: dict[str, Json] = {
        "source": request.source.name,
        "source_id": request.source.id,
        "source_commit": details.source_commit,
        "base": details.base,
        "strategy": plan.strategy,
        **counts,
    }
    return work.commit(Message(op, line, details.merge_id, meta))


def _held_rows(work: Work, plan: MergePlan, details: _MergeDetails) -> Iterable[tuple[Kind, Row]]:
    origin = origin_columns(details.origin, work.now)
    declines = [(row, WHOLE) for row in plan.declines]
    new_cells = [*plan.holds, *declines]
    existing_items = work.get(
        HELD, [held_id(row.id, c, details.source_commit) for row, c in new_cells]
    )
    closes = list(plan.closes)
    for row, cell in new_cells:
        item_id = held_id(row.id, cell, details.source_commit)
        if item_id in existing_items:
            item_id = held_id(row.id, cell, details.merge_id)
        held: Row = {
            "id": item_id,
            "row_id": row.id,
            "row_kind": row.kind.table,
            "cell": cell,
            "ours": value_json(row.kind, row.target, cell),
            "theirs": value_json(row.kind, row.source, cell),
            "source_branch": details.request.source.id,
            "source_commit": details.source_commit,
            "merge_id": details.merge_id,
            "reason": row.held.get(cell, "skipped"),
            "closes": None,
            "decision": None,
            **origin,
        }
        yield HELD, held
        if (row, cell) in declines:
            closes.append((HeldItem.of(held), "dismissed"))
    for item, decision in closes:
        yield HELD, closing_row(item, decision, details.repo.new_id(HELD.prefix, work.now), origin)


def _left(plan: MergePlan, sides: Sides) -> dict[str, str]:
    """Return the facts that a pick leaves active although a picked fact supersedes them.

    Returns:
        The id of the picked fact by the id of the superseded one, which the pick does not include.
    """
    if plan.strategy != "cherry_pick":
        return {}
    planned_ids = {row.id for row in plan.rows}
    picked_ids = {row.id for row in plan.rows if row.result is not None}
    successor_of_left: dict[str, str] = {}
    for change in sides.changes.get(FACT.table, ()):
        successor, target = successor_of(change.after), sides.target.get(change.id)
        is_active = target is not None and target["status"] == "active"
        is_picked = change.id in planned_ids
        if is_active and not is_picked and successor is not None and successor in picked_ids:
            successor_of_left[change.id] = successor
    return successor_of_left


def _decided_json(request: MergeRequest) -> list[Json]:
    """List a request's decisions as JSON: its choices, and a `pick` for each picked row."""
    choices: list[Json] = [
        {
            "id": c.row_id,
            "cell": c.cell,
            "take": c.take,
            "value": dict(c.value) if c.value else None,
        }
        for c in request.choices
    ]
    picks = sorted(set(request.items or ()))
    return choices + [{"id": i, "cell": WHOLE, "take": "pick", "value": None} for i in picks]


def record_merge(repo: Repository, record: MergeRecord) -> None:
    """Write a merge's record to the ledger, and update its review and its source branch."""
    with repo.ledger.transaction():
        repo.ledger.put(record)
        if record.commit is None:
            return
        review = None if record.review_id is None else repo.ledger.record(Review, record.review_id)
        if review is not None:
            repo.ledger.put(review.merged(record))
        source = repo.ledger.record(Branch, record.source_id)
        if source is None:
            return
        if record.strategy == "squash":
            repo.ledger.put_branch(replace(source, closed=True, merged_tip=record.source_commit))
        elif record.strategy == "auto" and record.rejected_count == 0:
            repo.ledger.put_branch(replace(source, merged_tip=record.source_commit))


def _finish(repo: Repository, intent: MergeIntent) -> None:
    """Record an interrupted merge if a commit of the target carries its id."""
    if intent.target not in repo.history.branches():
        return
    for commit in repo.history.log(intent.target):
        if commit.ts < intent.created_at:
            return
        if commit.meta.get("id") == intent.id:
            counts = {key: commit.meta[key] for key in ("base", "merged_count", "rejected_count")}
            record_merge(repo, intent.record(**counts, commit=commit.id))
            return


MERGE = IntentKind("merge", MergeIntent, _finish)
