"""The status of a branch: pending rows, held items, and changes since its parent."""

from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.rows.change import Pending, Ref
from day1.model.rows.kind import MEMORIES
from day1.services.branches.tree import BranchState, states
from day1.services.merges.held import offers_on
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class BranchStatus:
    """A branch's state, pending rows, held items and changes since its parent."""

    state: BranchState
    pending: Pending
    held: int
    """The number of open held items on the branch."""
    ahead: dict[str, int]
    """Rows added, changed and removed since the merge base with the parent, by kind of change."""


def branch_status(repo: Repository, branch: Branch) -> BranchStatus:
    """Read the status of a branch; the cost grows with the changes since the merge base."""
    state_by_name = {state.branch.name: state for state in states(repo)}
    branch_state = state_by_name[branch.name]
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        pending_rows, held_count = reading.pending, len(offers_on(repo, reading))
    parent = state_by_name.get(branch_state.parent or "")
    ahead_counts = {} if parent is None else _ahead(repo, branch_state, parent)
    return BranchStatus(branch_state, pending_rows, held_count, ahead_counts)


def _ahead(repo: Repository, state: BranchState, parent: BranchState) -> dict[str, int]:
    base_commit = repo.history.merge_base(parent.tip, state.tip)
    changes = repo.history.changes(base_commit, Ref(branch=state.branch.name))
    count_by_effect: dict[str, int] = {}
    for kind in MEMORIES:
        for change in changes.get(kind.table, ()):
            count_by_effect[change.how] = count_by_effect.get(change.how, 0) + 1
    return count_by_effect
