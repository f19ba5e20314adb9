"""Merging into a branch with tiers: rows that need no approval merge, the others get a review."""

from dataclasses import dataclass, replace

from day1.model.merge.plan import MergePlan, follow_supersession
from day1.model.merge.tiers import strictest
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.rows.origin import Origin
from day1.services.merges.merging import Guard, Merged, merge
from day1.services.merges.planning import MergeRequest, Preview, check_digest, look, preview
from day1.services.merges.protection import tiers_of
from day1.services.merges.reviews import open_review
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Proposed:
    """The result of a proposal: the merge, and the review of the rows that need approval."""

    merged: Merged | None
    review: Review | None
    waits: tuple[str, ...] = ()
    """Ids of the rows that wait for the review."""


@dataclass(frozen=True, slots=True)
class Proposer:
    """The caller who proposes a merge, and their token."""

    origin: Origin
    token: str | None
    before: MergeRecord | None = None
    """The record of an earlier call's merge with the same request id."""


def propose(
    repo: Repository, request: MergeRequest, by: Proposer, now: int, guard: Guard
) -> Proposed:
    """Merge the rows that need no approval; open a review of the others, or return the open one.

    If no row needs approval, this is an ordinary merge. Otherwise the rows without need of approval
    are cherry-picked, so the branch stays unchanged and its review shows the other rows.

    Args:
        repo: the memory; with a request id, new ids are derived from it.
        request: a merge with the strategy `auto` and without choices.
        by: the caller.
        now: the time.
        guard: the check of the target's other requirements.

    Raises:
        PlanChanged: `expect` is given, and the plan of all rows has another digest.
        BranchProtected: the target requires more than tiers, and the merge does not fulfil it.
        as `merge` and `open_review`.
    """
    merge_result = None if by.before is None else _repeated(by.before)
    merge_preview = preview(repo, request)
    check_digest(None if merge_result else request.expect, merge_preview.plan)
    tier_by_row = tiers_of(repo, request.source, request.target, merge_preview.plan)
    if not strictest(tier_by_row.values()).looks:
        return Proposed(merge_result or merge(repo, request, by.origin, now, guard), None)
    pick_plan = None if merge_result else _plan_without_approval(repo, request, merge_preview)
    ids_needing_no_approval = () if pick_plan is None else tuple(row.id for row in pick_plan.rows)
    if pick_plan is not None:  # a refused merge opens no review
        guard(request.source, request.target, pick_plan)
    # The review comes first: after a kill in between, no part is merged without a review.
    opener = by.origin.agent_id, by.token
    review = open_review(repo, (request.source, request.target), (None, None), opener, now)
    repo.point("propose.after_review")
    if ids_needing_no_approval:
        pick_request = replace(
            request, strategy="cherry_pick", items=ids_needing_no_approval, expect=None
        )
        # The fact that a picked fact supersedes waits for the review, which shows it.
        merge_result = replace(merge(repo, pick_request, by.origin, now, guard), left={})
    picked_ids = {*ids_needing_no_approval}
    return Proposed(
        merge_result, review, tuple(row for row in tier_by_row if row not in picked_ids)
    )


def _repeated(record: MergeRecord) -> Merged:
    empty_plan = MergePlan("auto", (), {}, (), (), moves_base=False)
    return Merged(record, empty_plan, record.created_at, repeated=True)


def _plan_without_approval(
    repo: Repository, request: MergeRequest, merge_preview: Preview
) -> MergePlan | None:
    """Plan a pick of the rows that need no approval, with the rows that a pick takes along."""
    tier_by_row = tiers_of(repo, request.source, request.target, merge_preview.plan)
    pick_ids = tuple(row for row, tier in tier_by_row.items() if not tier.looks)
    while pick_ids:
        pick_plan = look(repo, replace(request, strategy="cherry_pick", items=pick_ids)).plan
        tier_by_picked_row = tiers_of(repo, request.source, request.target, pick_plan)
        ids_needing_approval = {row for row, tier in tier_by_picked_row.items() if tier.looks}
        if not ids_needing_approval:
            return pick_plan
        source_row_by_id = {row.id: row.source or {} for row in pick_plan.rows}
        remaining_ids = tuple(
            row_id
            for row_id in pick_ids
            if ids_needing_approval.isdisjoint(follow_supersession([row_id], source_row_by_id))
        )
        pick_ids = remaining_ids if len(remaining_ids) < len(pick_ids) else ()
    return None
