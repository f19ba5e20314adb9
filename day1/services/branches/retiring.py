"""Retiring branches (their ref goes, record and commits stay), and bringing branches back."""

from dataclasses import dataclass, replace

from day1.errors import Refused
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.intent import IntentKind
from day1.services.branches.deleting import as_retired, keep, leaving, refuse_loss
from day1.services.branches.lookup import deletion_of, find_again
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
        return _revived(repo, retired_branch)


def undelete(repo: Repository, name: str, now: int) -> Branch | None:
    """Bring back the branch that was deleted last of those with a name.

    It is as it was, without its desks.

    Returns:
        The branch; None if no branch of this name was deleted, or a branch has the name now.
    """
    if deletion_of(repo, name) is None:
        return None
    with repo.ledger.open_intent(REVIVE, RetireIntent(name), now, (name,)):
        repo.point("undelete.after_intent")
        deleted_branch = deletion_of(repo, name)
        if deleted_branch is None or repo.ledger.branch(name) is not None:
            return None
        retired_branch = as_retired(deleted_branch)
        repo.ledger.put_branch(retired_branch)
        repo.point("undelete.retired")
        return _revived(repo, retired_branch)


def _revived(repo: Repository, retired_branch: Branch) -> Branch:
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
