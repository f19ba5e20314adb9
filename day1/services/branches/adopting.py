"""Adopting branches: write ledger records for branches that only the engine has."""

import logging

from day1.model.branches.branch import MAIN, Branch
from day1.services.repository.repository import Repository

log = logging.getLogger(__name__)


def adopt(repo: Repository, now: int) -> list[str]:
    """Add ledger records for branches that only the engine knows; returns their names.

    These are `main` of a new store, and every branch after the ledger was lost.
    """
    recorded_names = {branch.name for branch in repo.ledger.branches()}
    unrecorded_names = [
        name for name in sorted(repo.history.branches()) if name not in recorded_names
    ]
    main_branch = repo.ledger.branch(MAIN)
    for name in sorted(unrecorded_names, key=lambda n: n != MAIN):
        branch = Branch(
            id=repo.new_id("branch", now),
            name=name,
            parent_id=None if main_branch is None else main_branch.id,
            fork_commit=None,
            created_at=now,
        )
        repo.ledger.put_branch(branch)
        main_branch = main_branch or branch
    if unrecorded_names and not _is_new(repo, unrecorded_names):
        log.warning(
            "the ledger was missing, or lacked branches: %s are recorded anew, below main. If you "
            "have the old ledger.db, stop all processes that use the store and put it back.",
            len(unrecorded_names),
        )
    return unrecorded_names


def _is_new(repo: Repository, missing: list[str]) -> bool:
    """Whether nothing was ever written to the store."""
    history = repo.history
    has_only_clean_main = missing == [MAIN] and MAIN not in history.dirty_branches()
    return has_only_clean_main and next(history.log(MAIN)).op == "init"
