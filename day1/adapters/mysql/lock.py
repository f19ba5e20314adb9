"""Named locks of a SQL server: they keep apart the processes that share a store on it.

The server frees a lock when the connection that holds it ends, however it ends.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final, Protocol
from weakref import WeakValueDictionary

from sqlalchemy import Connection, Engine

from day1.adapters.mysql.batch import is_allowed, is_usable, send_with_next
from day1.adapters.mysql.failures import translated
from day1.adapters.mysql.url import opened, patience
from day1.errors import StoreBusy, StoreUnavailable

Locked = Callable[[Connection, Sequence[str], float], AbstractContextManager[None]]
"""A function that takes named locks on a connection, and waits at most so many seconds."""
_RELEASED: Final = "released"
"""The key of `Connection.info` for the locks that were freed with a commit."""
Connect = Callable[[], AbstractContextManager[Connection]]


def lock_name(database: str, what: str) -> str:
    """Return the name of a lock: of a branch, or of something else.

    The case of the database and of the branch does not count: for servers it is the same one.
    """
    digest = hashlib.sha256(f"{database}/{what}".lower().encode()).hexdigest()
    return f"day1/{digest[:40]}"


@contextmanager
def locked(connection: Connection, names: Sequence[str], wait_s: float) -> Iterator[None]:
    """Hold named locks of the server on a connection, taken in the given order.

    Raises:
        StoreBusy: another connection held one for longer than `wait_s` seconds.
    """
    if not _taken(connection, names, wait_s):
        raise _busy(wait_s)
    try:
        yield
    finally:
        if is_usable(connection) and connection.info.pop(_RELEASED, None) != tuple(names):
            _release(connection, names)


def commit_and_release(connection: Connection, names: Sequence[str]) -> None:
    """Commit, and free the locks of the innermost `locked` block at once, in one round trip.

    Without names, or on a server that takes one statement at a time, it only commits.
    """
    if not names or not is_allowed(connection.engine):
        connection.exec_driver_sql("COMMIT")
        return
    send_with_next(connection, "COMMIT")
    _release(connection, names)
    connection.info[_RELEASED] = tuple(names)


def _taken(connection: Connection, names: Sequence[str], wait_s: float) -> bool:
    """Take locks in order; returns whether all were free in time. Else none is held."""
    if len(names) > 1:
        # All in one statement, where nobody has them; what stands behind a held one is not taken.
        lock_expression = "0"
        for _ in names:
            lock_expression = f"IF(GET_LOCK(%s, 0) = 1, 1 + {lock_expression}, 0)"
        taken_count = connection.exec_driver_sql(f"SELECT {lock_expression}", tuple(names)).scalar()
        if taken_count == len(names):
            return True
        if taken_count:
            _release(connection, names[:taken_count])
    deadline = time.monotonic() + wait_s
    for index, name in enumerate(names):
        seconds_left = max(0.0, deadline - time.monotonic()) if index else wait_s
        with patience(connection, seconds_left):
            get_lock_result = connection.exec_driver_sql(
                "SELECT GET_LOCK(%s, %s)", (name, seconds_left)
            ).scalar()
        if get_lock_result != 1:
            if index:
                _release(connection, names[:index])
            return False
    return True


def _release(connection: Connection, names: Sequence[str]) -> None:
    release_calls = ", ".join(["RELEASE_LOCK(%s)"] * len(names))
    connection.exec_driver_sql(f"SELECT {release_calls}", tuple(names))


def _busy(wait_s: float) -> StoreBusy:
    return StoreBusy(
        f"Another writer has held this store for {wait_s:.3g} s; try again.", limit_s=wait_s
    )


class Queues:
    """Queues of this process's threads for named locks; only the first has a connection.

    Otherwise the queue could take all connections, and the holder could not go on.
    """

    def __init__(
        self, wait_s: float, hold: Locked = locked, max_threads: int | None = None
    ) -> None:
        """Make the queues empty; a thread will wait at most `wait_s` seconds.

        At most `max_threads` threads hold locks at once; None: any number.
        """
        self._wait_s, self._hold = wait_s, hold
        self._guard = threading.Lock()
        self._first: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._places = None if max_threads is None else threading.BoundedSemaphore(max_threads)

    @contextmanager
    def held(
        self, names: Sequence[str], connect: Connect, wait_s: float | None = None
    ) -> Iterator[Connection]:
        """Lend a connection that holds named locks of the server, taken in the given order.

        Raises:
            StoreBusy: others held one for longer than the limit.
        """
        limit_s = self._wait_s if wait_s is None else wait_s
        deadline = time.monotonic() + limit_s
        with ExitStack() as entered_queues:
            for name in names:
                _enter(entered_queues, self._queue(name), deadline, limit_s)
            if self._places is not None:
                _enter(entered_queues, self._places, deadline, limit_s)
            with connect() as connection, ExitStack() as held_locks:
                seconds_left = max(0.0, deadline - time.monotonic())
                try:
                    held_locks.enter_context(self._hold(connection, names, seconds_left))
                except StoreBusy as exc:  # which tells the seconds that were left
                    raise _busy(limit_s) from exc
                yield connection

    def _queue(self, name: str) -> threading.Lock:
        with self._guard:
            queue = self._first.get(name)
            if queue is None:
                queue = self._first[name] = threading.Lock()
            return queue


class _Queue(Protocol):
    """A lock or semaphore of threads."""

    def acquire(self, *, timeout: float) -> bool:
        """Enter the queue after at most so many seconds; return whether that was possible."""

    def release(self) -> None:
        """Leave the queue."""


def _enter(entered: ExitStack, queue: _Queue, deadline: float, limit_s: float) -> None:
    """Enter a queue of threads, and leave it with `entered`.

    Raises:
        StoreBusy: it did not come to this thread by `deadline`.
    """
    if not queue.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise _busy(limit_s)
    entered.callback(queue.release)


class ServerLocks:
    """`adapters.ledger.lock_and_watch.Locks` on a server: a thread's locks are on one connection.

    The ledger's transactions of that thread use the connection too: where it is lost, the locks
    are, and no transaction ends without them.
    """

    def __init__(
        self,
        engine: Engine,
        place: tuple[str, str],
        queues: Queues,
        limit_s: float,
        *,
        by_name: bool,
    ) -> None:
        """Set the server and the queues of its locks; take no lock yet.

        Args:
            engine: connections to the server.
            place: the store's database, and the name of the store in messages.
            queues: of the threads that wait for these locks.
            limit_s: the longest wait.
            by_name: whether a connection of this server can hold several locks; if not, each name
                stands for the whole store.
        """
        self._database, self._where = place
        self._engine = engine
        self._queues = queues
        self.limit_s = limit_s
        self.by_name = by_name
        self._mine = _Mine()

    @contextmanager
    def held(self, names: Collection[str], wait_s: float) -> Iterator[None]:
        """Hold the locks of these names for the block; none: the lock of the whole store.

        Raises:
            StoreBusy: another day1 held one for longer than the limit.
        """
        new_locks = [lock for lock in self._locks(names) if lock not in self._mine.locks]
        if not new_locks:
            yield
            return
        with self._queues.held(new_locks, self.connection, wait_s) as connection:
            mine = self._mine
            previous_state = mine.connection, mine.locks, mine.newest
            mine.connection, mine.locks = connection, mine.locks.union(new_locks)
            mine.newest = tuple(new_locks)
            try:
                yield
            finally:
                mine.connection, mine.locks, mine.newest = previous_state

    @contextmanager
    def held_if_free(self, names: Collection[str]) -> Iterator[bool]:
        """Try to hold the locks for the block; yields False if any thread holds one, even this."""
        if not self._mine.locks.isdisjoint(self._locks(names)):
            yield False
            return
        with ExitStack() as held_locks:
            try:
                held_locks.enter_context(self.held(names, 0))
            except StoreBusy:
                yield False
                return
            yield True

    def whole_is_free(self) -> bool:
        """Whether nobody else holds the lock of the whole store."""
        (whole_store_lock,) = self._locks(())
        if whole_store_lock in self._mine.locks:
            return True
        with self.connection() as connection:
            return (
                connection.exec_driver_sql("SELECT IS_FREE_LOCK(%s)", (whole_store_lock,)).scalar()
                == 1
            )

    def _locks(self, names: Collection[str]) -> list[str]:
        if not names or not self.by_name:
            return [lock_name(self._database, "/deeds")]
        return sorted({lock_name(self._database, f"/deeds/{name}") for name in names})

    @property
    def connected(self) -> bool:
        """Whether this thread has a connection that holds locks."""
        return self._mine.connection is not None

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend the connection that holds this thread's locks; without locks any connection.

        Raises:
            StoreUnavailable: the connection ended, and another day1 may have the locks now.
        """
        connection = self._mine.connection
        if connection is None:
            with opened(self._engine, self._where) as connection:
                yield connection
            return
        # A dead one would connect again when it is asked, and then be without the locks.
        if not is_usable(connection):
            raise StoreUnavailable(
                "The connection to the server broke, and another day1 process may finish or undo "
                "this operation: check whether it was done, then try again."
            )
        with translated(self._where):
            yield connection

    def commit(self, connection: Connection) -> None:
        """Commit the last transaction of this thread's newest locks, and free them."""
        commit_and_release(connection, self._mine.newest)

    def check(self) -> None:
        """Make sure that the locks of this thread are held still, if it took any.

        Raises:
            StoreUnavailable: their connection ended, and another day1 may have them now.
        """
        if self.connected:
            with self.connection() as connection:
                connection.exec_driver_sql("SELECT 1")


class _Mine(threading.local):
    """The locks of this thread, those it took last, and the connection that holds them."""

    connection: Connection | None = None
    locks: frozenset[str] = frozenset()
    newest: tuple[str, ...] = ()
