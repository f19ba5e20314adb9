"""The graph of branches: which were forked and merged, for the page that draws it."""

from dataclasses import dataclass

from day1.model.branches.branch import MAIN
from day1.model.records.merge_record import MergeRecord
from day1.services.branches.tree import BranchState, states
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class NamedMerge:
    """A merge with the names of its branches; of one that is gone it is empty."""

    record: MergeRecord
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class BranchGraph:
    """Branches, oldest first, when each was last written to, and the merges between them."""

    branches: list[tuple[BranchState, int]]
    merges: list[NamedMerge]
    left_out: int
    """Branches that were written to longer ago."""


def branch_graph(repo: Repository, limit: int) -> BranchGraph:
    """`main` and the branches that were last written to, with their newest merges."""
    every = [(s, repo.history.commit(s.tip).ts) for s in states(repo)]
    lasting = sorted(every, key=lambda pair: (pair[0].branch.name == MAIN, pair[1]))[-limit:]
    shown = {s.branch.id: s.branch.name for s, _ in lasting}
    merges = [
        NamedMerge(record, shown.get(record.source_id, ""), shown[record.target_id])
        for record in repo.ledger.records(MergeRecord)
        if record.commit is not None and record.target_id in shown
    ]
    return BranchGraph(
        [pair for pair in every if pair[0].branch.id in shown],
        merges[-limit:],
        len(every) - len(shown),
    )
