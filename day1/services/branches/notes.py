"""The notes of a branch: purpose, owner, days, tags and the like."""

from dataclasses import replace

from day1.model.branches.branch import Branch
from day1.services.branches.lookup import find_again
from day1.services.repository.repository import Repository


def mark(repo: Repository, branch: Branch, **notes: object) -> Branch:
    """Set the given notes of a branch. Notes that others set at the same time are kept.

    Raises:
        UnknownBranch: it was deleted or retired meanwhile.
    """
    with repo.ledger.transaction():
        noted = find_again(repo, branch).with_notes(**notes)
        repo.ledger.put_branch(noted)
    return noted


def unmark_retired(repo: Repository, name: str) -> None:
    """Take back the note that a branch is retired, if its ref is there."""
    refs = repo.history.branches()
    with repo.ledger.transaction():
        branch = repo.ledger.branch(name)
        if branch is not None and branch.name in refs:
            repo.ledger.put_branch(replace(branch, retired_tip=None))
