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
    earlier_merge = _merged_before(repo, request, merge_id)
    if earlier_merge is not None:
        return earlier_merge
    check(request)
    _check_ends(request)
    source_commit = repo.store.commit_pending(request.source.name)
    source = find_again(repo, request.source)  # the name may belong to another branch by now
    target = request.target
    intent = MergeIntent(
        id=merge_id,
        source_id=source.id,
        target_id=target.id,
        source_commit=source_commit,
        strategy=request.strategy,
        choices=_decided_json(request),
        decided_by=origin.agent_id,
        created_at=now,
        review_id=request.review_id,
        target=target.name,
    )
    with repo.ledger.open_intent(MERGE, intent, now, _names(repo, request, merge_id)):
        # Recovery is done: a merge by an earlier, killed process is in the ledger by now.
        earlier_merge = _merged_before(repo, request, merge_id)
        if earlier_merge is not None:
            return earlier_merge
        repo.point("merge.after_intent")
        with repo.store.changing(target.name) as unit_of_work:
            merge_base = unit_of_work.merge_base(source_commit)
            with repo.store.reading(Ref(commit=source_commit)) as source_reading:
                plan, sides, _ = plan_of(repo, request, merge_base, (source_reading, unit_of_work))
            _check_plan(request, plan)
            guard(source, refuse_closed(find_again(repo, target)), plan)
            details = _MergeDetails(repo, request, source_commit, merge_id, origin, merge_base)
            merge_commit = _do(unit_of_work, plan, details)
            merged_at = unit_of_work.now
        repo.point("merge.after_engine")
        merge_record = intent.record(**plan.counts, base=merge_base, commit=merge_commit)
        with repo.ledger.ending():  # others may change the source's record too
            record_merge(repo, merge_record)
        repo.point("merge.after_ledger")
    return Merged(merge_record, plan, merged_at, _left(plan, sides))


def _names(repo: Repository, request: MergeRequest, merge_id: str) -> list[str]:
    """List what a merge locks: its branches, its review, and its record if it may be repeated."""
    review_ids = [] if request.review_id is None else [request.review_id]
    record_ids = [merge_id] if repo.of_request else []
    return [request.source.name, request.target.name, *review_ids, *record_ids]


def _check_ends(request: MergeRequest) -> None:
    source, _ = refuse_closed(request.source), refuse_closed(request.target)
    if request.strategy == "squash" and source.protection:
        raise Refused(
            f"A squash closes its source, and {source.name!r} is protected: use the strategy auto."
        )


def _merged_before(repo: Repository, request: MergeRequest, merge_id: str) -> Merged | None:
    if not repo.of_request:
        return None
    branch_fields = {"source_id": request.source.id, "target_id": request.target.id}
    merge_fields = {"strategy": request.strategy, "choices": _decided_json(request)}
    earlier_record = made_by(repo.ledger, MergeRecord, merge_id, **branch_fields, **merge_fields)
    if earlier_record is None:
        return None
    empty_plan = MergePlan(request.strategy, (), {}, (), (), moves_base=False)
    return Merged(earlier_record, empty_plan, earlier_record.created_at, repeated=True)


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
    """Apply a merge plan and commit; return None if there is nothing to do."""
    has_decisions = any(row.decided for row in plan.rows)
    has_changes = plan.moves_base if plan.strategy == "auto" else plan.writes or plan.holds
    if not has_changes and not has_decisions:
        return None
    work.not_before(details.repo.history.commit(details.source_commit).ts)
    writes_by_table = plan.writes
    has_new_values = has_decisions or any(row.joined for row in plan.rows)
    if plan.holds or plan.declines or plan.closes or has_new_values:
        edits = decided_edits(plan, details.origin, work.now, details.repo.new_id)
        for kind, row in (*_held_rows(work, plan, details), *edits):
            writes_by_table.setdefault(kind.table, {})[str(row["id"])] = row
    if plan.strategy == "auto":
        work.merge(details.source_commit, writes_by_table)
    else:
        work.apply(writes_by_table)
    request = details.request
    operation = {"auto": "merge", "cherry_pick": "pick", "squash": "squash"}[plan.strategy]
    row_counts = plan.counts
    commit_title = f"{operation} {request.source.name} into {request.target.name}: "
    commit_title += f"{row_counts['merged_count']} merged"
    if row_counts["rejected_count"]:
        commit_title += f", {row_counts['rejected_count']} held"
    commit_metadata: dict[str, Json] = {
        "source": request.source.name,
        "source_id": request.source.id,
        "source_commit": details.source_commit,
        "base": details.base,
        "strategy": plan.strategy,
        **row_counts,
    }
    return work.commit(Message(operation, commit_title, details.merge_id, commit_metadata))


def _held_rows(work: Work, plan: MergePlan, details: _MergeDetails) -> Iterable[tuple[Kind, Row]]:
    origin_values = origin_columns(details.origin, work.now)
    declined_rows = [(row, WHOLE) for row in plan.declines]
    cells_to_hold = [*plan.holds, *declined_rows]
    existing_item_by_id = work.get(
        HELD,
        [held_id(row.id, held_cell, details.source_commit) for row, held_cell in cells_to_hold],
    )
    items_to_close = list(plan.closes)
    for row, cell in cells_to_hold:
        item_id = held_id(row.id, cell, details.source_commit)
        if item_id in existing_item_by_id:
            item_id = held_id(row.id, cell, details.merge_id)
        held_row: Row = {
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
            **origin_values,
        }
        yield HELD, held_row
        if (row, cell) in declined_rows:
            items_to_close.append((HeldItem.of(held_row), "dismissed"))
    for item, decision in items_to_close:
        yield (
            HELD,
            closing_row(item, decision, details.repo.new_id(HELD.prefix, work.now), origin_values),
        )


def _left(plan: MergePlan, sides: Sides) -> dict[str, str]:
    """Return the facts that a pick leaves active although a picked fact supersedes them.

    Returns:
        The id of the picked fact by the id of the superseded one, which the pick does not include.
    """
    if plan.strategy != "cherry_pick":
        return {}
    planned_ids = {row.id for row in plan.rows}
    picked_ids = {row.id for row in plan.rows if row.result is not None}
    successor_by_fact: dict[str, str] = {}
    for change in sides.changes.get(FACT.table, ()):
        successor_id, target_fact = successor_of(change.after), sides.target.get(change.id)
        is_active = target_fact is not None and target_fact["status"] == "active"
        is_picked = change.id in planned_ids
        if is_active and not is_picked and successor_id is not None and successor_id in picked_ids:
            successor_by_fact[change.id] = successor_id
    return successor_by_fact


def _decided_json(request: MergeRequest) -> list[Json]:
    """List a request's decisions as JSON: its choices, and a `pick` for each picked row."""
    choices_json: list[Json] = [
        {
            "id": choice.row_id,
            "cell": choice.cell,
            "take": choice.take,
            "value": dict(choice.value) if choice.value else None,
        }
        for choice in request.choices
    ]
    picked_ids = sorted(set(request.items or ()))
    return choices_json + [
        {"id": picked_id, "cell": WHOLE, "take": "pick", "value": None} for picked_id in picked_ids
    ]


def record_merge(repo: Repository, record: MergeRecord) -> None:
    """Write a merge's record to the ledger, and update its review and its source branch."""
    with repo.ledger.transaction():
        repo.ledger.put(record)
        if record.commit is None:
            return
        review = None if record.review_id is None else repo.ledger.record(Review, record.review_id)
        if review is not None:
            repo.ledger.put(review.merged(record))
        source_branch = repo.ledger.record(Branch, record.source_id)
        if source_branch is None:
            return
        if record.strategy == "squash":
            repo.ledger.put_branch(
                replace(source_branch, closed=True, merged_tip=record.source_commit)
            )
        elif record.strategy == "auto" and record.rejected_count == 0:
            repo.ledger.put_branch(replace(source_branch, merged_tip=record.source_commit))


def _finish(repo: Repository, intent: MergeIntent) -> None:
    """Record an interrupted merge if a commit of the target carries its id."""
    if intent.target not in repo.history.branches():
        return
    for commit in repo.history.log(intent.target):
        if commit.ts < intent.created_at:
            return
        if commit.meta.get("id") == intent.id:
            outcome_fields = {
                field_name: commit.meta[field_name]
                for field_name in ("base", "merged_count", "rejected_count")
            }
            record_merge(repo, intent.record(**outcome_fields, commit=commit.id))
            return


MERGE = IntentKind("merge", MergeIntent, _finish)
