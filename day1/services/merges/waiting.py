"""What waits for a person: open reviews, and open held items of shared branches."""

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
    """A review or a held item that waits for a person."""

    id: str
    branches: tuple[str, ...]
    """Names of its branches; only callers who may see all of these branches see it."""
    state: tuple[int, int, int] = (0, 0, 0)
    """A value that changes with every decision and approval of a review."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """All reviews and held items that wait for a person."""

    reviews: tuple[Awaited, ...] = ()
    """Open reviews, newest first."""
    held: tuple[Awaited, ...] = ()
    """Open held items by branch, oldest first."""

    @property
    def every(self) -> tuple[Awaited, ...]:
        """The waiting reviews, then the waiting held items."""
        return self.reviews + self.held

    def document(self) -> dict[str, Json]:
        """Return the number and ids of waiting reviews and items as JSON, without any text."""
        review_ids, held_ids = (
            [awaited.id for awaited in awaited_items] for awaited_items in (self.reviews, self.held)
        )
        return {"count": len(self.every), "reviews": review_ids, "held": held_ids}


@dataclass(frozen=True, slots=True)
class Waits:
    """Reviews and held items that were opened, decided about or settled since the last look."""

    changed: tuple[Awaited, ...]


def waiting(repo: Repository, *also: str) -> Waiting:
    """List open reviews, and open held items of main, of protected branches and of `also`.

    Held items on an agent's own branch are left out: that agent decides them.
    """
    tip_by_branch = repo.history.branches()
    shared_branch_names = [
        branch.name for branch in repo.ledger.branches() if branch.name == MAIN or branch.protection
    ]
    awaited_by_id: dict[str, Awaited] = {}
    for branch_name in dict.fromkeys((*shared_branch_names, *also)):
        if branch_name in tip_by_branch:
            with repo.store.reading(Ref(branch=branch_name)) as reading:
                item_ids = [offer.item.id for offer in offers_on(repo, reading)]
            for item_id in item_ids:  # a fork has its parent's items too
                awaited_by_id.setdefault(item_id, Awaited(item_id, (branch_name,)))
    return Waiting(_reviews(repo), tuple(awaited_by_id.values()))


def _reviews(repo: Repository) -> tuple[Awaited, ...]:
    return tuple(
        Awaited(
            review.id,
            tuple(
                filter(
                    None,
                    (
                        name_of(repo, branch_id)
                        for branch_id in (review.source_id, review.target_id)
                    ),
                )
            ),
            _state(review),
        )
        for review in reversed(repo.ledger.records(Review, status="open"))
    )


def _state(review: Review) -> tuple[int, int, int]:
    times = [*(entry.at for entry in review.decided), *(entry.at for entry in review.approved)]
    return len(review.decisions), len(review.approvals), max(times, default=0)


class WaitingPoller:
    """Finds changes of open reviews and held items; `look` is cheap if nothing was written."""

    def __init__(self, repo: Repository) -> None:
        """Create a poller, whose first look reports no change."""
        self._repo = repo
        self._stamp: Hashable = None
        self._seen: dict[str, Awaited] | None = None

    def look(self) -> Waits | None:
        """Return the reviews and held items that changed since the last look; None without changes.

        Raises:
            Day1Error: the store does not answer; the next look reports the changes instead.
        """
        stamp = stamp_of(self._repo)
        if stamp is not None and stamp == self._stamp:
            return None
        awaited_by_id = {awaited.id: awaited for awaited in waiting(self._repo).every}
        earlier_by_id, self._seen, self._stamp = self._seen, awaited_by_id, stamp
        if earlier_by_id is None or earlier_by_id == awaited_by_id:
            return None
        changed_awaited = (
            awaited
            for awaited in {**earlier_by_id, **awaited_by_id}.values()
            if earlier_by_id.get(awaited.id) != awaited
        )
        settled_awaited = (
            awaited for awaited in earlier_by_id.values() if awaited.id not in awaited_by_id
        )
        return Waits((*changed_awaited, *settled_awaited))

    def begin(self) -> None:
        """Remember the present state, or an empty one if the store does not answer."""
        try:
            self.look()
        except Day1Error:
            self._seen = {}


def stamp_of(repo: Repository) -> Hashable:
    """Return a stamp, which every write to the memory changes; None if the ledger has no stamp."""
    store_stamp, ledger_stamp = repo.store.stamp(), repo.ledger.stamp()
    return None if ledger_stamp is None else (store_stamp, ledger_stamp)
