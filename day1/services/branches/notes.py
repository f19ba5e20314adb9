"""The notes of a branch in the ledger, such as its purpose, owner and tags."""

from dataclasses import replace

from day1.model.branches.branch import Branch
from day1.services.branches.lookup import find_again
from day1.services.repository.repository import Repository


def mark(repo: Repository, branch: Branch, **notes: object) -> Branch:
    """Set some notes of a branch, and keep the others, even if they change at the same time.

    Raises:
        UnknownBranch: it was deleted or retired meanwhile.
    """
    with repo.ledger.transaction():
        updated_branch = find_again(repo, branch).with_notes(**notes)
        repo.ledger.put_branch(updated_branch)
    return updated_branch


def unmark_retired(repo: Repository, name: str) -> None:
    """Remove the mark that a branch is retired if its ref exists."""
    tip_by_branch = repo.history.branches()
    with repo.ledger.transaction():
        branch = repo.ledger.branch(name)
        if branch is not None and branch.name in tip_by_branch:
            repo.ledger.put_branch(replace(branch, retired_tip=None))
