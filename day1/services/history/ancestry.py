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
        self.branches: Mapping[str, Branch] = {b.id: b for b in repo.ledger.branches()}

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
        starts: list[tuple[Branch | None, CommitId]] = [(branch, tip)]
        orphan_starts: list[tuple[Branch | None, CommitId]] = []
        while starts or orphan_starts:
            # Deleted branches come last: it is unknown at which commit they were forked.
            branch_of_commit, start = (starts or orphan_starts).pop()
            for entry in self.past(branch_of_commit, start):
                if entry.commit.id in commit_by_id:
                    break
                commit_by_id[entry.commit.id] = entry
                for merged_parent in entry.commit.parents[1:]:
                    source = self.source(entry.commit)
                    (orphan_starts if source is None else starts).append((source, merged_parent))
        return commit_by_id

    def having(self, commit: Commit, starts: Iterable[CommitId]) -> set[CommitId]:
        """Find the commits of `starts` that descend from a commit, or are that commit.

        Commits older than `commit` are not walked: a child is later than its parents.
        """
        children_by_commit: dict[CommitId, list[CommitId]] = {}
        visited_ids: set[CommitId] = set()
        start_ids = set(starts)
        queue = list(start_ids)
        while queue:
            for later_commit in self._later(queue.pop(), commit):
                if later_commit.id in visited_ids:
                    break
                visited_ids.add(later_commit.id)
                queue += later_commit.parents[1:]
                for parent in later_commit.parents:
                    children_by_commit.setdefault(parent, []).append(later_commit.id)
        descendants, queue = {commit.id}, [commit.id]
        while queue:
            unvisited = set(children_by_commit.get(queue.pop(), ())) - descendants
            descendants |= unvisited
            queue += unvisited
        return start_ids & descendants

    def _later(self, start: CommitId, commit: Commit) -> Iterator[Commit]:
        try:
            for ancestor in self._repo.history.log(start):
                if ancestor.ts <= commit.ts:
                    return
                yield ancestor
        except NotFound:  # no ref kept the commit, so compaction removed it
            return
