"""The repository: the store, its history and its ledger, as services use them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import TypeVar

from day1.errors import Advice, NotFound
from day1.model.lessons.rating import Votes
from day1.model.rows.change import CommitId, Ref
from day1.model.values.callbacks import Clock, KillPoint, no_kill_point
from day1.model.values.ids import NewId
from day1.ports.history import History
from day1.ports.ledger import Ledger
from day1.ports.store import Store

T = TypeVar("T")


def nothing_to_forget(_: Collection[str]) -> None:
    """There is no index."""


def no_primes() -> None:
    """None are kept."""


@dataclass(frozen=True, slots=True)
class Repository:
    """What holds a memory: its rows, its history, what is said about them, and an id maker."""

    store: Store
    history: History
    ledger: Ledger
    new_id: NewId
    clock: Clock
    """By it rows expire."""
    point: KillPoint = no_kill_point
    forget: Callable[[Collection[str]], None] = nothing_to_forget
    """Take texts out of this node's index, by their hashes."""
    forget_primes: Callable[[], None] = no_primes
    """Remove the kept primes, which may quote what was redacted, or a branch that is gone."""
    registered_writers: set[str] = field(default_factory=set)
    """Writers that are in the ledger, as far as this process knows (`services.tasks.sessions`)."""
    reached: dict[tuple[str, ...], tuple[frozenset[CommitId], frozenset[CommitId]]] = field(
        default_factory=dict
    )
    """By limits of tokens: tips, and every commit in their past (`services.access.scoped`)."""
    votes_kept: dict[tuple[str, ...], tuple[Votes, frozenset[str], Votes]] = field(
        default_factory=dict
    )
    """By limits of tokens: all votes, the branches that are seen, and the votes given on these."""
    of_request: bool = False
    """The ids are those of a request, so what it makes may be there already."""

    def shown(self, ref: Ref) -> Ref:
        """A state as it is shown: of now, or of the instant as of which it is asked for."""
        return replace(ref, shown_at=self.clock() if ref.until is None else ref.until)


def find_record(repo: Repository, kind: type[T], record_id: str, advice: Advice) -> T:
    """Find a record by its id.

    Raises:
        NotFound: there is none; `advice` says where to look.
    """
    record = repo.ledger.record(kind, record_id)
    if record is None:
        noun = kind.__name__.lower()
        details = {f"{noun}_id": record_id}
        raise NotFound(f"There is no {noun} {record_id!r}.", advice, **details)
    return record
