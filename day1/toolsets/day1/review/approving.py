"""The tool that approves what a review would merge."""

from day1.call.context import Context
from day1.call.fields import Label, WriteRequest
from day1.call.operation import Effect, Operation
from day1.services.access.calls import origin_of
from day1.services.merges.approving import Approver, approve, withdraw
from day1.services.merges.reviews import find_review
from day1.toolsets.day1.review.review_state import ReviewState, in_full


class ReviewApprove(WriteRequest):
    """The arguments of `review_approve`.

    Attributes:
        review_id: The review, by its id.
        expect: The `digest` of the plan that you looked at, as review_show answers it: the
            approval is of this plan, and says nothing of a later one.
        withdraw: Take your approval back.
    """

    review_id: Label
    expect: Label
    withdraw: bool | None = False


def review_approve(ctx: Context, request: ReviewApprove) -> ReviewState:
    """Approve what a review would merge; its authors cannot. Counts as one approval."""
    review, token_id = find_review(ctx.repo, request.review_id), ctx.caller.access.token_id
    if request.withdraw:
        updated_review = withdraw(ctx.repo, review, token_id)
    else:
        agent_id = origin_of(ctx, request).agent_id
        approver = Approver(agent_id, token_id, person=ctx.caller.source == "user")
        updated_review = approve(ctx.repo, review, approver, request.expect, ctx.clock())
    return ReviewState(**in_full(ctx, updated_review))


OPERATIONS = (
    Operation(
        "review_approve", review_approve, Effect.WRITE, idempotent=True, scope="merge", asks=True
    ),
)
