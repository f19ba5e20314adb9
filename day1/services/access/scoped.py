"""A store, history and ledger as a token that is limited to branches sees them.

They are wrapped below every operation, so no tool, page or search has to check limits. A branch
outside the limits is refused by its name, whether it exists or not. A commit is visible if a
visible branch has it in its past.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from day1.errors import NotFound
from day1.model.access.permissions import Access
from day1.ports.history import History
from day1.ports.store import Store
from day1.services.access.scoped_ledger import ScopedLedger, of_every_branch
from day1.services.repository.repository import Repository

if TYPE_CHECKING:
    from day1.errors import Json
    from day1.model.rows.change import Changes, Commit, CommitId, Ref, Writes
    from day1.model.rows.kind import Kind, Row
    from day1.ports.reading import Reading
    from day1.ports.store import AddingUnit, Capabilities, Work

_LIMITS_KEPT: Final = 64
"""Limits of tokens whose commits are remembered."""
_FEW: Final = 100
"""So many new commits are looked up one by one (1 ms each) before the whole graph is walked."""


def scoped(repo: Repository, access: Access) -> Repository:
    """The memory as `access` may see it: all of it if the access has no limits."""
    if not access.branches:
        return repo
    history = ScopedHistory(repo, access)
    ledger = ScopedLedger(repo, access, history)
    store = ScopedStore(repo.store, access, history)
    return replace(repo, store=store, history=history, ledger=ledger)


class ScopedHistory(History):
    """The commit graph, as far as the visible branches reach."""

    def __init__(self, repo: Repository, access: Access) -> None:
        """Look at a memory through an access."""
        self._history, self._ledger, self._access = repo.history, repo.ledger, access
        self._known = repo.reached
        self._reached: frozenset[CommitId] = frozenset()

    def reaches(self, commit: CommitId) -> bool:
        """Whether a visible branch, retired or not, has a commit in its past."""
        if commit in self._reached:  # it stays so for this call; the next call looks again
            return True
        retired = (b.retired_tip for b in self._ledger.branches() if self._access.sees(b.name))
        tips = frozenset((*self.branches().values(), *filter(None, retired)))
        limits = self._access.branches
        before, reached = self._known.get(limits, (frozenset(), frozenset()))
        if tips != before:
            reached = self._since(before, reached, tips)
            if len(self._known) >= _LIMITS_KEPT:
                self._known.clear()
            self._known[limits] = tips, reached
        self._reached = reached
        return commit in reached

    def _since(
        self, before: frozenset[CommitId], reached: frozenset[CommitId], tips: frozenset[CommitId]
    ) -> frozenset[CommitId]:
        """The past of `tips`; most of its commits are already in `reached`."""
        new: set[CommitId] = set()
        gone, waiting = set(before - tips), [*(tips - before)] if before else []
        while waiting and len(new) < _FEW:
            commit = waiting.pop()
            gone.discard(commit)
            if commit not in reached and commit not in new:
                new.add(commit)
                waiting += self._history.commit(commit).parents
        if before and not gone and not waiting:
            return reached | new
        # The first look, or a branch was deleted: what it alone had is reached no more.
        return frozenset(found.id for found in self._history.graph(sorted(tips)))

    def check(self, commit: CommitId | None) -> None:
        """Refuse a commit that no visible branch reaches.

        Raises:
            NotFound: it is not.
        """
        if commit is not None and not self.reaches(commit):
            raise NotFound(f"There is no branch or commit {commit!r}.", ref=commit)

    def check_ref(self, ref: Ref) -> None:
        """Refuse a state of a branch that is not visible, or a commit that is not reached."""
        if ref.branch is not None:
            self._access.check(ref.branch)
        else:
            self.check(ref.commit)

    def branches(self) -> dict[str, CommitId]:
        """Every visible branch of the engine with its tip."""
        every = self._history.branches()
        return {name: tip for name, tip in every.items() if self._access.sees(name)}

    def dirty_branches(self) -> set[str]:
        """Visible branches that have pending rows."""
        return {name for name in self._history.dirty_branches() if self._access.sees(name)}

    def fork(self, name: str, start: CommitId) -> None:
        """Create a branch within the limits at a commit that is reached."""
        self._access.check(name)
        self.check(start)
        self._history.fork(name, start)

    def drop(self, name: str) -> None:
        """Delete the ref of a visible branch."""
        self._access.check(name)
        self._history.drop(name)

    def tag(self, name: str, commit: CommitId) -> None:
        """Tag a commit that is reached."""
        self.check(commit)
        self._history.tag(name, commit)

    def tags(self) -> dict[str, CommitId]:
        """Tags of commits that are reached."""
        return {name: tip for name, tip in self._history.tags().items() if self.reaches(tip)}

    def commit(self, commit: CommitId) -> Commit:
        """One commit that is reached."""
        self.check(commit)
        return self._history.commit(commit)

    def log(self, start: str | CommitId) -> Iterator[Commit]:
        """First parents from the tip of a visible branch, or from a commit that is reached."""
        if start not in self.branches():
            self.check(start)
        return self._history.log(start)

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        """Every commit reachable from `starts`, which are reached themselves."""
        for start in starts:
            self.check(start)
        return self._history.graph(starts)

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        """The merge base of two commits that are reached."""
        self.check(one)
        self.check(other)
        return self._history.merge_base(one, other)

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        """Rows that differ between a commit and a state, both reached."""
        self.check(base)
        self.check_ref(ref)
        return self._history.changes(base, ref)

    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:  # noqa: ARG002 - whichever row
        """Refuse: the row may be on branches that are not visible.

        Raises:
            Forbidden: always.
        """
        raise of_every_branch("A redaction")

    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        """One row at a commit that is reached."""
        self.check(commit)
        return self._history.row(kind, row_id, commit)

    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        """A row at every commit in the past of one that is reached."""
        self.check(start)
        return self._history.versions(kind, row_id, start)

    def at(self, branch: str, instant: int) -> Ref:
        """The state of a visible branch at an instant."""
        self._access.check(branch)
        return self._history.at(branch, instant)


class ScopedStore(Store):
    """The rows of visible branches and of commits that they reach."""

    def __init__(self, store: Store, access: Access, history: ScopedHistory) -> None:
        """Look at a store through an access."""
        self._store, self._access, self._history = store, access, history

    @property
    def capabilities(self) -> Capabilities:
        """What this engine can do."""
        return self._store.capabilities

    def reading(self, ref: Ref) -> AbstractContextManager[Reading]:
        """Open a visible state."""
        self._history.check_ref(ref)
        return self._store.reading(ref)

    def adding(self, branch: str) -> AbstractContextManager[AddingUnit]:
        """Open work that adds to a visible branch."""
        self._access.check(branch)
        return self._store.adding(branch)

    def changing(self, branch: str) -> AbstractContextManager[Work]:
        """Open work that changes a visible branch."""
        self._access.check(branch)
        return self._store.changing(branch)

    def repeat(self, branch: str, commit: Commit, writes: Writes) -> CommitId:  # noqa: ARG002 - whichever commit
        """Refuse: only a copy of a whole store repeats commits.

        Raises:
            Forbidden: always.
        """
        raise of_every_branch("A copy")

    def sealed(self, branch: str) -> AbstractContextManager[CommitId]:
        """Keep writers from a visible branch."""
        self._access.check(branch)
        return self._store.sealed(branch)

    def commit_pending(self, branch: str) -> CommitId:
        """Commit the pending rows of a visible branch."""
        self._access.check(branch)
        return self._store.commit_pending(branch)

    def commit_pending_if_due(self, branch: str) -> None:
        """Commit the pending rows of a visible branch when that is due."""
        self._access.check(branch)
        self._store.commit_pending_if_due(branch)

    def stamp(self) -> Hashable:
        """A value that changes with every unit of work on any branch."""
        return self._store.stamp()

    def size(self) -> int:
        """Refuse: the size is that of all branches.

        Raises:
            Forbidden: always.
        """
        raise of_every_branch("The size")

    def compact(self) -> dict[str, Json]:
        """Refuse: all branches wait meanwhile.

        Raises:
            Forbidden: always.
        """
        raise of_every_branch("A compaction")

    def check(self) -> list[str]:
        """Refuse: every page is read.

        Raises:
            Forbidden: always.
        """
        raise of_every_branch("A check")

    def warnings(self) -> list[str]:
        """Refuse: they are about the whole store.

        Raises:
            Forbidden: always.
        """
        raise of_every_branch("What is not known of a store")

    def close(self) -> None:
        """Leave the store open: others use it."""
