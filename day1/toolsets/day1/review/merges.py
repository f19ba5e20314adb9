"""Tools that preview a merge, and that decide held items (checklist S1-089)."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    OnBranch,
    Read,
    Request,
    Response,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.branches.branch import MAIN, Branch
from day1.model.merge.plan import Strategy
from day1.model.redaction.derived import veiled
from day1.model.rows.kind import Row
from day1.model.values.instant import show
from day1.services.access.calls import branch_of, origin_of, writable
from day1.services.merges.duplicates import Twin, may_find, possible_duplicates
from day1.services.merges.held import HeldDecision, Offer, decide, offers
from day1.services.merges.planning import MergeRequest, Preview, preview
from day1.services.merges.protection import tiers_of
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.choices import ChoiceGiven, Choices, chosen
from day1.toolsets.shared.given import Columns, given_columns
from day1.toolsets.shared.shown import ConflictShown, conflicts_of, shown_columns, summary


class MergePreview(Request):
    """The arguments of `memory_merge_preview`.

    Attributes:
        source_branch: The branch that would be merged.
        target_branch: The branch that it would be merged into.
        strategy: As in memory_branch_merge.
        items: The ids of the rows to take; only with strategy=cherry_pick.
        choices: Decisions to try, as memory_branch_merge takes them.
        hold_duplicates: Whether possible duplicates are answered as `choices` that hold them, to
            pass to memory_branch_merge.
    """

    source_branch: Label
    target_branch: Label | None = MAIN
    strategy: Strategy | None = "auto"
    items: list[Label] | None = None
    choices: Choices = None
    hold_duplicates: Annotated[
        bool | None, Field(description="give possible duplicates back as choices")
    ] = False


class Duplicate(Response):
    """Two new texts, one of each side, that mean nearly the same or the opposite."""

    id: str
    text: str
    other_id: str
    other_text: str
    cosine: float


class Plan(Response):
    """The plan; pass `digest` as `expect` to merge exactly this."""

    digest: str
    merged_count: int
    rejected_count: int
    rows: list[dict[str, Any]]
    conflicts: list[ConflictShown]
    held: list[str]
    possible_duplicates: list[Duplicate]
    choices: list[dict[str, Any]]
    """With `hold_duplicates`: choices that hold each possible duplicate."""
    read: Read


def merge_preview(ctx: Context, request: MergePreview) -> Plan:
    """Show what a merge would do, with conflicts and possible duplicates. Changes nothing."""
    source_branch = branch_of(ctx, request.source_branch)
    target_branch = branch_of(ctx, request.target_branch or MAIN)
    picked_ids = None if request.items is None else tuple(request.items)
    merge_request = MergeRequest(
        source_branch,
        target_branch,
        request.strategy or "auto",
        chosen(request.choices),
        picked_ids,
    )
    preview_result = preview(ctx.repo, merge_request, both=may_find(ctx.search), offers=True)
    duplicate_pairs = possible_duplicates(ctx.search, preview_result)
    open_item_ids = [offer.item.id for offer in preview_result.offers]
    return Plan(
        digest=preview_result.plan.digest,
        merged_count=preview_result.plan.merged_count,
        rejected_count=preview_result.plan.rejected_count,
        rows=_rows(ctx, merge_request, preview_result),
        conflicts=conflicts_of(preview_result.plan, ctx.clock()),
        held=open_item_ids,
        possible_duplicates=[
            Duplicate.from_record(duplicate_pair, cosine=round(duplicate_pair.cosine, 4))
            for duplicate_pair in duplicate_pairs
        ],
        choices=_holding(duplicate_pairs) if request.hold_duplicates else [],
        read=Read(
            branch=source_branch.name,
            commit=preview_result.source_commit,
            pending=preview_result.pending.count,
        ),
    )


def _rows(ctx: Context, merge_request: MergeRequest, result: Preview) -> list[dict[str, Any]]:
    """Summarize the rows of a plan; each with its tier if the target has tiers."""
    tier_by_row = tiers_of(ctx.repo, merge_request.source, merge_request.target, result.plan)
    row_summaries = [summary(row, ctx.clock()) for row in result.plan.rows]
    return [row | asdict(tier_by_row[row["id"]]) if tier_by_row else row for row in row_summaries]


def _holding(twins: list[Twin]) -> list[dict[str, Any]]:
    row_ids = dict.fromkeys(twin.id for twin in twins)
    return [ChoiceGiven(id=row_id, take="skip").model_dump(exclude_none=True) for row_id in row_ids]


class HeldRequest(WriteRequest):
    """The arguments of `memory_held`.

    Attributes:
        action: `list` shows the open items, `take` sets the offered value, `edit` sets `value`,
            `dismiss` keeps what the branch has.
        id: The held item to decide, by its id.
        value: The columns to set, by name; only with action=edit.
    """

    action: Literal["list", "take", "edit", "dismiss"] | None = "list"
    id: Annotated[Label | None, Field(description="held item")] = None
    value: Annotated[Columns | None, Field(description="edit: columns to set")] = None
    branch: OnBranch = None


class HeldShown(Response):
    """One open item: the branch's columns, and the offered ones."""

    id: str
    row_id: str
    type: str
    cell: str
    reason: str
    present: dict[str, Any] | None
    offered: dict[str, Any] | None
    source_branch: str | None
    merge_id: str
    held_at: str


class HeldAnswer(Response):
    """The open items after the call."""

    items: list[HeldShown]
    decided: str | None
    read: Read | None
    written: Written | None


_DECISIONS: dict[str, Literal["taken", "edited", "dismissed"]] = {
    "take": "taken",
    "edit": "edited",
    "dismiss": "dismissed",
}


def held(ctx: Context, request: HeldRequest) -> HeldAnswer:
    """List what merges held back on a branch, or decide one item: take it, edit, dismiss."""
    branch = branch_of(ctx, request.branch)
    action, written_state = request.action or "list", None
    if action != "list":
        ctx.caller.access.require("write", "To decide a held item")
        if request.id is None:
            raise InvalidRequest(
                "`id` is missing: name the held item to decide; action=list shows the ids."
            )
        branch = writable(ctx, request.branch)
        new_columns = _edited(ctx, branch, request.id, request.value) if action == "edit" else None
        decision = HeldDecision(request.id, _DECISIONS[action], new_columns)
        decide_result = decide(ctx.repo, branch, decision, origin_of(ctx, request))
        written_state = Written(branch=branch.name, commit=decide_result.commit)
    open_items = [_held(offer) for offer in offers(ctx.repo, branch)]
    read_state = None if written_state else state_of(ctx, branch.name)
    return HeldAnswer(
        items=open_items,
        decided=request.id if written_state else None,
        read=read_state,
        written=written_state,
    )


def _edited(ctx: Context, branch: Branch, item: str, value: Columns | None) -> Row | None:
    """Return the columns set in a held cell; None for an unknown item, which `decide` refuses."""
    for offer in offers(ctx.repo, branch):
        if item in {held_item.id for held_item in offer.items}:
            return given_columns(offer.item.kind, offer.item.cell, value)
    return None


def _held(offer: Offer) -> HeldShown:
    return HeldShown.from_record(
        offer.item,
        type=offer.item.kind.name,
        present=_shown(offer, offer.present),
        offered=_shown(offer, offer.offered),
        source_branch=offer.source,
        held_at=show(offer.item.created_at),
    )


def _shown(offer: Offer, columns: Row | None) -> dict[str, Any] | None:
    if columns is None:
        return None
    return shown_columns(veiled(columns, offer.veil) or {})


OPERATIONS = (
    Operation("memory_merge_preview", merge_preview, Effect.READ),
    # To list is to read; to decide asks for more.
    Operation("memory_held", held, Effect.WRITE, scope="read"),
)
