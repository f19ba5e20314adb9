"""Polling a store for changed branches, and for items that wait for a person."""

from collections.abc import Hashable
from dataclasses import dataclass

from day1.errors import Day1Error
from day1.model.rows.change import CommitId, ReadState
from day1.services.merges.waiting import WaitingPoller, Waits
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Moved:
    """The present tip and pending rows of a changed branch; without a commit it was deleted."""

    branch: str
    commit: CommitId | None
    pending: int = 0
    new: bool = False
    """Whether the branch was created since the last call of `look`."""


News = Moved | Waits
"""A change that is sent to listeners."""


class ChangePoller:
    """Looks for changes of a store; `look` costs very little if nothing was written."""

    def __init__(self, repo: Repository) -> None:
        """Poll a store; `fresh` makes a poller that knows its present state."""
        self._repo = repo
        self._stamp: Hashable = None
        self._seen: dict[str, ReadState] | None = None
        self._waiting = WaitingPoller(repo)
        self._news: list[News] = []
        """Changes that were found and not returned yet, since `look` may fail halfway."""

    def fresh(self) -> "ChangePoller":
        """Make a poller that knows the present state; no branches if the store is unavailable."""
        poller = ChangePoller(self._repo)
        poller._waiting.begin()
        try:
            poller._moved()
        except Day1Error:
            poller._seen = {}
        return poller

    def look(self) -> list[News]:
        """Return the changes since the last look; none at the first look."""
        awaited_changes = self._waiting.look()
        self._news += [] if awaited_changes is None else [awaited_changes]
        self._news += self._moved()
        news, self._news = self._news, []
        return news

    def _moved(self) -> list[Moved]:
        store_stamp = self._repo.store.stamp()
        if store_stamp == self._stamp:
            return []
        state_by_branch = self._repo.history.states(store_stamp)
        old_state_by_branch, self._seen, self._stamp = self._seen, state_by_branch, store_stamp
        if old_state_by_branch is None:
            return []
        moved_branches = [
            Moved(
                name, read_state.tip, read_state.pending.count, new=name not in old_state_by_branch
            )
            for name, read_state in state_by_branch.items()
            if old_state_by_branch.get(name) != read_state
        ]
        return moved_branches + [
            Moved(name, None) for name in old_state_by_branch.keys() - state_by_branch.keys()
        ]
