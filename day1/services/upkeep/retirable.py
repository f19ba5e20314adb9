"""Finding branches that are no longer needed, for `day1 gc --retire`."""

from dataclasses import dataclass

from day1.model.branches.branch import MAIN
from day1.model.records.sharing import KEPT
from day1.model.values.instant import DAY
from day1.services.branches.tree import BranchState, states
from day1.services.merges.held import offers
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class RetirableBranch:
    """A branch that may be retired, and why."""

    state: BranchState
    why: str


def retirable_branches(repo: Repository, current: str, now: int) -> list[RetirableBranch]:
    """List branches that may be retired: merged without held items, or older than `ttl_days`.

    Never main, `current`, protected branches, or branches of templates and bundles.
    """
    retirable = []
    for branch_state in states(repo):
        branch = branch_state.branch
        if branch.name in {MAIN, current} or branch.protection:
            continue
        if branch.closed and branch.name.startswith(KEPT):
            continue
        ttl_days = branch.ttl_days
        if ttl_days is not None and branch.created_at + ttl_days * DAY < now:
            retirable.append(RetirableBranch(branch_state, f"past its {ttl_days} days"))
        elif branch_state.status == "merged" and not offers(repo, branch):
            retirable.append(RetirableBranch(branch_state, "merged"))
    return retirable
