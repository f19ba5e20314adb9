"""Objects of a merge: its preview, its result, and the items that it held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from day1.errors import InvalidRequest
from day1.interfaces.python.calls import Calls, Who
from day1.interfaces.python.handle import Handle
from day1.interfaces.python.options import Choice, Signed, Strategy

if TYPE_CHECKING:
    from day1.toolsets.day1.core.merges import BranchMerged
    from day1.toolsets.day1.review.merges import Duplicate, HeldAnswer, HeldShown, Plan
    from day1.toolsets.shared.shown import ConflictShown

_ACTIONS: Mapping[str, str] = {"theirs": "take", "ours": "dismiss", "value": "edit"}


class Held(Handle):
    """One value that a merge held back, until somebody decides it."""

    def __init__(self, calls: Calls, who: Who, item: HeldShown) -> None:
        """Wrap an open item of the branch of `who`."""
        super().__init__(calls, who)
        self.item = item
        """The item as it was read: what the branch has, and what is offered."""

    @property
    def id(self) -> str:
        """The id of the held item."""
        return self.item.id

    @property
    def row_id(self) -> str:
        """The id of the memory that it is about."""
        return self.item.row_id

    @property
    def ours(self) -> dict[str, Any] | None:
        """The columns that the branch has now; None: the branch lacks the row."""
        return self.item.present

    @property
    def theirs(self) -> dict[str, Any] | None:
        """The columns that the source offered; None: the source had removed the row."""
        return self.item.offered

    def decide(
        self,
        take: Literal["ours", "theirs", "value"],
        value: Mapping[str, Any] | None = None,
        **signed: Unpack[Signed],
    ) -> HeldAnswer:
        """Decide the item: keep what the branch has, take what is offered, or set a value.

        Args:
            take: `ours` keeps the branch's columns, `theirs` takes the offered ones, `value` sets
                `value`.
            value: the columns to set, by name; only with `value`.
            **signed: see `Signed`.

        Returns:
            The items that are still open on the branch.

        Raises:
            NotFound: somebody decided it before.
            InvalidRequest: `value` does not fit.
        """
        if (take == "value") != (value is not None):
            raise InvalidRequest(
                '`value` must be given with take="value", and with no other `take`.'
            )
        answer: HeldAnswer = self._ask(
            "memory_held", action=_ACTIONS.get(take, take), id=self.id, value=value, **signed
        )
        return answer


class Merge(Handle):
    """A merge that was done: its counts, its conflicts and the review in which changes wait."""

    def __init__(self, calls: Calls, who: Who, answer: BranchMerged) -> None:
        """Wrap the answer of a merge into the branch of `who`."""
        super().__init__(calls, who)
        self.answer = answer
        """The whole answer, with the commit and its notes."""

    @property
    def id(self) -> str:
        """The id of the merge; empty if all of it waits for a review."""
        return self.answer.merge_id

    @property
    def merged_count(self) -> int:
        """How many memories came to the target or were changed there."""
        return self.answer.merged_count

    @property
    def held_count(self) -> int:
        """How many memories have a value that was held back."""
        return self.answer.rejected_count

    @property
    def commit(self) -> str:
        """The commit of the target after the merge."""
        return self.answer.written.commit

    @property
    def conflicts(self) -> Sequence[ConflictShown]:
        """The cells that both sides changed, with both values."""
        return self.answer.conflicts

    @property
    def review_id(self) -> str | None:
        """The id of the review in which the other changes wait; None if none waits."""
        return self.answer.review_id

    def held(self) -> list[Held]:
        """Read the items that this merge held back and nobody has decided yet.

        Raises:
            UnknownBranch: the target does not exist any more.
        """
        answer: HeldAnswer = self._ask("memory_held", action="list")
        items = [item for item in answer.items if item.merge_id == self.id]
        return [Held(self._calls, self._who, item) for item in items]


class Preview(Handle):
    """The plan of a merge; `merge` does exactly this plan, or nothing."""

    def __init__(self, calls: Calls, who: Who, plan: Plan, request: Mapping[str, Any]) -> None:
        """Wrap the plan of a merge into the branch of `who`; `request` has its arguments."""
        super().__init__(calls, who)
        self._request = request
        self.plan = plan
        """The whole plan."""

    @property
    def digest(self) -> str:
        """The digest of the plan, as `merge(expect=…)` takes it."""
        return self.plan.digest

    @property
    def rows(self) -> Sequence[dict[str, Any]]:
        """The rows that would come, change or go: `id`, `type`, `effect` and `text` of each."""
        return self.plan.rows

    @property
    def conflicts(self) -> Sequence[ConflictShown]:
        """The cells that both sides changed; a merge would hold them."""
        return self.plan.conflicts

    @property
    def duplicates(self) -> Sequence[Duplicate]:
        """Pairs of new texts, one of each side, that mean nearly the same or the opposite."""
        return self.plan.possible_duplicates

    def merge(self, *, choices: Sequence[Choice] | None = None, **signed: Unpack[Signed]) -> Merge:
        """Merge exactly what was previewed.

        Args:
            choices: decisions about conflicts, in place of those that were previewed: then the
                plan is another one, and is merged as it is now.
            **signed: see `Signed`.

        Raises:
            PlanChanged: one of the branches changed since; preview again.
            BranchProtected: the target takes no such merge.
        """
        merge_arguments = dict(self._request)
        if choices is None:
            merge_arguments["expect"] = self.digest
        else:
            merge_arguments["choices"] = choices
        answer: BranchMerged = self._ask("memory_branch_merge", **merge_arguments, **signed)
        return Merge(self._calls, self._who, answer)

    def __repr__(self) -> str:
        """Count what would come and what would be held."""
        return (
            f"<day1.{type(self).__name__} into {self._who.branch!r}: "
            f"{self.plan.merged_count} would come, {self.plan.rejected_count} would be held>"
        )


def merge_request(
    source: str, into: str, strategy: Strategy, items: Sequence[str] | None, choices: Any
) -> dict[str, Any]:
    """Build the arguments that a preview and its merge share."""
    return {
        "source_branch": source,
        "target_branch": into,
        "strategy": strategy,
        "items": items,
        "choices": choices,
    }
