"""A branch of a memory, and what is done with branches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from day1.errors import BranchExists, UnknownBranch
from day1.interfaces.python.batching import Batch
from day1.interfaces.python.calls import Calls, Who
from day1.interfaces.python.handle import moment
from day1.interfaces.python.merging import Held, Merge, Preview, merge_request
from day1.interfaces.python.options import Choice, Repeatable, Signed, Strategy, When
from day1.interfaces.python.past import Past
from day1.interfaces.python.results import Results
from day1.interfaces.python.reviewing import Review
from day1.interfaces.python.tracing import Traces
from day1.interfaces.python.writing import Writes

if TYPE_CHECKING:
    from day1.toolsets.day1.core.branches import Branches, BranchItem
    from day1.toolsets.day1.core.merges import BranchMerged, Diff
    from day1.toolsets.day1.core.snapshots import SnapshotItem, Snapshots, SnapshotTaken
    from day1.toolsets.day1.review.branches import BranchDeleted
    from day1.toolsets.day1.review.merges import HeldAnswer, Plan
    from day1.toolsets.day1.review.protection import Protected
    from day1.toolsets.day1.review.reverting import Undone
    from day1.toolsets.day1.review.review_state import ReviewState
    from day1.toolsets.day1.review.reviews import Reviews


class Branch(Traces, Writes):
    """A branch of a memory: a name, and the way to the memory; it keeps nothing else.

    As a context manager it makes the branch if it is missing. At the end of the block the branch
    is left as it is: neither merged nor deleted, also after an exception.
    """

    def __init__(self, calls: Calls, who: Who, home: str) -> None:
        """Name a branch; nothing is asked.

        Args:
            calls: the way to the memory.
            who: who calls, with the branch.
            home: the branch of the memory: the default source and target.
        """
        super().__init__(calls, who)
        self._home = home

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self._who.branch

    def branch(self, name: str) -> Branch:
        """Return another branch of the memory; nothing is asked, so it need not exist.

        Args:
            name: its name.
        """
        return Branch(self._calls, replace(self._who, branch=name), self._home)

    def as_of(self, when: When) -> Past:
        """Return the branch as it was at a moment, for reading; nothing is asked.

        Args:
            when: a `datetime` with a zone or ISO 8601; a bare date means its last instant.

        Raises:
            InvalidRequest: the time is None, or has no zone.
        """
        return Past(self._calls, self._who, moment(when))

    def batch(self, reason: str | None = None, **signed: Unpack[Signed]) -> Batch:
        """Collect changes in a `with` block, and make them at its end in one commit, or none.

        Args:
            reason: why; `history` and `blame` show it.
            **signed: see `Signed`.
        """
        return Batch(self._calls, self._who, reason, dict(signed))

    def branches(
        self, status: Literal["active", "merged", "archived"] | None = None
    ) -> Results[BranchItem]:
        """List the branches, oldest first.

        Args:
            status: only branches of this status.

        Raises:
            StoreUnavailable: the memory does not answer now.
        """
        answer: Branches = self._ask("memory_branch_list", status=status)
        return Results(answer.result, answer.read)

    def create_branch(
        self,
        name: str,
        *,
        source: str | None = None,
        at: When | None = None,
        description: str | None = None,
        **request: Unpack[Repeatable],
    ) -> Branch:
        """Fork an isolated branch; writes stay on it until it is merged.

        Args:
            name: at most 100 ASCII letters, digits and `. _ -`, in parts divided by `/`.
            source: the branch to fork; default: this one.
            at: fork it as it was at this time, as `as_of` reads it; default: as it is now.
            description: what it is for; lists of branches show it.
            **request: see `Repeatable`.

        Raises:
            BranchExists: there is such a branch; case does not count.
            InvalidRequest: the name does not fit, or the time has no zone or is in the future.
        """
        self._ask(
            "memory_branch_create",
            branch_name=name,
            parent_branch=source or self.name,
            at=at,
            description=description,
            **request,
        )
        return self.branch(name)

    def snapshot(self, label: str | None = None, **request: Unpack[Repeatable]) -> SnapshotTaken:
        """Mark the present state, so that it can be restored.

        Args:
            label: a name to find it by.
            **request: see `Repeatable`.

        Raises:
            UnknownBranch: the branch does not exist.
        """
        answer: SnapshotTaken = self._ask("memory_snapshot", label=label, **request)
        return answer

    def snapshots(self) -> Results[SnapshotItem]:
        """List the snapshots of the branch, oldest first.

        Raises:
            UnknownBranch: the branch does not exist.
        """
        answer: Snapshots = self._ask("memory_snapshot_list", branch=self.name)
        return Results(answer.result, answer.read)

    def diff(self, into: str | None = None, *, category: str | None = None) -> Diff:
        """Read what merging this branch would bring, and its conflicts; changes nothing.

        Args:
            into: the target; default: the branch of the memory.
            category: only facts of this category.

        Raises:
            UnknownBranch: one of the branches does not exist.
        """
        answer: Diff = self._ask(
            "memory_branch_diff",
            source_branch=self.name,
            target_branch=into or self._home,
            category=category,
        )
        return answer

    def preview(
        self,
        into: str | None = None,
        *,
        strategy: Strategy = "auto",
        items: Sequence[str] | None = None,
        choices: Sequence[Choice] | None = None,
        hold_duplicates: bool = False,
    ) -> Preview:
        """Plan a merge of this branch, with conflicts and possible duplicates; changes nothing.

        Args:
            into: the target; default: the branch of the memory.
            strategy: `auto` takes what has no conflict and holds the rest, `cherry_pick` takes
                `items`, `squash` makes one commit and closes this branch.
            items: the ids of the rows to take; only with `cherry_pick`.
            choices: decisions about conflicts.
            hold_duplicates: whether the plan answers possible duplicates as choices that hold
                them.

        Raises:
            UnknownBranch: one of the branches does not exist.
            InvalidRequest: a choice does not fit its row.
        """
        merge_arguments = merge_request(self.name, into or self._home, strategy, items, choices)
        plan: Plan = self._ask(
            "memory_merge_preview", **merge_arguments, hold_duplicates=hold_duplicates
        )
        return Preview(self._calls, self.branch(into or self._home)._who, plan, merge_arguments)

    def merge(
        self,
        into: str | None = None,
        *,
        strategy: Strategy = "auto",
        choices: Sequence[Choice] | None = None,
        expect: str | None = None,
        items: Sequence[str] | None = None,
        **signed: Unpack[Signed],
    ) -> Merge:
        """Merge this branch; conflicts without a choice are held, and nothing is lost.

        Args:
            into: the target; default: the branch of the memory.
            strategy: as for `preview`.
            choices: decisions about conflicts.
            expect: the digest of a preview: any other plan is refused.
            items: the ids of the rows to take; only with `cherry_pick`.
            **signed: see `Signed`.

        Raises:
            PlanChanged: the plan is not the one of `expect`.
            BranchProtected: the target takes no such merge.
            UnknownBranch: one of the branches does not exist.
        """
        merge_arguments = merge_request(self.name, into or self._home, strategy, items, choices)
        answer: BranchMerged = self._ask(
            "memory_branch_merge", **merge_arguments, expect=expect, **signed
        )
        return Merge(self._calls, self.branch(into or self._home)._who, answer)

    def held(self) -> Results[Held]:
        """List what merges into this branch held back and nobody has decided.

        Raises:
            UnknownBranch: the branch does not exist.
        """
        answer: HeldAnswer = self._ask("memory_held", action="list")
        held_items = [Held(self._calls, self._who, item) for item in answer.items]
        read_state: Any = answer.read  # a list has it
        return Results(held_items, read_state)

    def review(
        self,
        into: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        **signed: Unpack[Signed],
    ) -> Review:
        """Open a review of the merge of this branch, or return the open review.

        Args:
            into: the target; default: the branch of the memory.
            title: its title.
            description: more about it.
            **signed: see `Signed`.

        Raises:
            UnknownBranch: one of the branches does not exist.
        """
        review_state: ReviewState = self._ask(
            "review_open",
            source_branch=self.name,
            target_branch=into or self._home,
            title=title,
            description=description,
            **signed,
        )
        return Review(self._calls, self._who, review_state)

    def reviews(
        self, status: Literal["open", "merged", "closed", "all"] = "open", *, limit: int = 20
    ) -> Results[Review]:
        """List the reviews from or into this branch, newest first.

        Args:
            status: only reviews of this status.
            limit: how many to answer, 1 to 200.

        Raises:
            UnknownBranch: the branch does not exist.
        """
        answer: Reviews = self._ask("review_list", status=status, limit=limit, branch=self.name)
        reviews = [Review(self._calls, self._who, review_item) for review_item in answer.result]
        return Results(reviews, answer.read)

    def revert(
        self,
        commit: str,
        *,
        preview: bool = False,
        choices: Sequence[Choice] | None = None,
        expect: str | None = None,
        **signed: Unpack[Signed],
    ) -> Undone:
        """Undo a commit or a merge as a new commit; what changed since stays.

        Args:
            commit: the commit, or the id of the merge.
            preview: whether to answer what it would do, and do nothing.
            choices: decisions about what changed since.
            expect: the digest of a preview: any other plan is refused.
            **signed: see `Signed`.

        Raises:
            NotFound: there is no such commit on the branch.
            PlanChanged: the plan is not the one of `expect`.
        """
        answer: Undone = self._ask(
            "memory_revert",
            commit=commit,
            preview=preview,
            choices=choices,
            expect=expect,
            **signed,
        )
        return answer

    def protect(
        self,
        requires: Sequence[Literal["review", "gate", "other", "tiers"]],
        *,
        tiers: Sequence[str] | None = None,
        **request: Unpack[Repeatable],
    ) -> Protected:
        """Let the branch take only merges that fulfil `requires`; an empty list ends that.

        Args:
            requires: `review`, `gate`, `other` or `tiers`, as `memory_branch_protect` has them.
            tiers: the rules of `tiers`, such as `two category=policy`.
            **request: see `Repeatable`.

        Raises:
            Forbidden: the token does not allow it.
        """
        answer: Protected = self._ask(
            "memory_branch_protect",
            branch_name=self.name,
            requires=requires,
            tiers=tiers,
            **request,
        )
        return answer

    def drop(self, *, force: bool = False, **request: Unpack[Repeatable]) -> BranchDeleted:
        """Delete the branch if another one has its memories.

        Args:
            force: whether to delete it even if no other branch has all of them.
            **request: see `Repeatable`.

        Raises:
            Refused: memories would be lost, or it is the branch of the memory.
        """
        answer: BranchDeleted = self.branch(self._home)._ask(
            "memory_branch_delete", branch_name=self.name, force=force, **request
        )
        return answer

    def call(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Call any operation of day1, by its name or as TOOLSET.NAME.

        Args:
            operation: such as `memory_task_create`, or `kompanion.save_context`.
            **arguments: as the pages in `docs/tools` have them.

        Returns:
            The answer as JSON.

        Raises:
            UnknownTool: there is no such operation.
            InvalidRequest: the arguments do not fit.
        """
        return self._ask_plainly(operation, **arguments)

    def __enter__(self) -> Self:
        """Make the branch if it is missing, as a fork of the branch of the memory."""
        try:
            self.log(limit=1)
        except UnknownBranch:
            with suppress(BranchExists):  # another one made it meanwhile
                self.create_branch(self.name, source=self._home)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the branch as it is."""
