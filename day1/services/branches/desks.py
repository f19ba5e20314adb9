"""Writing the desks of a branch, and removing them together with the branch."""

from day1.errors import UnknownBranch
from day1.model.branches.branch import Branch
from day1.model.records.desk import Desk
from day1.services.repository.repository import Repository


def write_desk(repo: Repository, current: Desk | None, fresh: Desk) -> bool:
    """Write the desk `fresh` if the stored one is still `current`; return whether it was written.

    Raises:
        UnknownBranch: the desk is new, and its branch was deleted meanwhile.
    """
    if current is not None:  # the deletion of its branch removes the desk, so this fails then
        return repo.ledger.swap(current, fresh)
    with repo.ledger.transaction():
        if repo.ledger.record(Branch, fresh.branch_id) is None:
            raise UnknownBranch("The branch was deleted meanwhile: use another branch.")
        return repo.ledger.swap(None, fresh)


def forget_branch(repo: Repository, branch_id: str) -> None:
    """Remove the record of a branch, and its desks."""
    with repo.ledger.transaction():
        desks = repo.ledger.records(Desk, branch_id=branch_id)
        repo.ledger.remove(Desk, *(desk.id for desk in desks))
        repo.ledger.remove_branch(branch_id)


def drop_orphans(repo: Repository) -> int:
    """Remove the desks of branches that have no record any more; return how many."""
    branch_ids = {branch.id for branch in repo.ledger.branches()}
    orphan_ids = [desk.id for desk in repo.ledger.records(Desk) if desk.branch_id not in branch_ids]
    repo.ledger.remove(Desk, *orphan_ids)
    return len(orphan_ids)
