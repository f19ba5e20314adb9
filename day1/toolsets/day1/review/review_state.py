"""Reviews as tools show them: a summary, and what is missing before the merge."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from day1.call.context import Context
from day1.call.fields import Note, Read, Response
from day1.errors import Advice
from day1.model.branches.branch import MAIN, Branch
from day1.model.merge.tiers import strictest
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Approval, Review, ReviewStatus
from day1.model.values.instant import show
from day1.services.branches.lookup import name_of
from day1.services.merges import reviews
from day1.services.merges.approving import counted
from day1.services.merges.duplicates import Twin
from day1.services.merges.protection import TIERED, Merger, lacking, tiers_of
from day1.services.merges.reviews import Examined, examine, grouped
from day1.services.repository.repository import Repository
from day1.toolsets.day1.review.review_rows import DecisionShown, decision_shown
from day1.toolsets.shared.answers import state_of

NONE: Final[Mapping[str, list[Twin]]] = MappingProxyType({})
"""An empty map of possible duplicates, for a review in which nobody searched for them."""
_MAX_SHOWN: Final = 50
_GROUPS = {
    "conflicts": ("conflict", "conflicts"),
    "held": ("held", "held"),
    "duplicates": ("possible duplicate", "possible duplicates"),
    "new": ("new", "new"),
    "changed": ("changed", "changed"),
    "removed": ("removed", "removed"),
}
"""Group of rows -> its singular and its plural in a summary."""


class CellLeft(Response):
    """An undecided conflict."""

    id: str
    cell: str
    reason: str


class ReviewItem(Response):
    """A review in short; the names of deleted branches are empty."""

    id: str
    title: str | None
    description: str | None
    source_branch: str
    target_branch: str
    status: ReviewStatus
    opened_by: str | None
    created_at: str
    summary: Note
    counts: dict[str, int]
    """Rows by group; empty unless it is open and has both branches."""
    decided: int
    closed_by: str | None
    closed_at: str | None
    merge_id: str | None
    reason: str | None


class TierShown(Response):
    """How many others must approve the merge, and why; `looks` counts approvals."""

    tier: str
    why: str
    needs: int
    looks: int


class ApprovalShown(Response):
    """An approval; it does not count if it is of another plan, or an author's."""

    by: str | None
    at: str
    counts: bool


class ReviewState(ReviewItem):
    """A review, and what is missing before its merge."""

    digest: str | None
    """The plan's digest with its decisions, for `expect` of review_merge."""
    undecided: list[CellLeft]
    """The first 50."""
    undecided_count: int
    stale: list[DecisionShown]
    requires: list[str]
    """What the target's protection requires."""
    missing: dict[str, Note]
    """Requirement not met by a merge of this caller -> what to do."""
    can_merge: bool
    tier: TierShown | None
    """The strictest tier of the rows to merge; null if the target has no tiers."""
    approvals: list[ApprovalShown]
    read: Read


def look(ctx: Context, review: Review, *, both: bool = False) -> Examined | None:
    """Compute the present merge plan of a review; None if it is not open or lost a branch.

    With `both` the changes of the target are read too, to find duplicates.
    """
    if review.status != "open" or reviews.gone(ctx.repo, review) is not None:
        return None
    return examine(ctx.repo, review, both=both)


def in_short(
    ctx: Context,
    review: Review,
    examined: Examined | None,
    twins: Mapping[str, list[Twin]] = NONE,
) -> dict[str, Any]:
    """Return the fields of `ReviewItem`; `examined` is the review's plan, None without a plan."""
    count_by_group = (
        {}
        if examined is None
        else {group: len(group_rows) for group, group_rows in grouped(examined, twins).items()}
    )
    closed_at = review.closed_at
    return {
        "id": review.id,
        "title": review.title,
        "description": review.description,
        "source_branch": name_of(ctx.repo, review.source_id),
        "target_branch": name_of(ctx.repo, review.target_id),
        "status": review.status,
        "opened_by": review.opened_by,
        "created_at": show(review.created_at),
        "summary": _outcome(ctx, review)
        if examined is None
        else _outlook(examined, count_by_group),
        "counts": count_by_group,
        "decided": len(review.decisions),
        "closed_by": review.closed_by,
        "closed_at": None if closed_at is None else show(closed_at),
        "merge_id": review.merge_id,
        "reason": review.reason,
    }


def in_full(
    ctx: Context,
    review: Review,
    examined: Examined | None = None,
    twins: Mapping[str, list[Twin]] = NONE,
) -> dict[str, Any]:
    """Return the fields of `ReviewState` for the caller."""
    examined = examined or look(ctx, review)
    short_fields = in_short(ctx, review, examined, twins)
    if examined is None:
        target_branch = ctx.repo.ledger.record(Branch, review.target_id)
        has_target_branch = target_branch is not None and target_branch.retired_tip is None
        read_state = state_of(
            ctx, target_branch.name if target_branch is not None and has_target_branch else MAIN
        )
        plan_fields: dict[str, Any] = {"undecided": [], "stale": [], "requires": []}
        plan_fields |= {"missing": {}, "digest": None, "undecided_count": 0}
        plan_fields |= {"can_merge": False, "tier": None}
        plan_fields["approvals"] = [
            _approval(approval, counts=False) for approval in review.approved
        ]
        return {**short_fields, **plan_fields, "read": read_state}
    merger = Merger(ctx.caller.access.token_id, review, examined.choices, examined.plan.digest)
    missing_requirements = lacking(
        ctx.repo, merger, examined.source, examined.target, examined.plan
    )
    undecided_cells = examined.undecided
    counted_approvals = counted(ctx.repo, examined)
    return {
        **short_fields,
        "digest": examined.plan.digest,
        "undecided": [
            CellLeft(id=row.id, cell=cell, reason=row.held[cell])
            for row, cell in undecided_cells[:_MAX_SHOWN]
        ],
        "undecided_count": len(undecided_cells),
        "stale": [decision_shown(decision, stale=True) for decision in examined.stale],
        "requires": list(examined.target.protection),
        "missing": missing_requirements,
        "can_merge": examined.merges
        and not (missing_requirements or examined.stale or examined.closed),
        "tier": _tier(ctx.repo, examined, len(counted_approvals)),
        "approvals": [
            _approval(approval, counts=approval in counted_approvals)
            for approval in review.approved
        ],
        "read": Read(
            branch=examined.source.name,
            commit=examined.seen.source_commit,
            pending=examined.seen.pending.count,
        ),
    }


def _tier(repo: Repository, examined: Examined, looks: int) -> TierShown | None:
    if TIERED not in examined.target.protection:
        return None
    strictest_tier = strictest(
        tiers_of(repo, examined.source, examined.target, examined.plan).values()
    )
    return TierShown(
        tier=strictest_tier.tier, why=strictest_tier.why, needs=strictest_tier.looks, looks=looks
    )


def _approval(approval: Approval, *, counts: bool) -> ApprovalShown:
    return ApprovalShown(by=approval.by, at=show(approval.at), counts=counts)


def _outlook(examined: Examined, counts: dict[str, int]) -> str | Advice:
    """Say in one sentence what merging an open review would do."""
    source_name, target_name = examined.source.name, examined.target.name
    if examined.closed:
        return Advice(
            "{branch} is closed, so nothing can be merged: {review_close} closes this.",
            branch=examined.closed.name,
        )
    if not (any(counts.values()) or examined.merges):
        return f"{target_name} has all of {source_name} already: nothing is left to merge."
    summary_parts = [
        f"{row_count:,} {_GROUPS[group][row_count != 1]}"
        for group, row_count in counts.items()
        if row_count
    ]
    undecided_count = len(examined.undecided)
    summary_parts += [f"{undecided_count:,} undecided"] if undecided_count else []
    summary_parts += [f"{len(examined.stale):,} stale"] if examined.stale else []
    return f"{source_name} into {target_name}: {', '.join(summary_parts) or 'nothing that shows'}."


def _outcome(ctx: Context, review: Review) -> str | Advice:
    """Say in one sentence how a review ended."""
    source_name, target_name = (
        name_of(ctx.repo, branch_id) for branch_id in (review.source_id, review.target_id)
    )
    if review.status == "closed":
        return f"{source_name} into {target_name}: closed without merging."
    merge_record = ctx.repo.ledger.record(MergeRecord, review.merge_id or "")
    if merge_record is not None:
        return (
            f"{source_name} into {target_name}: merged {merge_record.merged_count:,}, "
            f"held {merge_record.rejected_count:,}."
        )
    return reviews.gone(ctx.repo, review) or f"{source_name} into {target_name}: merged."
