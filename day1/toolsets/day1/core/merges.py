"""Tools that compare and merge branches."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Read, Request, Response, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.errors import Advice, Json, Step
from day1.model.branches.branch import MAIN, Branch
from day1.model.merge.plan import MergePlan, Strategy
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.change import Changes, RowChange
from day1.model.rows.kind import BY_TABLE, FACT, OBSERVATION, RELATION, Kind
from day1.services.access.calls import branch_of, note_token, origin_of, repeatable
from day1.services.branches.deleting import recorded_branch
from day1.services.branches.lookup import tip_of
from day1.services.merges.comparing import compare
from day1.services.merges.merging import Merged, merge
from day1.services.merges.planning import MergeRequest
from day1.services.merges.proposing import Proposed, Proposer, propose
from day1.services.merges.protection import TIERED, Merger, guard
from day1.services.repository.idempotency import BY_REQUEST
from day1.toolsets.shared.choices import Choices, chosen, held_by
from day1.toolsets.shared.shown import ConflictShown, changed, conflicts_of, shown


class BranchDiff(Request):
    """The arguments of `memory_branch_diff` (S1-035).

    Attributes:
        source_branch: The branch whose changes are shown.
        target_branch: The branch that they would be merged into.
        category: Only facts of this category, now or before; other rows are left out then.
    """

    source_branch: Label
    target_branch: Label
    category: Label | None = None


class Diff(Response):
    """What the source has changed since the merge base, and what conflicts (S1-036)."""

    new_facts: list[dict[str, Any]]
    new_relations: list[dict[str, Any]]
    conflicts: list[ConflictShown]
    new_observations: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    held: list[str]
    """Ids of the target's open held items."""
    read: Read


def branch_diff(ctx: Context, request: BranchDiff) -> Diff:
    """What merging source into target would bring, and its conflicts. Changes nothing."""
    source_branch = branch_of(ctx, request.source_branch)
    target_branch = branch_of(ctx, request.target_branch)
    comparison = compare(ctx.repo, source_branch, target_branch, request.category)
    conflicts = conflicts_of(comparison.plan, ctx.clock())
    changes_by_table = comparison.changes
    changed_ids = {change.id for changes in changes_by_table.values() for change in changes}
    return Diff(
        new_facts=_added(changes_by_table, FACT),
        new_relations=_added(changes_by_table, RELATION),
        new_observations=_added(changes_by_table, OBSERVATION),
        changed=[
            changed(BY_TABLE[table], change)
            for table, change in _every(changes_by_table)
            if change.before and change.after
        ],
        removed=[
            shown(BY_TABLE[table], change.before)
            for table, change in _every(changes_by_table)
            if change.before is not None and change.after is None
        ],
        conflicts=[
            conflict
            for conflict in conflicts
            if request.category is None or conflict.id in changed_ids
        ],
        held=[held_item.id for held_item in comparison.held],
        read=Read(
            branch=source_branch.name,
            commit=comparison.source_commit,
            pending=comparison.pending.count,
        ),
    )


def _every(changes: Changes) -> Iterable[tuple[str, RowChange]]:
    return ((table, change) for table, row_changes in changes.items() for change in row_changes)


def _added(changes: Changes, kind: Kind) -> list[dict[str, Any]]:
    added_rows = (change.after for change in changes.get(kind.table, ()) if change.before is None)
    return [shown(kind, row) for row in added_rows if row is not None]


class BranchMerge(WriteRequest):
    """The arguments of `memory_branch_merge` (S1-037).

    Attributes:
        source_branch: The branch to merge.
        target_branch: The branch that it is merged into.
        strategy: `auto` takes what has no conflict and holds the rest, `cherry_pick` takes the
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
    """The result of a merge: merged, held, left out (S1-038, S1-040)."""

    merged_count: int
    rejected_count: int
    merge_id: str
    """Empty if all of it waits for a review."""
    conflicts: list[ConflictShown]
    left: list[str]
    """Ids of the rows that wait for the review; after a pick without one, of the facts that stay
    active although a picked fact supersedes them."""
    review_id: str | None = None
    """The review of rows that need approval by the target's tiers."""
    written: Written


def branch_merge(ctx: Context, request: BranchMerge) -> BranchMerged:
    """Merge source into target.

    auto takes what has no conflict and holds the rest; cherry_pick takes `items`; squash
    makes one commit and closes the source.
    """
    merge_request = MergeRequest(
        _source_of_earlier(ctx, request) or branch_of(ctx, request.source_branch),
        branch_of(ctx, request.target_branch or MAIN),
        request.strategy,
        chosen(request.choices) if request.choices else (),
        None if request.items is None else tuple(request.items),
        request.expect,
    )

    token_id = ctx.caller.access.token_id
    is_tiered = TIERED in merge_request.target.protection
    # Those who may write may merge what the tiers let pass unseen.
    if not is_tiered and "merge" not in ctx.caller.access.scopes:
        ctx.caller.access.require("merge", "memory_branch_merge")

    def check_protection(source: Branch, target: Branch, plan: MergePlan) -> None:
        if target.protection:
            guard(ctx.repo, Merger(token_id))(source, target, plan)

    if merge_request.writes:
        note_token(ctx, merge_request.target)
    origin, repo = origin_of(ctx, request), repeatable(ctx, request)
    if (
        is_tiered
        and merge_request.strategy == "auto"
        and not merge_request.choices
        and merge_request.source.retired_tip is None
    ):
        proposer = Proposer(origin, token_id, _earlier_merge(ctx, request, merge_request))
        return _proposed(
            ctx,
            merge_request,
            propose(repo, merge_request, proposer, ctx.clock(), check_protection),
        )
    return _merged(
        ctx, merge_request, merge(repo, merge_request, origin, ctx.clock(), check_protection)
    )


def _earlier_record(ctx: Context, request: BranchMerge) -> MergeRecord | None:
    """Return the record of the merge that an earlier call with this `request_id` made, if any."""
    if request.request_id is None:
        return None
    return ctx.repo.ledger.record(MergeRecord, repeatable(ctx, request).new_id("merge", 0))


def _source_of_earlier(ctx: Context, request: BranchMerge) -> Branch | None:
    """Return the source of an earlier call, which may have been retired or deleted since."""
    earlier = _earlier_record(ctx, request)
    source = None if earlier is None else recorded_branch(ctx.repo, earlier.source_id)
    return source if source is not None and source.name == request.source_branch else None


def _earlier_merge(
    ctx: Context, request: BranchMerge, merge_request: MergeRequest
) -> MergeRecord | None:
    """Return the merge that an earlier call with this `request_id` made of the same branches."""
    earlier = _earlier_record(ctx, request)
    if earlier is None or (earlier.source_id, earlier.target_id) != (
        merge_request.source.id,
        merge_request.target.id,
    ):
        return None
    return earlier


def _merged(ctx: Context, merge_request: MergeRequest, result: Merged) -> BranchMerged:
    merge_record = result.record
    notes: list[str | Advice] = [] if merge_record.commit else ["Nothing new to merge."]
    notes += [BY_REQUEST] if result.repeated else []
    notes += [
        _left_active(merge_request, *old_and_new_id) for old_and_new_id in result.left.items()
    ]
    conflicts: list[ConflictShown] = []
    if merge_record.rejected_count:
        conflicts = (
            held_by(ctx, merge_record)
            if result.repeated
            else conflicts_of(result.plan, ctx.clock())
        )
    return BranchMerged(
        merged_count=merge_record.merged_count,
        rejected_count=merge_record.rejected_count,
        merge_id=merge_record.id,
        conflicts=conflicts,
        left=list(result.left),
        written=Written(
            branch=merge_request.target.name,
            commit=merge_record.commit or tip_of(ctx.repo, merge_request.target.name),
            notes=notes,
        ),
    )


def _left_active(merge_request: MergeRequest, old_id: str, new_id: str) -> Advice:
    """Write the note that a superseded fact stays active on the target beside its replacement."""
    source_name, target_name = merge_request.source.name, merge_request.target.name
    arguments: dict[str, Json] = {
        "source_branch": source_name,
        "target_branch": target_name,
        "strategy": "cherry_pick",
        "items": [old_id],
    }
    return Advice(
        "{old} stays active on {target} beside {new}, which supersedes it on {source}: {pick} "
        "supersedes it on {target} too.",
        old=old_id,
        new=new_id,
        source=source_name,
        target=target_name,
        pick=Step("memory_branch_merge", arguments, whole=True),
    )


def _proposed(ctx: Context, merge_request: MergeRequest, proposal: Proposed) -> BranchMerged:
    """Build the answer of a merge whose changes merged in part and wait in part for a review."""
    target_name = merge_request.target.name
    answer = BranchMerged(
        merged_count=0,
        rejected_count=0,
        merge_id="",
        conflicts=[],
        left=[],
        written=Written(branch=target_name, commit=tip_of(ctx.repo, target_name)),
    )
    if proposal.merged is not None:
        answer = _merged(ctx, merge_request, proposal.merged)
    if proposal.review is None:
        return answer
    note = Advice(
        "Changes that need a look: {count}. They wait in a review: {review_show} with "
        "review_id={review} says which and why.",
        count=len(proposal.waits),
        review=proposal.review.id,
    )
    answer.written.notes.append(note)
    waiting_ids = [*proposal.waits]
    return answer.model_copy(update={"review_id": proposal.review.id, "left": waiting_ids})


DIFF = Operation("memory_branch_diff", branch_diff, Effect.READ)
MERGE = Operation("memory_branch_merge", branch_merge, Effect.WRITE)
