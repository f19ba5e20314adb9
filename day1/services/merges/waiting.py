"""What waits for a person: open reviews, and what merges held on branches that people share."""

from collections.abc import Hashable
from dataclasses import dataclass

from day1.errors import Day1Error, Json
from day1.model.branches.branch import MAIN
from day1.model.records.review import Review
from day1.model.rows.change import Ref
from day1.services.branches.lookup import name_of
from day1.services.merges.held import offers_on
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Awaited:
    """One thing that waits: a review or a held item."""

    id: str
    branches: tuple[str, ...]
    """The branches that it is about: it is shown only to who may see all of them."""
    state: tuple[int, int, int] = (0, 0, 0)
    """Differs when a review was decided about or approved."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Everything that waits."""

    reviews: tuple[Awaited, ...] = ()
    """Open ones, the newest first."""
    held: tuple[Awaited, ...] = ()
    """Held items by branch, the oldest first."""

    @property
    def every(self) -> tuple[Awaited, ...]:
        """Reviews and held items."""
        return self.reviews + self.held

    def document(self) -> dict[str, Json]:
        """How many things wait, and the ids of them; no memory text is among it."""
        reviews, held = ([one.id for one in found] for found in (self.reviews, self.held))
        return {"count": len(self.every), "reviews": reviews, "held": held}


@dataclass(frozen=True, slots=True)
class Waits:
    """A change of what waits: each thing that began to wait, was decided about, or is settled."""

    changed: tuple[Awaited, ...]


def waiting(repo: Repository, *also: str) -> Waiting:
    """What waits now: open reviews, and the held items of main, protected branches and `also`.

    What a merge held on a branch of one agent's own is that agent's to decide, and no person's.
    """
    tips = repo.history.branches()
    shared = [b.name for b in repo.ledger.branches() if b.name == MAIN or b.protection]
    held: dict[str, Awaited] = {}
    for name in dict.fromkeys((*shared, *also)):
        if name in tips:
            with repo.store.reading(Ref(branch=name)) as reading:
                found = [offer.item.id for offer in offers_on(repo, reading)]
            for item in found:  # a fork has the items of its parent too
                held.setdefault(item, Awaited(item, (name,)))
    return Waiting(_reviews(repo), tuple(held.values()))


def _reviews(repo: Repository) -> tuple[Awaited, ...]:
    return tuple(
        Awaited(
            one.id,
            tuple(filter(None, (name_of(repo, i) for i in (one.source_id, one.target_id)))),
            _state(one),
        )
        for one in reversed(repo.ledger.records(Review, status="open"))
    )


def _state(review: Review) -> tuple[int, int, int]:
    times = [*(one.at for one in review.decided), *(one.at for one in review.approved)]
    return len(review.decisions), len(review.approvals), max(times, default=0)


class WaitingPoller:
    """Looks for changes of what waits; a look costs next to nothing if nothing was written."""

    def __init__(self, repo: Repository) -> None:
        """Poll a memory; the first look finds no change."""
        self._repo = repo
        self._stamp: Hashable = None
        self._seen: dict[str, Awaited] | None = None

    def look(self) -> Waits | None:
        """What changed since the last look; None if nothing did.

        Raises:
            Day1Error: the store does not answer; the next look finds what this one would have.
        """
        stamp = stamp_of(self._repo)
        if stamp is not None and stamp == self._stamp:
            return None
        seen = {one.id: one for one in waiting(self._repo).every}
        before, self._seen, self._stamp = self._seen, seen, stamp
        if before is None or before == seen:
            return None
        changed = (one for one in {**before, **seen}.values() if before.get(one.id) != one)
        gone = (one for one in before.values() if one.id not in seen)
        return Waits((*changed, *gone))

    def begin(self) -> None:
        """Learn the present state; of a store that does not answer, that nothing waits."""
        try:
            self.look()
        except Day1Error:
            self._seen = {}


def stamp_of(repo: Repository) -> Hashable:
    """A value that changes with every write to the memory; None where that is not known."""
    store, ledger = repo.store.stamp(), repo.ledger.stamp()
    return None if ledger is None else (store, ledger)
