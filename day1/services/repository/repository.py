"""The repository: store, history and ledger of a memory, as services use them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from day1.errors import Advice, NotFound
from day1.model.lessons.rating import Votes
from day1.model.rows.change import CommitId, Ref
from day1.model.values.callbacks import Clock, KillPoint, no_kill_point
from day1.model.values.ids import NewId
from day1.ports.history import History
from day1.ports.ledger import Ledger
from day1.ports.store import Store

if TYPE_CHECKING:
    from day1.model.collection.records import CollectionRead
    from day1.model.records.desk import Desk
    from day1.model.skills.mined import Mined
    from day1.model.workspace.known_rows import KnownRows
    from day1.model.workspace.mind import Mind

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_WAIT_S: Final = 20.0
"""Seconds after which no further attempt begins."""
_FIRST_PAUSE_S: Final = 0.01
_MAX_PAUSE_S: Final = 0.2


def nothing_to_forget(_: Collection[str]) -> None:
    """Forget nothing, since there is no index."""


def no_primes() -> None:
    """Remove nothing, since no primes are kept."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A memory's store, history and ledger, with the clock and the source of new ids."""

    store: Store
    history: History
    ledger: Ledger
    new_id: NewId
    clock: Clock
    """The clock by which rows expire."""
    point: KillPoint = no_kill_point
    forget: Callable[[Collection[str]], None] = nothing_to_forget
    """Deletes texts from this node's index, by their hashes."""
    forget_primes: Callable[[], None] = no_primes
    """The function that removes the kept primes, which may quote redacted texts or be of a deleted
    branch."""
    registered_writers: set[tuple[str | None, ...]] = field(default_factory=set)
    """Cache of writers that the ledger has (`services.tasks.sessions`)."""
    reached: dict[tuple[str, ...], tuple[frozenset[CommitId], frozenset[CommitId]]] = field(
        default_factory=dict
    )
    """Cache by a token's limits: tips, and all commits in their past (`services.access.scoped`)."""
    votes_kept: dict[tuple[str, ...], tuple[Votes, frozenset[str], Votes]] = field(
        default_factory=dict
    )
    """Cache by a token's limits: all votes, the visible branches, and the votes on these."""
    mined: dict[tuple[Hashable, ...], Mined] = field(default_factory=dict)
    """Cache by space and state: the tool calls of the threads there (`services.skills.mining`)."""
    collections: dict[tuple[Hashable, ...], CollectionRead] = field(default_factory=dict)
    """Cache by spaces and state: the records in the texts there (`services.workspace.collecting`).
    """
    pinned: dict[str, tuple[CommitId, frozenset[str]]] = field(default_factory=dict)
    """Cache by branch: a commit, and the pinned facts there (`services.workspace.pinned`)."""
    known_rows: dict[str, KnownRows] = field(default_factory=dict)
    """Cache by branch id: the rows that workspaces read there (`services.workspace.known_rows`)."""
    minds: dict[str, tuple[Desk, Mind]] = field(default_factory=dict)
    """Cache by desk id: a desk that this process wrote, and its mind (`services.workspace.desks`).
    """
    of_request: bool = False
    """Whether new ids are derived from a request id, so that their rows may exist already."""

    def shown(self, ref: Ref) -> Ref:
        """Return the ref with the instant as of which rows are shown: its own, or now."""
        return replace(ref, shown_at=self.clock() if ref.until is None else ref.until)


def find_record(repo: Repository, kind: type[T], record_id: str, advice: Advice) -> T:
    """Find a record by its id.

    Raises:
        NotFound: there is none; `advice` says where to look.
    """
    record = repo.ledger.record(kind, record_id)
    if record is None:
        class_name = kind.__name__.lower()
        details = {f"{class_name}_id": record_id}
        raise NotFound(f"There is no {class_name} {record_id!r}.", advice, **details)
    return record


def keep_newest(cache: dict[K, V], key: K, value: V, most: int) -> None:
    """Put a value into a cache as its newest one; only the newest `most` values stay.

    Threads share the caches without a lock. No other thread can interrupt one of these steps, so
    the cache may change in between.
    """
    cache.pop(key, None)
    cache[key] = value
    for oldest_key in list(cache)[:-most]:
        cache.pop(oldest_key, None)


def attempts() -> Iterator[None]:
    """Yield once for each attempt of a change that other writers can overtake, for 20 seconds.

    The pauses between are random, so that two writers do not meet again, and grow up to 0.2 s.
    """
    end_s, max_pause_s = time.monotonic() + _WAIT_S, _FIRST_PAUSE_S
    yield
    while time.monotonic() < end_s:
        time.sleep(random.uniform(0, max_pause_s))  # noqa: S311 - no secret
        max_pause_s = min(2 * max_pause_s, _MAX_PAUSE_S)
        yield
