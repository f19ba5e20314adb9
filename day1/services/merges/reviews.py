"""Reviews: open, plan, decide, merge and close them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from day1.errors import Advice, Conflict, NotFound, PlanChanged, Refused
from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem, keeps_out
from day1.model.merge.plan import MergePlan, Strategy, plan_merge, three_ways
from day1.model.merge.row_merge import Choice, PlanRow, Take, agree
from day1.model.records.review import Decision, Review, ReviewStatus, fingerprint, undecided
from day1.model.rows.kind import WHOLE
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import refuse_closed, revival_of
from day1.services.merges.merging import Merged, merge
from day1.services.merges.planning import (
    MergeRequest,
    Preview,
    check_cell,
    check_digest,
    completed,
    look,
)
from day1.services.merges.protection import Merger, guard
from day1.services.repository.repository import Repository, find_record

_GROUPS = ("conflicts", "held", "duplicates", "new", "changed", "removed")


@dataclass(frozen=True, slots=True)
class Examined:
    """A review, planned against the present state of its branches."""

    review: Review
    source: Branch
    target: Branch
    seen: Preview
    """The preview without the review's decisions."""
    plan: MergePlan
    """The plan with the decisions that still apply."""
    rows: Mapping[str, PlanRow]
    """The rows that can be decided, by id, without the decisions applied."""
    held: Mapping[str, tuple[HeldItem, ...]]
    """Open held items of the target that came from this source, by row id."""
    choices: tuple[Choice, ...] = ()
    """The decisions that still apply, as choices of the plan."""
    stale: tuple[Decision, ...] = ()
    """Decisions about cells that changed since; they are kept but not applied."""

    @property
    def undecided(self) -> list[tuple[PlanRow, str]]:
        """The conflicts that nobody decided."""
        return undecided(self.plan, self.choices)

    @property
    def merges(self) -> bool:
        """Whether the review has anything to merge."""
        return bool(self.plan.rows) or self.plan.moves_base

    @property
    def closed(self) -> Branch | None:
        """The source or target if it is closed, so that nothing can be merged; else None."""
        return next((branch for branch in (self.source, self.target) if branch.closed), None)


def find_review(repo: Repository, review_id: str) -> Review:
    """Find a review by its id.

    Raises:
        NotFound: no review has this id.
    """
    return find_record(repo, Review, review_id, Advice("{review_list} lists the reviews."))


def reviews(
    repo: Repository, status: ReviewStatus | None = "open", branch: Branch | None = None
) -> list[Review]:
    """List reviews, newest first, by status and by a branch that is their source or target."""
    status_filter = {} if status is None else {"status": str(status)}
    if branch is None:
        return repo.ledger.records(Review, **status_filter)[::-1]
    of_branch = [
        *repo.ledger.records(Review, source_id=branch.id, **status_filter),
        *repo.ledger.records(Review, target_id=branch.id, **status_filter),
    ]
    return sorted(of_branch, key=lambda review: (review.created_at, review.id), reverse=True)


def open_review(
    repo: Repository,
    sides: tuple[Branch, Branch],
    texts: tuple[str | None, str | None],
    by: tuple[str | None, str | None],
    now: int,
) -> Review:
    """Open a review of merging source into target, or return the one that is open already.

    Args:
        repo: the memory.
        sides: source and target.
        texts: title and description.
        by: the agent who opens it, and its token.
        now: the time.

    Raises:
        BranchClosed: one of the branches is closed.
        Refused: source and target are one branch.
    """
    source, target = (refuse_closed(side) for side in sides)
    if source.id == target.id:
        raise Refused(
            "A branch cannot be reviewed against itself: name another target.", branch=source.name
        )
    with repo.ledger.transaction():
        open_review_filter = {"source_id": source.id, "target_id": target.id, "status": "open"}
        open_reviews = repo.ledger.records(Review, **open_review_filter)
        if open_reviews:
            return open_reviews[0]
        review_id = repo.new_id("review", now)
        review = Review(review_id, source.id, target.id, *texts, "open", *by, now)
        repo.ledger.put(review)
    return review


def gone(repo: Repository, review: Review) -> Advice | None:
    """Explain which branch of a review is gone and what to do; None if both exist."""
    for side_name, branch_id in (("source", review.source_id), ("target", review.target_id)):
        branch = repo.ledger.record(Branch, branch_id)
        if branch is None:
            return Advice(
                "The {side} branch was deleted: {review_close} closes the review.", side=side_name
            )
        if branch.retired_tip is not None:
            return Advice(
                "The {side} branch '{name}' was retired: {revive} brings it back, "
                "{review_close} closes the review.",
                side=side_name,
                name=branch.name,
                revive=revival_of(branch),
            )
    return None


def examine(repo: Repository, review: Review, *, both: bool = False) -> Examined:
    """Plan the merge of a review on the present branches; `both` also reads the target's changes.

    Raises:
        Conflict: one of its branches is gone.
    """
    gone_advice = gone(repo, review)
    source = repo.ledger.record(Branch, review.source_id)
    target = repo.ledger.record(Branch, review.target_id)
    if gone_advice is not None or source is None or target is None:
        message = gone_advice or "A branch of the review was deleted just now."
        raise Conflict(message, review_id=review.id)
    merge_preview = look(repo, MergeRequest(source, target, "auto"), both=both)
    row_by_id = {row.id: row for row in three_ways(merge_preview.sides)}
    held_by_row = _held(merge_preview, row_by_id)
    reviewed_by_id = {row.id: row for row in merge_preview.plan.rows}
    reviewed_by_id |= {
        row_id: row_by_id[row_id] for row_id in held_by_row if row_id not in reviewed_by_id
    }
    examined = Examined(
        review, source, target, merge_preview, merge_preview.plan, reviewed_by_id, held_by_row
    )
    return _decided(examined, review)


def _decided(examined: Examined, review: Review) -> Examined:
    """Return the examined review with the decisions of `review` applied to its plan."""
    checked_decisions = [(decision, decision.holds(examined.rows)) for decision in review.decided]
    choices = tuple(
        completed(decision.choice) for decision, applies in checked_decisions if applies
    )
    stale_decisions = tuple(decision for decision, applies in checked_decisions if not applies)
    plan = plan_merge(examined.seen.sides, "auto", choices) if choices else examined.seen.plan
    return replace(examined, review=review, plan=plan, choices=choices, stale=stale_decisions)


def _held(
    merge_preview: Preview, row_by_id: Mapping[str, PlanRow]
) -> dict[str, tuple[HeldItem, ...]]:
    """Find the target's open items that came from this source and where the sides still differ."""
    items_by_row: dict[str, tuple[HeldItem, ...]] = {}
    for item in merge_preview.sides.target_held:
        row = row_by_id.get(item.row_id)
        if row is None or item.source_branch != merge_preview.sides.source_branch:
            continue
        if row.target is not None and keeps_out(item):
            continue
        if not agree(row.source, row.target, item.kind.group(item.cell)):
            items_by_row[row.id] = (*items_by_row.get(row.id, ()), item)
    return items_by_row


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A reviewer's decision about a cell of a row; `take` None withdraws an earlier one."""

    row_id: str
    cell: str
    take: Take | None
    choice: Choice | None = None
    seen: str | None = None
    """The fingerprint of the row when the reviewer saw it."""


def decide(
    repo: Repository,
    review: Review,
    new_decisions: Iterable[NewDecision],
    by: tuple[str | None, str | None],
    now: int,
) -> Examined:
    """Add or withdraw decisions of a reviewer, and keep those that others make meanwhile.

    Raises:
        NotFound: the plan lacks the row.
        InvalidRequest: the decision is about a cell of a row that is decided only as a whole.
        PlanChanged: the row changed since the reviewer saw it.
        Conflict: the review is merged or closed, or a branch is gone.
    """
    check_open(review)
    examined = examine(repo, review)
    decisions_to_add, cleared_cells = [], []
    for decision in new_decisions:
        if decision.choice is None:
            cleared_cells.append((decision.row_id, decision.cell))
            continue
        row = _decidable(examined.rows, decision)
        decided_value = None if decision.choice.value is None else dict(decision.choice.value)
        row_fingerprint = fingerprint(row, decision.cell)
        agent_id, token_id = by
        decisions_to_add.append(
            Decision(
                row.id,
                decision.cell,
                decision.choice.take,
                decided_value,
                agent_id,
                now,
                row_fingerprint,
                token_id,
            )
        )
    with no_merge_meanwhile(repo, review):
        updated_review = check_open(find_review(repo, review.id)).with_decisions(
            decisions_to_add, cleared_cells
        )
        repo.ledger.put(updated_review)
    return _decided(examined, updated_review)


def _decidable(rows: Mapping[str, PlanRow], decision: NewDecision) -> PlanRow:
    row = rows.get(decision.row_id)
    if row is None:
        raise NotFound(
            f"{decision.row_id} is not in the plan of this review.",
            Advice("{review_show} lists its rows."),
            id=decision.row_id,
        )
    if decision.seen not in {None, fingerprint(row, WHOLE)}:
        raise PlanChanged(
            f"{row.id} changed since you saw it.",
            Advice("Look at it again with {review_show}."),
            id=row.id,
        )
    if decision.take is not None:
        is_on_both = row.source is not None and row.target is not None
        check_cell(row.id, decision.cell, decision.take, both=is_on_both)
    return row


@contextmanager
def no_merge_meanwhile(repo: Repository, review: Review) -> Iterator[None]:
    """Block the merge of a review while the review changes; wait for a merge that has begun."""
    with repo.ledger.exclusive(review.id), repo.ledger.transaction():
        yield


def check_open(review: Review) -> Review:
    """Refuse a review that is not open; else return it.

    Raises:
        Conflict: it is merged or closed.
    """
    if review.status != "open":
        raise Conflict(
            f"The review is {review.status}, no longer open.",
            Advice("Open a new one with {review_open}."),
            review_id=review.id,
            status=review.status,
        )
    return review


def merge_review(
    repo: Repository,
    review: Review,
    terms: tuple[Strategy, str | None],
    by: tuple[Origin, str | None],
    now: int,
) -> Merged:
    """Merge a review's source by its decisions, and mark the review as merged.

    Args:
        repo: the memory.
        review: the review to merge.
        terms: the strategy, and the digest that the reviewer saw.
        by: the caller's origin, and the token.
        now: the time.

    Raises:
        PlanChanged: the plan has another digest than the caller saw, or a decision is stale.
        BranchProtected: the merge misses a requirement of the target.
        Conflict: the review is merged or closed, or has nothing to merge.
        as `merging.merge`.
    """
    (strategy, expect), (origin, token) = terms, by
    examined = examine(repo, check_open(review))
    _check_decisions(examined, expect)
    # The plan under the lock must equal this one: the digest covers rows, sides and choices.
    plan = plan_merge(examined.seen.sides, strategy, examined.choices)

    def check(source: Branch, target: Branch, planned: MergePlan) -> None:
        current_review = check_open(find_review(repo, review.id))
        if current_review.decisions != review.decisions:
            raise PlanChanged(
                Advice("The review has new decisions: look at it again with {review_show}.")
            )
        merger = Merger(token, current_review, examined.choices, examined.plan.digest)
        guard(repo, merger)(source, target, planned)

    request = MergeRequest(
        examined.source,
        examined.target,
        strategy,
        examined.choices,
        expect=plan.digest,
        review_id=review.id,
    )
    return merge(repo, request, origin, now, check)


def _check_decisions(examined: Examined, expect: str | None) -> None:
    if examined.stale:
        stale_row_ids = list(dict.fromkeys(decision.row_id for decision in examined.stale))
        raise PlanChanged(
            f"These rows changed after they were decided: {', '.join(stale_row_ids[:10])}.",
            Advice("Decide them again with {review_decide}; take=clear withdraws a decision."),
            stale=[{"id": decision.row_id, "cell": decision.cell} for decision in examined.stale],
        )
    check_digest(expect, examined.plan)
    if not examined.merges:
        raise Conflict(
            f"{examined.target.name!r} has all changes of {examined.source.name!r} already.",
            Advice("{review_close} closes the review."),
            review_id=examined.review.id,
        )


def close_review(
    repo: Repository, review: Review, by: str | None, reason: str | None, now: int
) -> Review:
    """Close a review without merging; its decisions stay with it.

    A review that the same agent closed for the same reason stays as it is.

    Raises:
        Conflict: it is merged, or was closed by another agent or for another reason.
    """
    with no_merge_meanwhile(repo, review):
        current_review = find_review(repo, review.id)
        present = (current_review.status, current_review.closed_by, current_review.reason)
        if present == ("closed", by, reason):
            return current_review
        closed_review = replace(
            check_open(current_review), status="closed", closed_by=by, closed_at=now, reason=reason
        )
        repo.ledger.put(closed_review)
    return closed_review


def grouped(examined: Examined, duplicate_ids: Collection[str] = ()) -> dict[str, list[PlanRow]]:
    """Group the rows of a review; the groups that need decisions come first."""
    rows_by_group: dict[str, list[PlanRow]] = {group_name: [] for group_name in _GROUPS}
    for row in examined.rows.values():
        group_name = row.effect
        if row.id in examined.held:
            group_name = "held"
        elif row.held:
            group_name = "conflicts"
        elif row.id in duplicate_ids:
            group_name = "duplicates"
        rows_by_group[group_name].append(row)
    return rows_by_group
