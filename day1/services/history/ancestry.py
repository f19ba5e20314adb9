"""The commit graph with branches: the past of a commit, and the commits that descend from it.

Every walk follows first parents, which are read once and then remembered.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from day1.errors import NotFound
from day1.model.branches.branch import Branch
from day1.model.rows.change import Commit, CommitId
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class CommitOnBranch:
    """A commit, with the branch on which it was made (None: unknown)."""

    commit: Commit
    branch: Branch | None


class Ancestry:
    """The commit graph with the branch of each commit, which follows from forks and merges."""

    def __init__(self, repo: Repository) -> None:
        """Read all branches, also the retired ones."""
        self._repo = repo
        self.branches: Mapping[str, Branch] = {
            branch.id: branch for branch in repo.ledger.branches()
        }

    def past(self, branch: Branch | None, start: CommitId) -> Iterator[CommitOnBranch]:
        """Walk first parents, newest first: the branch's own commits, then its parent's."""
        for commit in self._repo.history.log(start):
            while branch is not None and commit.id == branch.fork_commit:
                branch = self.branches.get(branch.parent_id or "")
            yield CommitOnBranch(commit, branch)

    def source(self, commit: Commit) -> Branch | None:
        """Return the source branch of a merge, pick or squash; None if it is gone."""
        return self.branches.get(str(commit.meta.get("source_id")))

    def reachable(self, branch: Branch, tip: CommitId) -> dict[CommitId, CommitOnBranch]:
        """Find every commit in the past of a branch, over all parents, by id."""
        commit_by_id: dict[CommitId, CommitOnBranch] = {}
        start_points: list[tuple[Branch | None, CommitId]] = [(branch, tip)]
        orphan_start_points: list[tuple[Branch | None, CommitId]] = []
        while start_points or orphan_start_points:
            # Deleted branches come last: it is unknown at which commit they were forked.
            branch_of_commit, start_id = (start_points or orphan_start_points).pop()
            for commit_on_branch in self.past(branch_of_commit, start_id):
                if commit_on_branch.commit.id in commit_by_id:
                    break
                commit_by_id[commit_on_branch.commit.id] = commit_on_branch
                for merged_parent in commit_on_branch.commit.parents[1:]:
                    source_branch = self.source(commit_on_branch.commit)
                    (orphan_start_points if source_branch is None else start_points).append(
                        (source_branch, merged_parent)
                    )
        return commit_by_id

    def having(self, commit: Commit, starts: Iterable[CommitId]) -> set[CommitId]:
        """Find the commits of `starts` that descend from a commit, or are that commit.

        Commits older than `commit` are not walked: a child is later than its parents.
        """
        children_by_commit: dict[CommitId, list[CommitId]] = {}
        visited_ids: set[CommitId] = set()
        start_ids = set(starts)
        commit_queue = list(start_ids)
        while commit_queue:
            for later_commit in self._later(commit_queue.pop(), commit):
                if later_commit.id in visited_ids:
                    break
                visited_ids.add(later_commit.id)
                commit_queue += later_commit.parents[1:]
                for parent_id in later_commit.parents:
                    children_by_commit.setdefault(parent_id, []).append(later_commit.id)
        descendants, commit_queue = {commit.id}, [commit.id]
        while commit_queue:
            unvisited = set(children_by_commit.get(commit_queue.pop(), ())) - descendants
            descendants |= unvisited
            commit_queue += unvisited
        return start_ids & descendants

    def _later(self, start: CommitId, commit: Commit) -> Iterator[Commit]:
        try:
            for ancestor in self._repo.history.log(start):
                if ancestor.ts <= commit.ts:
                    return
                yield ancestor
        except NotFound:  # no ref kept the commit, so compaction removed it
            return
