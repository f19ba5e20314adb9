"""Which branches moved: what pages and clients that listen are told of."""

from collections.abc import Hashable
from dataclasses import dataclass

from day1.errors import Day1Error
from day1.model.rows.change import CommitId, Ref
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Moved:
    """A branch as it stands since something was written to it; gone, if `commit` is None."""

    branch: str
    commit: CommitId | None
    pending: int = 0
    new: bool = False
    """It was not there when one looked last."""


_Stand = tuple[CommitId, int, int | None]


class ChangePoller:
    """Looks at a store again and again; nothing was written, next to nothing is done."""

    def __init__(self, repo: Repository) -> None:
        """Look at a memory; what it is like at first is found out by `fresh`."""
        self._repo = repo
        self._stamp: Hashable = None
        self._seen: dict[str, _Stand] | None = None

    def fresh(self) -> "ChangePoller":
        """One that begins with the memory as it is now; while it is away, with none at all."""
        begun = ChangePoller(self._repo)
        try:
            begun.look()
        except Day1Error:
            begun._seen = {}
        return begun

    def look(self) -> list[Moved]:
        """The branches that moved since the last look; none at the first."""
        stamp = self._repo.store.stamp()
        if stamp == self._stamp:
            return []
        seen: dict[str, _Stand] = {}
        waiting = self._repo.history.dirty_branches()
        for name, tip in self._repo.history.branches().items():
            seen[name] = (tip, 0, None)
            if name in waiting:
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
