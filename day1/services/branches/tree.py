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
        parent_name = name_by_id.get(branch.parent_id or "")
        status = branch.status(tip, pending)
        if status == "merged" and repo.ledger.is_limited and not _sees_merge(repo, branch):
            status = "active"
        branch_states.append(BranchState(branch, parent_name, tip, pending, status))
    return branch_states


def _sees_merge(repo: Repository, branch: Branch) -> bool:
    """Whether the caller sees a branch that this one was merged into."""
    return bool(repo.ledger.records(MergeRecord, source_id=branch.id))


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
    shown_states = [
        branch_state
        for branch_state in states(repo)
        if include_archived
        or branch_state.status != "archived"
        or branch_state.branch.id == root.id
    ]
    shown_ids = {branch_state.branch.id for branch_state in shown_states}
    main_id = next(
        (
            branch_state.branch.id
            for branch_state in shown_states
            if branch_state.branch.name == MAIN
        ),
        None,
    )
    children_by_parent: dict[str, list[BranchState]] = {}
    for state in shown_states:
        parent_id = state.branch.parent_id
        if state.branch.name != MAIN:
            shown_parent_id = parent_id if parent_id in shown_ids else main_id
            children_by_parent.setdefault(shown_parent_id or "", []).append(state)

    def grow(state: BranchState, depth: int) -> Node:
        child_states = children_by_parent.get(state.branch.id, []) if depth < max_depth else []
        return Node(state, tuple(grow(child, depth + 1) for child in child_states))

    return grow(
        next(branch_state for branch_state in shown_states if branch_state.branch.id == root.id), 0
    )


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
    states_with_time = [(state, repo.history.commit(state.tip).ts) for state in states(repo)]
    recent_states = sorted(
        states_with_time,
        key=lambda state_and_time: (state_and_time[0].branch.name == MAIN, state_and_time[1]),
    )[-limit:]
    name_by_id = {state.branch.id: state.branch.name for state, _ in recent_states}
    merges = [
        NamedMerge(record, name_by_id.get(record.source_id, ""), name_by_id[record.target_id])
        for record in repo.ledger.records(MergeRecord)
        if record.commit is not None and record.target_id in name_by_id
    ]
    return BranchGraph(
        [
            state_and_time
            for state_and_time in states_with_time
            if state_and_time[0].branch.id in name_by_id
        ],
        merges[-limit:],
        len(states_with_time) - len(name_by_id),
    )
