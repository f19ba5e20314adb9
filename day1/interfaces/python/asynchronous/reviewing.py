# Written by scripts/asynchronous.py: do not edit.
"""A review of a merge: it waits until people decided it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Unpack

from day1.interfaces.python.asynchronous.calls import AsyncCalls
from day1.interfaces.python.asynchronous.handle import AsyncHandle
from day1.interfaces.python.calls import Who
from day1.interfaces.python.options import Decision, Signed

if TYPE_CHECKING:
    from day1.toolsets.day1.review.review_state import ReviewItem, ReviewState
    from day1.toolsets.day1.review.reviews import ReviewMerged, ReviewShown


class AsyncReview(AsyncHandle):
    """A review of what merging one branch into another would do."""

    def __init__(self, calls: AsyncCalls, who: Who, state: ReviewItem) -> None:
        """Wrap the state of a review."""
        super().__init__(calls, who)
        self.state = state
        """The review as it was read; `show` reads it again."""

    @property
    def id(self) -> str:
        """The id of the review; its page is `/review/ID` of `day1 serve`."""
        return self.state.id

    @property
    def title(self) -> str | None:
        """Its title; None if it has none."""
        return self.state.title

    @property
    def status(self) -> str:
        """The status of the review when it was read: `open`, `merged` or `closed`."""
        return self.state.status

    @property
    def summary(self) -> str:
        """A sentence that says what the review would merge."""
        return str(self.state.summary)

    async def show(self, *, offset: int = 0, limit: int = 50) -> ReviewShown:
        """Read what the review would merge now, its decisions, and what is left.

        Args:
            offset: how many rows to leave out first.
            limit: how many rows to answer, 1 to 200.

        Returns:
            Three sides of each row with their authors; `digest` names this plan.

        Raises:
            NotFound: the review is gone.
        """
        answer: ReviewShown = await self._ask(
            "review_show", review_id=self.id, offset=offset, limit=limit
        )
        return answer

    async def decide(self, decisions: Sequence[Decision], **signed: Unpack[Signed]) -> ReviewState:
        """Decide rows or cells.

        Args:
            decisions: 1 to 1,000 decisions.
            **signed: see `Signed`.

        Raises:
            Conflict: the review is no longer open, or a row changed since it was seen.
            InvalidRequest: a decision does not fit its row.
        """
        answer: ReviewState = await self._ask(
            "review_decide", review_id=self.id, decisions=decisions, **signed
        )
        return answer

    async def approve(
        self, expect: str, *, withdraw: bool = False, **signed: Unpack[Signed]
    ) -> ReviewState:
        """Approve what the review would merge; its authors cannot.

        Args:
            expect: the `digest` of what you saw.
            withdraw: whether to take the approval back.
            **signed: see `Signed`.

        Raises:
            PlanChanged: it would merge something else by now.
            Refused: you wrote a part of it, or have no token.
        """
        answer: ReviewState = await self._ask(
            "review_approve", review_id=self.id, expect=expect, withdraw=withdraw, **signed
        )
        return answer

    async def merge(
        self,
        *,
        expect: str | None = None,
        strategy: Literal["auto", "squash"] = "auto",
        **signed: Unpack[Signed],
    ) -> ReviewMerged:
        """Merge the review as it was decided; undecided conflicts are held.

        Args:
            expect: the `digest` of what you saw: any other plan is refused.
            strategy: `squash` makes one commit and closes the source.
            **signed: see `Signed`.

        Raises:
            PlanChanged: it would merge something else by now.
            BranchProtected: the target's requirements are not fulfilled.
        """
        answer: ReviewMerged = await self._ask(
            "review_merge", review_id=self.id, expect=expect, strategy=strategy, **signed
        )
        return answer

    async def close(self, *, reason: str | None = None, **signed: Unpack[Signed]) -> ReviewState:
        """Close the review without merging; its decisions stay readable.

        Args:
            reason: why.
            **signed: see `Signed`.

        Raises:
            Conflict: it is not open, and not closed by the same agent for the same reason.
        """
        answer: ReviewState = await self._ask(
            "review_close", review_id=self.id, reason=reason, **signed
        )
        return answer

    def __repr__(self) -> str:
        """Say what it would merge."""
        return f"<day1.{type(self).__name__} {self.id}: {self.summary}>"
