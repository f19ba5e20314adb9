"""Protected branches: what a merge into one must fulfil, and who may do it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from day1.errors import Advice, BranchProtected
from day1.model.branches.branch import Branch
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import OWN, Choice
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review, undecided
from day1.model.records.session import Session
from day1.model.records.sharing import Handoff
from day1.services.branches.notes import mark
from day1.services.merges.gate import verdicts
from day1.services.merges.merging import Guard
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Merger:
    """Who merges, and by which review with which choices."""

    token_id: str | None
    review: Review | None = None
    choices: Sequence[Choice] = ()


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge that is held against what a target requires."""

    repo: Repository
    by: Merger
    source: Branch
    target: Branch
    plan: MergePlan


def protect(repo: Repository, branch: Branch, requires: Sequence[str]) -> Branch:
    """Set what merges into a branch must fulfil; nothing lifts its protection.

    Raises:
        UnknownBranch: it was deleted or retired meanwhile.
    """
    return mark(repo, branch, protection=tuple(r for r in _CHECKS if r in requires))


def lacking(
    repo: Repository, by: Merger, source: Branch, target: Branch, plan: MergePlan
) -> dict[str, Advice]:
    """Which requirements of the target a merge does not fulfil, each with what to do."""
    merge = _Merge(repo, by, source, target, plan)
    said = {required: _CHECKS[required](merge) for required in target.protection}
    return {required: why for required, why in said.items() if why is not None}


def guard(repo: Repository, by: Merger) -> Guard:
    """Let merges pass that fulfil what their target requires; others raise BranchProtected."""

    def check(source: Branch, target: Branch, plan: MergePlan) -> None:
        missing = lacking(repo, by, source, target, plan)
        if missing:
            raise BranchProtected(
                f"{target.name!r} is protected.",
                Advice.joined(missing.values()),
                branch=target.name,
                requires=list(target.protection),
                missing=list(missing),
            )

    return check


def _review(merge: _Merge) -> Advice | None:
    if merge.by.review is None:
        return Advice(
            "It takes merges by review only: {review_open}, {review_decide}, then {review_merge}."
        )
    left = len(undecided(merge.plan, merge.by.choices))
    if left:
        return Advice(
            "Conflicts that nobody decided: {left}. {review_decide} does; take=skip holds one.",
            left=left,
        )
    return None


def _gate(merge: _Merge) -> Advice | None:
    found = Counter(verdicts(merge.plan).values())
    wrong, open_ = found["invalidated"], found["unverified"]
    if wrong or open_:
        return Advice(
            "Facts that are not verified: {wrong} invalidated, {open} unverified. "
            "{verify_merge_gate} names them; {verify_batch} judges, {memory_retract_fact} removes.",
            wrong=wrong,
            open=open_,
        )
    return None


def _other(merge: _Merge) -> Advice | None:
    token = merge.by.token_id
    if token is None:
        return Advice(
            "Somebody else than the author must merge, with a token: without one, who can tell?"
        )
    if token in _writers(merge.repo, merge.source, merge.target) | _deciders(merge):
        return Advice(
            "Another token must merge than those that wrote on the branch, opened the review, or "
            "gave values or deleted in it."
        )
    return None


def _deciders(merge: _Merge) -> set[str | None]:
    """The tokens that opened the review, or put in what neither side has."""
    review = merge.by.review
    if review is not None:
        wrote = {one.token_id for one in review.decided if one.take in OWN}
        return wrote | {review.opened_token}
    gave = any(OWN & set(row.decided.values()) for row in merge.plan.rows)
    return {merge.by.token_id} if gave else set()


_CHECKS: Mapping[str, Callable[[_Merge], Advice | None]] = {
    "review": _review,
    "gate": _gate,
    "other": _other,
}


def _writers(repo: Repository, source: Branch, target: Branch) -> set[str | None]:
    """The tokens that wrote what a branch may bring to another.

    On it, on what it was forked from below the target's own past, and on what was merged or
    handed over into these: so a fork of a branch is no way around.
    """
    seen = {branch.id for branch in _line(repo, target)}
    queue = [source.id]
    tokens: set[str | None] = set()
    for branch_id in queue:
        if branch_id in seen:
            continue
        seen.add(branch_id)
        tokens |= {noted.token_id for noted in repo.ledger.records(Session, branch_id=branch_id)}
        branch = repo.ledger.record(Branch, branch_id)
        queue += [branch.parent_id] if branch is not None and branch.parent_id else []
        queue += [m.source_id for m in repo.ledger.records(MergeRecord, target_id=branch_id)]
        queue += [h.source_id for h in repo.ledger.records(Handoff, target_id=branch_id)]
    return tokens


def _line(repo: Repository, branch: Branch) -> list[Branch]:
    """A branch and those that it was forked from."""
    line = [branch]
    while (parent := repo.ledger.record(Branch, line[-1].parent_id or "")) is not None:
        line.append(parent)
    return line
