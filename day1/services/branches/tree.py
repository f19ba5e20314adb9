"""The branches, how they were forked from one another, and the merges between them."""

from dataclasses import dataclass

from day1.model.branches.branch import MAIN, Branch, Status
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.change import CommitId, Pending, Ref
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class BranchState:
    """A branch with its tip, its pending rows and its status."""

    branch: Branch
    parent: str | None
    tip: CommitId
    pending: Pending
    status: Status


def states(repo: Repository) -> list[BranchState]:
    """Read the state of every branch that has a ref, oldest first."""
    tip_by_branch, dirty_branches = repo.history.branches(), repo.history.dirty_branches()
    branches = repo.ledger.branches()
    name_by_id = {branch.id: branch.name for branch in branches}
    branch_states = []
    for branch in branches:
        tip = tip_by_branch.get(branch.name)
        if tip is None:
            continue
        # Pending rows are counted only where the status depends on them.
        is_pending_counted = branch.merged_tip == tip and branch.name in dirty_branches
        pending = _pending(repo, branch) if is_pending_counted else Pending()
        parent = name_by_id.get(branch.parent_id or "")
        status = branch.status(tip, pending)
        branch_states.append(BranchState(branch, parent, tip, pending, status))
    return branch_states


def _pending(repo: Repository, branch: Branch) -> Pending:
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        return reading.pending


@dataclass(frozen=True, slots=True)
class Node:
    """A branch in the tree with its children, oldest first."""

    state: BranchState
    children: tuple["Node", ...]


def topology(
    repo: Repository, root: Branch, *, max_depth: int = 10, include_archived: bool = False
) -> Node:
    """Build the tree below a branch, with at most `max_depth` levels of children.

    A child whose parent is left out or deleted is shown below `main`.
    """
    shown = [
        s
        for s in states(repo)
        if include_archived or s.status != "archived" or s.branch.id == root.id
    ]
    ids = {s.branch.id for s in shown}
    main = next((s.branch.id for s in shown if s.branch.name == MAIN), None)
    children_by_parent: dict[str, list[BranchState]] = {}
    for state in shown:
        parent = state.branch.parent_id
        if state.branch.name != MAIN:
            place = parent if parent in ids else main
            children_by_parent.setdefault(place or "", []).append(state)

    def grow(state: BranchState, depth: int) -> Node:
        below = children_by_parent.get(state.branch.id, []) if depth < max_depth else []
        return Node(state, tuple(grow(child, depth + 1) for child in below))

    return grow(next(s for s in shown if s.branch.id == root.id), 0)


@dataclass(frozen=True, slots=True)
class NamedMerge:
    """A merge with the names of its branches; the source's is empty if it is not shown."""

    record: MergeRecord
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class BranchGraph:
    """Branches, oldest first, each with the time of its last commit, and their merges."""

    branches: list[tuple[BranchState, int]]
    merges: list[NamedMerge]
    left_out: int
    """The number of branches that are left out because they were written to longer ago."""


def branch_graph(repo: Repository, limit: int) -> BranchGraph:
    """Build the graph of `main` and the `limit` most recently written branches."""
    branches_with_time = [(state, repo.history.commit(state.tip).ts) for state in states(repo)]
    lasting = sorted(branches_with_time, key=lambda pair: (pair[0].branch.name == MAIN, pair[1]))[
        -limit:
    ]
    name_by_id = {state.branch.id: state.branch.name for state, _ in lasting}
    merges = [
        NamedMerge(record, name_by_id.get(record.source_id, ""), name_by_id[record.target_id])
        for record in repo.ledger.records(MergeRecord)
        if record.commit is not None and record.target_id in name_by_id
    ]
    return BranchGraph(
        [pair for pair in branches_with_time if pair[0].branch.id in name_by_id],
        merges[-limit:],
        len(branches_with_time) - len(name_by_id),
    )
