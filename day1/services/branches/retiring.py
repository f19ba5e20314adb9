"""Retiring branches: delete the ref, so that refs stay few, and keep record and commits."""

from dataclasses import dataclass, replace

from day1.errors import Refused
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.intent import IntentKind
from day1.services.branches.deleting import keep, leaving, refuse_loss
from day1.services.branches.lookup import find_again
from day1.services.branches.notes import unmark_retired
from day1.services.repository.repository import Repository


def retire(repo: Repository, branch: Branch, now: int) -> Branch:
    """Delete a branch's ref; `revive` brings the branch back as it was.

    Raises:
        UnknownBranch: it was deleted or retired meanwhile.
        Refused: the branch is main.
        BranchProtected: it is protected.
        StoreBusy: writers held the branch for longer than the limit; it stays.
    """
    name = refuse_loss(branch).name
    if name == MAIN:
        raise Refused("main cannot be retired.", branch=name)
    with repo.ledger.open_intent(RETIRE, RetireIntent(name), now, (name,)):
        repo.point("retire.after_intent")
        with leaving(repo, branch) as (retired_branch, tip):
            repo.point("retire.marked")
            keep(repo, branch, tip)
            repo.history.drop(name)
            repo.point("retire.after_engine")
    return retired_branch


def revive(repo: Repository, branch: Branch, now: int) -> Branch:
    """Bring a retired branch back; a branch that has a ref stays as it is.

    Raises:
        UnknownBranch: it was deleted meanwhile.
    """
    if _retired(repo, branch) is None:
        return find_again(repo, branch)
    with repo.ledger.open_intent(REVIVE, RetireIntent(branch.name), now, (branch.name,)):
        repo.point("revive.after_intent")
        retired_branch = _retired(repo, branch)
        if retired_branch is None:  # another process was quicker
            return find_again(repo, branch)
        revived_branch = replace(retired_branch, retired_tip=None)
        repo.history.fork(retired_branch.name, str(retired_branch.retired_tip))
        repo.point("revive.forked")
        with repo.ledger.ending():
            repo.ledger.put_branch(revived_branch)
        repo.point("revive.after_ledger")
    return revived_branch


def _retired(repo: Repository, branch: Branch) -> Branch | None:
    """Return the present record of a branch if it is retired, else None."""
    current_branch = repo.ledger.branch(branch.name)
    if (
        current_branch is None
        or current_branch.id != branch.id
        or current_branch.retired_tip is None
    ):
        return None
    return current_branch


@dataclass(frozen=True, slots=True)
class RetireIntent:
    """The intent to retire or revive a branch."""

    name: str


def _finish(repo: Repository, intent: RetireIntent) -> None:
    """Finish an interrupted retirement: a branch whose ref exists is not retired."""
    unmark_retired(repo, intent.name)


RETIRE = IntentKind("retire", RetireIntent, _finish)
REVIVE = IntentKind("revive", RetireIntent, _finish)
