"""Polling a store for branches that changed, and for what waits for a person."""

from collections.abc import Hashable
from dataclasses import dataclass

from day1.errors import Day1Error
from day1.model.rows.change import CommitId, Ref
from day1.services.merges.waiting import WaitingPoller, Waits
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Moved:
    """A branch that was written to, as it is now; if `commit` is None it was deleted."""

    branch: str
    commit: CommitId | None
    pending: int = 0
    new: bool = False
    """It was not there at the last look."""


News = Moved | Waits
"""What listeners are told."""
_Tip = tuple[CommitId, int, int | None]


class ChangePoller:
    """Looks for changes of a store; a look costs next to nothing if nothing was written."""

    def __init__(self, repo: Repository) -> None:
        """Poll a memory; `fresh` makes a poller that knows its present state."""
        self._repo = repo
        self._stamp: Hashable = None
        self._seen: dict[str, _Tip] | None = None
        self._waiting = WaitingPoller(repo)
        self._news: list[News] = []
        """What is found and not yet answered: a look may fail in the middle."""

    def fresh(self) -> "ChangePoller":
        """A poller that knows the present state; if the store is unavailable, no branches."""
        begun = ChangePoller(self._repo)
        begun._waiting.begin()
        try:
            begun._moved()
        except Day1Error:
            begun._seen = {}
        return begun

    def look(self) -> list[News]:
        """What changed since the last look; nothing at the first one."""
        waits = self._waiting.look()
        self._news += [] if waits is None else [waits]
        self._news += self._moved()
        news, self._news = self._news, []
        return news

    def _moved(self) -> list[Moved]:
        stamp = self._repo.store.stamp()
        if stamp == self._stamp:
            return []
        seen: dict[str, _Tip] = {}
        dirty = self._repo.history.dirty_branches()
        for name, tip in self._repo.history.branches().items():
            seen[name] = (tip, 0, None)
            if name in dirty:
                with self._repo.store.reading(Ref(branch=name)) as reading:
                    pending = reading.pending
                    seen[name] = (reading.tip, pending.count, pending.newest)
        before, self._seen, self._stamp = self._seen, seen, stamp
        if before is None:
            return []
        now = [
            Moved(name, state[0], state[1], new=name not in before)
            for name, state in seen.items()
            if before.get(name) != state
        ]
        return now + [Moved(name, None) for name in before.keys() - seen.keys()]
