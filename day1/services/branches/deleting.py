"""Archiving and deleting branches."""

from dataclasses import dataclass

from day1.errors import BranchProtected, Conflict, Refused
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.intent import IntentKind
from day1.model.rows.change import CommitId
from day1.services.branches.lookup import find_again
from day1.services.branches.notes import mark, unmark_retired
from day1.services.repository.repository import Repository


def archive(repo: Repository, branch: Branch, *, archived: bool = True) -> Branch:
    """Archive a branch: it stays as it is, and the topology leaves it out unless asked for it.

    Raises:
        Refused: it is `main`.
    """
    if branch.name == MAIN:
        raise Refused("main cannot be archived.", branch=branch.name)
    return mark(repo, branch, archived=archived)


def delete(repo: Repository, branch: Branch, current: str, now: int) -> Branch:
    """Delete a branch. A tag keeps the commits that only it reached, so nothing is lost.

    Raises:
        Refused: it is `main` or the caller's current branch.
        BranchProtected: it is protected.
        UnknownBranch: it was deleted or retired meanwhile.
        Conflict: it was written to meanwhile; it stays.
    """
    name = refuse_loss(branch).name
    if name in {MAIN, current}:
        which = "main" if name == MAIN else "the branch you are on"
        raise Refused(
            f"{name!r} is {which} and cannot be deleted; switch to another first.", branch=name
        )
    with repo.ledger.open_intent(DELETE, DeleteIntent(branch.id, name), now):
        repo.point("delete.after_intent")
        gone, tip = stop_writes(repo, branch)
        repo.history.keep(f"keep/{branch.id}", tip)
        repo.point("delete.after_keep")
        repo.history.drop(name)
        repo.point("delete.after_engine")
        repo.ledger.remove_branch(branch.id)
        repo.point("delete.after_ledger")
    return gone


def refuse_loss(branch: Branch) -> Branch:
    """The branch, if it may be deleted or retired.

    Raises:
        BranchProtected: it is protected.
    """
    if branch.protection:
        raise BranchProtected(
            f"{branch.name!r} is protected: `day1 branch --unprotect {branch.name}` lifts that.",
            branch=branch.name,
            requires=list(branch.protection),
        )
    return branch


def stop_writes(repo: Repository, branch: Branch) -> tuple[Branch, CommitId]:
    """Mark a branch whose ref is to be deleted as retired, so that it takes no more writes.

    The caller holds the lock of intents. When the ref stays, recovery takes the mark back.

    Returns:
        The marked branch, and its last commit, which has all of its rows.

    Raises:
        BranchProtected: it was protected meanwhile.
        UnknownBranch: it was deleted or retired meanwhile.
        Conflict: it was written to meanwhile.
    """
    tip = repo.store.commit_pending(find_again(repo, branch).name)
    # Marked before the ref is deleted: later writers are refused, earlier writes are noticed.
    marked = refuse_loss(mark(repo, branch, retired_tip=tip))
    if repo.store.commit_pending(branch.name) != tip:
        raise Conflict(
            f"{branch.name!r} was written to meanwhile, so it stays.", branch=branch.name
        )
    repo.forget_primes()  # of a branch that is marked so nobody makes one any more
    return marked, tip


@dataclass(frozen=True, slots=True)
class DeleteIntent:
    """A branch that is to be deleted."""

    id: str
    name: str


def _finish_delete(repo: Repository, intent: DeleteIntent) -> None:
    """A branch is deleted if its ref is gone; else it stays."""
    if intent.name in repo.history.branches():
        unmark_retired(repo, intent.name)
    else:
        repo.ledger.remove_branch(intent.id)


DELETE = IntentKind("delete", DeleteIntent, _finish_delete)
