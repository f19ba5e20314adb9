"""The notes of a branch: purpose, owner, days, tags and the like."""

from day1.model.branches.branch import Branch
from day1.services.branches.lookup import find
from day1.services.repository.repository import Repository


def mark(repo: Repository, name: str, **notes: object) -> Branch:
    """Set what is given of a branch; what others set at the same time is kept.

    Raises:
        UnknownBranch: there is no such branch.
    """
    with repo.ledger.together():
        branch = find(repo, name).noted(**notes)
        repo.ledger.put_branch(branch)
    return branch
