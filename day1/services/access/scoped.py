"""The store, history and ledger as seen with a token that is limited to some branches.

Every operation works on these wrappers, so no tool, page or search has to check limits. A branch
outside the limits is refused by its name, whether it exists or not. A commit is visible if a
visible branch has it in its past.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from day1.errors import Advice, NotFound
from day1.model.access.permissions import Access
from day1.ports.history import History
from day1.ports.store import Store
from day1.services.access.scoped_ledger import ScopedLedger, of_every_branch
from day1.services.repository.repository import Repository

if TYPE_CHECKING:
    from day1.errors import Json
    from day1.model.rows.change import (
        Changes,
        Commit,
        CommitId,
        Pending,
        ReadState,
        Ref,
        Writes,
    )
    from day1.model.rows.kind import Kind, Row
    from day1.ports.reading import Reading
    from day1.ports.store import AddingUnit, Capabilities, Work

_MAX_CACHED_LIMITS: Final = 64
"""Maximum number of sets of limits whose visible commits are cached."""
_MAX_LOOKUPS: Final = 100
"""Maximum number of new commits looked up singly (1 ms each); with more the graph is read."""


def scoped(repo: Repository, access: Access) -> Repository:
    """Limit a store to the branches that `access` may see; unchanged if it has no limits."""
    if not access.branches:
        return repo
    history = ScopedHistory(repo, access)
    ledger = ScopedLedger(repo, access, history)
    store = ScopedStore(repo.store, access, history)
    return replace(repo, store=store, history=history, ledger=ledger)


class ScopedHistory(History):
    """The commits that the visible branches have in their past."""

    def __init__(self, repo: Repository, access: Access) -> None:
        """Limit the history of a store to what `access` may see."""
        self._history, self._ledger, self._access = repo.history, repo.ledger, access
        self._known = repo.reached
        self._reached: frozenset[CommitId] = frozenset()

    def reaches(self, commit: CommitId) -> bool:
        """Whether a visible branch, retired or not, has a commit in its past."""
        if commit in self._reached:  # true for the rest of this call; the next call looks again
            return True
        retired_tips = (
            branch.retired_tip
            for branch in self._ledger.branches()
            if self._access.sees(branch.name)
        )
        visible_tips = frozenset((*self.branches().values(), *filter(None, retired_tips)))
        branch_limits = self._access.branches
        cached_tips, reached_commits = self._known.get(branch_limits, (frozenset(), frozenset()))
        if visible_tips != cached_tips:
            reached_commits = self._since(cached_tips, reached_commits, visible_tips)
            if len(self._known) >= _MAX_CACHED_LIMITS:
                self._known.clear()
            self._known[branch_limits] = visible_tips, reached_commits
        self._reached = reached_commits
        return commit in reached_commits

    def _since(
        self, old_tips: frozenset[CommitId], reached: frozenset[CommitId], tips: frozenset[CommitId]
    ) -> frozenset[CommitId]:
        """Return all commits in the past of `tips`; `reached` are those of `old_tips`."""
        new_commit_ids: set[CommitId] = set()
        lost_tips, commits_to_visit = set(old_tips - tips), [*(tips - old_tips)] if old_tips else []
        while commits_to_visit and len(new_commit_ids) < _MAX_LOOKUPS:
            commit = commits_to_visit.pop()
            lost_tips.discard(commit)
            if commit not in reached and commit not in new_commit_ids:
                new_commit_ids.add(commit)
                commits_to_visit += self._history.commit(commit).parents
        if old_tips and not lost_tips and not commits_to_visit:
            return reached | new_commit_ids
        # The first time, or a branch was deleted: commits that only it had are no longer reached.
        return frozenset(commit.id for commit in self._history.graph(sorted(tips)))

    def check(self, commit: CommitId | None) -> None:
        """Refuse a commit that no visible branch reaches.

        Raises:
            NotFound: no visible branch has the commit in its past.
        """
        if commit is not None and not self.reaches(commit):
            raise NotFound(
                f"There is no branch or commit {commit!r}.",
                Advice("{memory_branch_list} and {memory_log} list them."),
                ref=commit,
            )

    def check_ref(self, ref: Ref) -> None:
        """Refuse a state of a branch that is not visible, or a commit that is not reached."""
        if ref.branch is not None:
            self._access.check(ref.branch)
        else:
            self.check(ref.commit)

    def branches(self) -> dict[str, CommitId]:
        """Return the tip of each visible branch, by name."""
        all_tips = self._history.branches()
        return {name: tip for name, tip in all_tips.items() if self._access.sees(name)}

    def dirty_branches(self) -> set[str]:
        """Return the names of visible branches that have pending rows."""
        return {name for name in self._history.dirty_branches() if self._access.sees(name)}

    def states(self, stamp: Hashable = None) -> dict[str, ReadState]:
        """Return the tip and the pending rows of each visible branch, by name."""
        state_by_branch = self._history.states(stamp)
        return {name: state for name, state in state_by_branch.items() if self._access.sees(name)}

    def fork(self, name: str, start: CommitId) -> None:
        """Create a branch within the limits at a visible commit."""
        self._access.check(name)
        self.check(start)
        self._history.fork(name, start)

    def drop(self, name: str) -> None:
        """Delete the ref of a visible branch."""
        self._access.check(name)
        self._history.drop(name)

    def tag(self, name: str, commit: CommitId) -> None:
        """Tag a visible commit."""
        self.check(commit)
        self._history.tag(name, commit)

    def untag(self, name: str) -> None:
        """Delete a tag of a visible commit."""
        if name in self.tags():
            self._history.untag(name)

    def tags(self) -> dict[str, CommitId]:
        """Return the visible commit of each tag, by name."""
        return {
            name: commit for name, commit in self._history.tags().items() if self.reaches(commit)
        }

    def commit(self, commit: CommitId) -> Commit:
        """Read a visible commit."""
        self.check(commit)
        return self._history.commit(commit)

    def log(self, start: str | CommitId) -> Iterator[Commit]:
        """Follow first parents from the tip of a visible branch, or from a visible commit."""
        if start not in self.branches():
            self.check(start)
        return self._history.log(start)

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        """Return every commit reachable from `starts`, which must be visible."""
        for start in starts:
            self.check(start)
        return self._history.graph(starts)

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        """Find the merge base of two visible commits."""
        self.check(one)
        self.check(other)
        return self._history.merge_base(one, other)

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        """Find the rows that differ between a commit and a state, both visible."""
        self.check(base)
        self.check_ref(ref)
        return self._history.changes(base, ref)

    @override
    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        raise of_every_branch("A redaction")

    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        """Read one row at a visible commit."""
        self.check(commit)
        return self._history.row(kind, row_id, commit)

    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        """Read a row at every commit in the past of a visible commit."""
        self.check(start)
        return self._history.versions(kind, row_id, start)

    def at(self, branch: str, instant: int) -> Ref:
        """Find the state of a visible branch at an instant."""
        self._access.check(branch)
        return self._history.at(branch, instant)


class ScopedStore(Store):
    """The rows of visible branches and of commits in their past."""

    def __init__(self, store: Store, access: Access, history: ScopedHistory) -> None:
        """Limit a store to what `access` may see."""
        self._store, self._access, self._history = store, access, history

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the engine."""
        return self._store.capabilities

    def reading(self, ref: Ref) -> AbstractContextManager[Reading]:
        """Open a state that the caller may read."""
        self._history.check_ref(ref)
        return self._store.reading(ref)

    def adding(self, branch: str) -> AbstractContextManager[AddingUnit]:
        """Open a unit of work that adds rows to a visible branch."""
        self._access.check(branch)
        return self._store.adding(branch)

    def changing(self, branch: str) -> AbstractContextManager[Work]:
        """Open a unit of work that changes a visible branch."""
        self._access.check(branch)
        return self._store.changing(branch)

    @override
    def repeat(self, branch: str, commit: Commit, writes: Writes) -> CommitId:
        raise of_every_branch("A copy")

    def sealed(self, branch: str) -> AbstractContextManager[CommitId]:
        """Stop writes to a visible branch during the block."""
        self._access.check(branch)
        return self._store.sealed(branch)

    def commit_pending(self, branch: str) -> CommitId:
        """Commit the pending rows of a visible branch."""
        self._access.check(branch)
        return self._store.commit_pending(branch)

    def commit_pending_if_due(self, branch: str, pending: Pending | None = None) -> None:
        """Commit the pending rows of a visible branch when that is due."""
        self._access.check(branch)
        self._store.commit_pending_if_due(branch, pending)

    def stamp(self) -> Hashable:
        """Return a value that changes with every unit of work on any branch."""
        return self._store.stamp()

    @override
    def present(self, machine_time: int) -> int:
        return self._store.present(machine_time)

    @override
    def size(self) -> int:
        raise of_every_branch("The size")

    @override
    def compact_size(self) -> int | None:
        raise of_every_branch("The size")

    @override
    def compact(self, above: int = 0) -> dict[str, Json]:
        raise of_every_branch("A compaction")

    @override
    def check(self) -> list[str]:
        raise of_every_branch("A check")

    @override
    def warnings(self) -> list[str]:
        raise of_every_branch("A warning")

    def close(self) -> None:
        """Do nothing: other callers use the store."""
