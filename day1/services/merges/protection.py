"""Protected branches: their requirements, and the checks of a merge against them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from day1.errors import Advice, BranchProtected, InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.branches.protection_change import ProtectionChange
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import OWN, Choice
from day1.model.merge.tiers import Judged, asks_who, judged, rule_of, strictest
from day1.model.records.review import Review, undecided
from day1.model.values.tiers import stored_rule
from day1.services.branches.lookup import find_again
from day1.services.merges.authorship import authors, brought, looks, writers
from day1.services.merges.gate import verdicts
from day1.services.merges.merging import Guard
from day1.services.repository.repository import Repository

TIERED: Final = "tiers"
"""The requirement that each row has as many approvals as the branch's rules ask for."""


@dataclass(frozen=True, slots=True)
class Merger:
    """The token that merges, and the review and the choices of the merge."""

    token_id: str | None
    review: Review | None = None
    choices: Sequence[Choice] = ()
    digest: str = ""
    """The digest of the review's plan as people see and approve it."""


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge that is checked against the target's requirements."""

    repo: Repository
    by: Merger
    source: Branch
    target: Branch
    plan: MergePlan


@dataclass(frozen=True, slots=True)
class Protector:
    """The agent, token and wire that change a branch's requirements."""

    agent: str | None = None
    token: str | None = None
    source: str | None = None


def protect(
    repo: Repository,
    branch: Branch,
    requires: Sequence[str],
    rules: Sequence[str] | None = None,
    by: Protector | None = None,
) -> Branch:
    """Set the requirements for merges into a branch (none: unprotect it) and log the change.

    Args:
        repo: the memory.
        branch: the branch to protect.
        requires: the requirements.
        rules: the rules of the requirement `tiers`; None keeps the present ones.
        by: the caller.

    Raises:
        InvalidRequest: a rule cannot be parsed, or there are rules without `tiers`.
        UnknownBranch: the branch was deleted or retired meanwhile.
    """
    if rules and TIERED not in requires:
        raise InvalidRequest(f"Rules go with the requirement {TIERED!r}: add it to `requires`.")
    rule_lines = (
        None
        if rules is None
        else tuple(dict.fromkeys(stored_rule(str(rule_of(rule))) for rule in rules))
    )
    tier_rules = rule_lines if TIERED in requires else ()
    notes = {
        "protection": tuple(requirement for requirement in _CHECKS if requirement in requires),
        "tiers": tier_rules,
    }
    by, now = by or Protector(), repo.clock()
    with repo.ledger.transaction():
        branch_before = find_again(repo, branch)
        branch_after = branch_before.with_notes(**notes)
        if branch_after != branch_before:
            change_id = repo.new_id("protection", now)
            change_origin = change_id, branch.id, by.agent, by.token, by.source
            changed_values = (
                branch_before.protection,
                branch_before.tiers,
                branch_after.protection,
                branch_after.tiers,
            )
            repo.ledger.put_branch(branch_after)
            repo.ledger.put(ProtectionChange(*change_origin, *changed_values, now))
    return branch_after


def changes_of(repo: Repository, branch: Branch) -> list[ProtectionChange]:
    """List the changes of a branch's requirements, newest first."""
    return repo.ledger.records(ProtectionChange, branch_id=branch.id)[::-1]


def tiers_of(
    repo: Repository, source: Branch, target: Branch, plan: MergePlan
) -> dict[str, Judged]:
    """Judge the tier of each row of a plan, by row id; empty if the target has no tiers."""
    if TIERED not in target.protection:
        return {}
    asks_for_authors = plan.rows and asks_who(target.tiers)
    imported_ids = brought(repo, source, target) if asks_for_authors else ()
    return judged(plan, target.tiers, source.name, imported_ids)


def lacking(
    repo: Repository, by: Merger, source: Branch, target: Branch, plan: MergePlan
) -> dict[str, Advice]:
    """List the requirements of the target that a merge does not meet, each with advice."""
    merge = _Merge(repo, by, source, target, plan)
    advice_by_requirement = {
        requirement: _CHECKS[requirement](merge) for requirement in target.protection
    }
    return {
        requirement: advice
        for requirement, advice in advice_by_requirement.items()
        if advice is not None
    }


def guard(repo: Repository, by: Merger) -> Guard:
    """Build the check that raises BranchProtected if a merge misses a requirement of its target."""

    def check(source: Branch, target: Branch, plan: MergePlan) -> None:
        advice_by_requirement = lacking(repo, by, source, target, plan)
        if advice_by_requirement:
            raise BranchProtected(
                f"{target.name!r} is protected.",
                Advice.joined(advice_by_requirement.values()),
                branch=target.name,
                requires=list(target.protection),
                missing=list(advice_by_requirement),
            )

    return check


def _review(merge: _Merge) -> Advice | None:
    if merge.by.review is None:
        return Advice(
            "The branch takes merges by review only: {review_open}, {review_decide}, then "
            "{review_merge}."
        )
    undecided_count = len(undecided(merge.plan, merge.by.choices))
    if undecided_count:
        return Advice(
            "Undecided conflicts: {left}. Decide them with {review_decide}; take=skip holds one.",
            left=undecided_count,
        )
    return None


def _gate(merge: _Merge) -> Advice | None:
    count_by_verdict = Counter(verdicts(merge.plan).values())
    invalidated_count, unverified_count = (
        count_by_verdict["invalidated"],
        count_by_verdict["unverified"],
    )
    if invalidated_count or unverified_count:
        return Advice(
            "Facts that are not verified: {wrong} invalidated, {open} unverified. "
            "{verify_merge_gate} lists them, {verify_batch} judges them, {memory_retract_fact} "
            "retracts one.",
            wrong=invalidated_count,
            open=unverified_count,
        )
    return None


def _other_token(merge: _Merge) -> Advice | None:
    token_id = merge.by.token_id
    if token_id is None:
        return Advice(
            "The caller has no token, so day1 cannot tell whether the author merges: merge with a "
            "token that wrote nothing on the branch."
        )
    writer_token_ids = {
        session.token_id for session in writers(merge.repo, merge.source, merge.target)
    }
    if token_id in writer_token_ids | _deciders(merge):
        return Advice(
            "This token wrote on the branch, opened the review, or gave values or deleted rows in "
            "it: merge with another token."
        )
    return None


def _deciders(merge: _Merge) -> set[str | None]:
    """Return the tokens that opened the review, gave values in it or deleted rows in it."""
    review = merge.by.review
    if review is not None:
        decider_token_ids = {
            decision.token_id for decision in review.decided if decision.take in OWN
        }
        return decider_token_ids | {review.opened_token}
    has_own_values = any(OWN & set(row.decided.values()) for row in merge.plan.rows)
    return {merge.by.token_id} if has_own_values else set()


def _tiers(merge: _Merge) -> Advice | None:
    tier_by_row = tiers_of(merge.repo, merge.source, merge.target, merge.plan)
    strictest_tier, review = strictest(tier_by_row.values()), merge.by.review
    if not strictest_tier.looks:
        return None
    strict_row_count = sum(1 for tier in tier_by_row.values() if tier.looks)
    if review is None:
        return Advice(
            "Rows that need approval: {count}. {review_open}, then {review_approve} by others than "
            "the authors, then {review_merge}.",
            count=strict_row_count,
        )
    source_and_target = merge.source, merge.target
    review_authors = authors(merge.repo, review, source_and_target, merge.plan, strictest_tier)
    approval_count = len(looks(review.approved, merge.by.digest, review_authors))
    if approval_count >= strictest_tier.looks:
        return None
    return Advice(
        "Approvals that the merge needs: {needs} ({why}); valid ones so far: {have}. Others than "
        "the authors give one with {review_approve}.",
        needs=strictest_tier.looks,
        why=strictest_tier.why,
        have=approval_count,
    )


_CHECKS: Mapping[str, Callable[[_Merge], Advice | None]] = {
    "review": _review,
    "gate": _gate,
    "other": _other_token,
    TIERED: _tiers,
}
