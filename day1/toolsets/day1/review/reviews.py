"""Tools that open, list, show, decide, merge and close reviews of a branch."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    Read,
    Request,
    Response,
    Text,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.errors import Advice, Step
from day1.model.branches.branch import MAIN
from day1.model.merge.row_merge import OWN
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.rows.kind import WHOLE
from day1.services.access.calls import active_or_none, branch_of, note_token, origin_of, repeatable
from day1.services.branches.lookup import name_of
from day1.services.merges import reviews
from day1.services.merges.duplicates import Twin, may_find, possible_duplicates
from day1.services.merges.reviews import NewDecision, find_review, grouped
from day1.services.repository.idempotency import BY_REQUEST
from day1.toolsets.day1.review.review_rows import (
    DecisionShown,
    ReviewRow,
    decision_shown,
    review_rows,
)
from day1.toolsets.day1.review.review_state import ReviewItem, ReviewState, in_full, in_short, look
from day1.toolsets.shared.answers import state_of
from day1.toolsets.shared.choices import ChoiceGiven, held_by
from day1.toolsets.shared.given import Columns
from day1.toolsets.shared.shown import ConflictShown, conflicts_of

_MAX_SHOWN = 50
_Offset = Annotated[int, Field(ge=0)] | None
_Limit = Annotated[int, Field(ge=1, le=200)] | None


class ReviewOpen(WriteRequest):
    """The arguments of `review_open`.

    Attributes:
        source_branch: The branch to review.
        target_branch: The branch that it is to be merged into.
        title: The review's title; a review that is open already keeps its own.
        description: What reviewers should know; a review that is open already keeps its own.
    """

    source_branch: Label
    target_branch: Label | None = MAIN
    title: Label | None = None
    description: Text | None = None


def review_open(ctx: Context, request: ReviewOpen) -> ReviewState:
    """Open a review of what merging source into target would do, or return the open one."""
    agent_and_token = (origin_of(ctx, request).agent_id, ctx.caller.access.token_id)
    source_and_target = (
        branch_of(ctx, request.source_branch),
        branch_of(ctx, request.target_branch or MAIN),
    )
    title_and_description = (request.title, request.description)
    opened_review = reviews.open_review(
        ctx.repo, source_and_target, title_and_description, agent_and_token, ctx.clock()
    )
    return ReviewState(**in_full(ctx, opened_review))


class ReviewList(Request):
    """The arguments of `review_list`.

    Attributes:
        status: Only reviews of this status.
        branch: Only reviews from or into this branch; default: all.
        limit: How many to answer at most.
    """

    status: Literal["open", "merged", "closed", "all"] | None = "open"
    branch: Annotated[Label | None, Field(description="source or target")] = None
    limit: _Limit = 20


class Reviews(Response):
    """Reviews, the newest first."""

    result: list[ReviewItem]
    read: Read


def review_list(ctx: Context, request: ReviewList) -> Reviews:
    """Reviews with what each would do, newest first."""
    status = request.status or "open"
    status_filter = None if status == "all" else status
    branch_filter = None if request.branch is None else branch_of(ctx, request.branch)
    matching_reviews = reviews.reviews(ctx.repo, status_filter, branch_filter)
    limit = request.limit or 20
    review_items = []
    for review in matching_reviews[:limit]:
        examined_review = look(ctx, review)
        review_items.append(ReviewItem(**in_short(ctx, review, examined_review)))
    read_state = state_of(ctx, request.branch or active_or_none(ctx))
    if len(matching_reviews) > limit:
        read_state.notes.append(f"{len(matching_reviews) - limit} more are older: raise `limit`.")
    return Reviews(result=review_items, read=read_state)


class ReviewShow(Request):
    """The arguments of `review_show`.

    Attributes:
        review_id: The review, by its id.
        offset: How many rows to leave out first: with `limit` the next page.
        limit: How many rows to answer at most.
    """

    review_id: Label
    offset: _Offset = 0
    limit: _Limit = _MAX_SHOWN


class ReviewShown(ReviewState):
    """A review with a page of its rows: conflicts, held, duplicates, new, changed, removed."""

    rows: list[ReviewRow]
    offset: int
    total: int
    decisions: list[DecisionShown]
    """All decisions of a merged or closed review."""


def review_show(ctx: Context, request: ReviewShow) -> ReviewShown:
    """What a review would merge now: three sides of each row, authors, decisions, what is left."""
    review = find_review(ctx.repo, request.review_id)
    examined_review = look(ctx, review, both=may_find(ctx.search))
    twins_by_row = dict[str, list[Twin]]()
    if examined_review is not None:
        for twin in possible_duplicates(ctx.search, examined_review.seen):
            twins_by_row.setdefault(twin.id, []).append(twin)
    offset, limit = request.offset or 0, request.limit or _MAX_SHOWN
    group_and_row_pairs = (
        []
        if examined_review is None
        else [
            (group, row)
            for group, group_rows in grouped(examined_review, twins_by_row).items()
            for row in group_rows
        ]
    )
    page_pairs = group_and_row_pairs[offset : offset + limit]
    return ReviewShown(
        **in_full(ctx, review, examined_review, twins_by_row),
        rows=[]
        if examined_review is None
        else review_rows(ctx.repo, examined_review, page_pairs, twins_by_row),
        offset=offset,
        total=len(group_and_row_pairs),
        decisions=[]
        if examined_review is not None
        else [decision_shown(decision) for decision in review.decided],
    )


class Decided(Request):
    """A decision for one cell of a row, or with cell `*` for all of it.

    Attributes:
        id: The id of the row, as review_show answers it.
        take: As in the `choices` of memory_branch_merge; `clear` removes the decision.
        cell: The cell to decide, as conflicts name it; `*` is the whole row.
        value: The columns to set, by name; only with take=value.
        seen: The `seen` of the row that you looked at: if the row changed since, nothing is
            decided (plan_changed).
    """

    id: Label
    take: Literal["ours", "theirs", "value", "delete", "skip", "clear"]
    cell: Label | None = WHOLE
    value: Columns | None = None
    seen: Annotated[Label | None, Field(description="refuse if the row changed since")] = None

    def given(self) -> NewDecision:
        """Convert the decision to the `NewDecision` that the service takes."""
        cell = self.cell or WHOLE
        if self.take == "clear":
            return NewDecision(self.id, cell, None)
        choice = ChoiceGiven(id=self.id, take=self.take, cell=cell, value=self.value).choice()
        return NewDecision(self.id, cell, self.take, choice, self.seen)


class ReviewDecide(WriteRequest):
    """The arguments of `review_decide`.

    Attributes:
        review_id: The review, by its id.
        decisions: The decisions, stored all or none. A later decision about the same cell
            replaces an earlier one.
    """

    review_id: Label
    decisions: Annotated[list[Decided], Field(min_length=1, max_length=1_000)]


def review_decide(ctx: Context, request: ReviewDecide) -> ReviewState:
    """Decide rows or cells: ours keeps the target's side, skip holds, clear takes back."""
    examined_review = reviews.decide(
        ctx.repo,
        find_review(ctx.repo, request.review_id),
        [decision.given() for decision in request.decisions],
        (origin_of(ctx, request).agent_id, ctx.caller.access.token_id),
        ctx.clock(),
    )
    if any(decision.take in OWN for decision in request.decisions):
        note_token(ctx, examined_review.target)
    return ReviewState(**in_full(ctx, examined_review.review, examined_review))


class ReviewMerge(WriteRequest):
    """The arguments of `review_merge`.

    Attributes:
        review_id: The review, by its id.
        expect: The `digest` that review_show answered: a plan that is different by now is refused
            (plan_changed).
        strategy: `auto` keeps the source's commits in the history, `squash` makes one commit and
            closes the source.
    """

    review_id: Label
    expect: Annotated[Label | None, Field(description="digest of the plan that you saw")] = None
    strategy: Literal["auto", "squash"] | None = "auto"


class ReviewMerged(Response):
    """The result of merging a review."""

    review_id: str
    status: str
    merge_id: str
    merged_count: int
    rejected_count: int
    conflicts: list[ConflictShown]
    """Held conflicts: undecided, or decided to be held."""
    written: Written


def review_merge(ctx: Context, request: ReviewMerge) -> ReviewMerged:
    """Merge a review as it was decided; undecided conflicts are held."""
    review, repo = find_review(ctx.repo, request.review_id), repeatable(ctx, request)
    earlier_merge = _merged_before(ctx, request, review)
    if earlier_merge is not None:
        return _merged(ctx, earlier_merge, held_by(ctx, earlier_merge), [BY_REQUEST])
    merge_result = reviews.merge_review(
        repo,
        review,
        (request.strategy or "auto", request.expect),
        (origin_of(ctx, request), ctx.caller.access.token_id),
        ctx.clock(),
    )
    merge_record = merge_result.record
    undo_step = Step("memory_revert", {"commit": merge_record.id}, whole=True)
    notes = [Advice("{undo} undoes it.", undo=undo_step)]
    if merge_record.rejected_count:
        held_count = merge_record.rejected_count
        notes.append(Advice("Held: {held}. {memory_held} lists and decides them.", held=held_count))
    return _merged(ctx, merge_record, conflicts_of(merge_result.plan, ctx.clock()), notes)


def _merged_before(ctx: Context, request: ReviewMerge, review: Review) -> MergeRecord | None:
    """Return the merge of a review if this same request made it before."""
    if request.request_id is None or review.merge_id is None:
        return None
    merge_id = repeatable(ctx, request).new_id("merge", 0)
    return ctx.repo.ledger.record(MergeRecord, merge_id) if merge_id == review.merge_id else None


def _merged(
    ctx: Context, record: MergeRecord, conflicts: list[ConflictShown], notes: Sequence[str | Advice]
) -> ReviewMerged:
    return ReviewMerged(
        review_id=str(record.review_id),
        status="merged",
        merge_id=record.id,
        merged_count=record.merged_count,
        rejected_count=record.rejected_count,
        conflicts=conflicts,
        written=Written(
            branch=name_of(ctx.repo, record.target_id), commit=str(record.commit), notes=notes
        ),
    )


class ReviewClose(WriteRequest):
    """The arguments of `review_close`.

    Attributes:
        review_id: The review, by its id.
        reason: Why it is closed; the review shows it.
    """

    review_id: Label
    reason: Text | None = None


def review_close(ctx: Context, request: ReviewClose) -> ReviewState:
    """Close a review without merging; its decisions stay readable."""
    review = find_review(ctx.repo, request.review_id)
    agent_id = origin_of(ctx, request).agent_id
    closed_review = reviews.close_review(ctx.repo, review, agent_id, request.reason, ctx.clock())
    return ReviewState(**in_full(ctx, closed_review))


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("review_open", review_open, Effect.WRITE, idempotent=True),
    Operation("review_list", review_list, Effect.READ),
    Operation("review_show", review_show, Effect.READ),
    Operation("review_decide", review_decide, Effect.WRITE, asks=True),
    Operation("review_merge", review_merge, Effect.WRITE, scope="merge", asks=True),
    Operation("review_close", review_close, Effect.WRITE, idempotent=True),
)
