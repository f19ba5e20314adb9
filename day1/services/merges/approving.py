"""Approvals of reviews: give one, withdraw one, and count those that are valid."""

from dataclasses import dataclass

from day1.errors import Refused
from day1.model.merge.tiers import strictest
from day1.model.records.review import Approval, Review
from day1.services.merges.authorship import Authors, authors, looks
from day1.services.merges.planning import check_digest
from day1.services.merges.protection import tiers_of
from day1.services.merges.reviews import (
    Examined,
    check_open,
    examine,
    find_review,
    no_merge_meanwhile,
)
from day1.services.repository.repository import Repository


def authors_of(repo: Repository, examined: Examined) -> Authors:
    """Return the authors of an examined review, whose approval of it does not count."""
    source_and_target = examined.source, examined.target
    strictest_tier = strictest(tiers_of(repo, *source_and_target, examined.plan).values())
    return authors(repo, examined.review, source_and_target, examined.plan, strictest_tier)


def counted(repo: Repository, examined: Examined) -> list[Approval]:
    """List the valid approvals of an examined review."""
    approvals = examined.review.approved
    return looks(approvals, examined.plan.digest, authors_of(repo, examined)) if approvals else []


@dataclass(frozen=True, slots=True)
class Approver:
    """The agent or person who approves a review, and their token."""

    agent: str | None
    token: str | None
    person: bool
    """Whether the approval came over a wire that people use: the command line or the pages."""


def approve(repo: Repository, review: Review, by: Approver, expect: str, now: int) -> Review:
    """Record an approval of the review's plan, which must have the digest `expect`.

    Raises:
        PlanChanged: the plan has another digest.
        Refused: the approver is an author, or cannot be told apart from one.
        Conflict: the review is merged or closed, or a branch is gone.
    """
    examined = examine(repo, check_open(review))
    check_digest(expect, examined.plan)
    if by.token is None and not by.person:
        raise Refused(
            "Without a token, an agent cannot be told apart from the author. An agent approves "
            "over HTTP with a token of its own, a person with `day1 review approve` or on the "
            "pages.",
            review_id=review.id,
        )
    approval = Approval(expect, by.agent, now, by.token)
    if authors_of(repo, examined).wrote(approval):
        raise Refused(
            "Somebody else must approve: the approver wrote on the branch, or gave values or "
            "deleted rows in the review.",
            review_id=review.id,
        )
    return _put(repo, review, by.token, approval)


def withdraw(repo: Repository, review: Review, token: str | None) -> Review:
    """Remove a token's approval of a review.

    Raises:
        Conflict: the review is merged or closed.
    """
    return _put(repo, review, token, None)


def _put(repo: Repository, review: Review, token: str | None, approval: Approval | None) -> Review:
    with no_merge_meanwhile(repo, review):
        updated_review = check_open(find_review(repo, review.id)).with_approval(token, approval)
        repo.ledger.put(updated_review)
    return updated_review
