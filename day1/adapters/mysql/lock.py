"""Named locks of a SQL server: they keep apart the processes that share a store on it.

The server frees a lock when the connection that holds it ends, however it ends.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from weakref import WeakValueDictionary

from sqlalchemy import Connection, Engine

from day1.adapters.mysql.failures import translated
from day1.adapters.mysql.url import opened, patience
from day1.errors import StoreBusy, StoreUnavailable

Locked = Callable[[Connection, str, float], AbstractContextManager[None]]
"""A function that takes a named lock on a connection, and waits at most so many seconds."""
Connect = Callable[[], AbstractContextManager[Connection]]


def lock_name(database: str, what: str) -> str:
    """Return the name of a lock: of a branch, without regard to case, or of something else."""
    digest = hashlib.sha256(f"{database}/{what.lower()}".encode()).hexdigest()
    return f"day1/{digest[:40]}"


@contextmanager
def locked(connection: Connection, name: str, wait_s: float) -> Iterator[None]:
    """Hold a named lock of the server on a connection.

    Raises:
        StoreBusy: another connection held it for longer than `wait_s` seconds.
    """
    with patience(connection, wait_s):
        got = connection.exec_driver_sql("SELECT GET_LOCK(%s, %s)", (name, wait_s)).scalar()
    if got != 1:
        raise _busy(wait_s)
    try:
        yield
    finally:
        if not connection.invalidated:
            connection.exec_driver_sql("SELECT RELEASE_LOCK(%s)", (name,))


def _busy(wait_s: float) -> StoreBusy:
    return StoreBusy(
        f"Another writer has held this store for {wait_s:.3g} s; try again.", limit_s=wait_s
    )


class Queues:
    """Queues of this process's threads for named locks; only the first has a connection.

    Otherwise the queue could take all connections, and the holder could not go on.
    """

    def __init__(self, wait_s: float, hold: Locked = locked) -> None:
        """Make the queues empty; a thread will wait at most `wait_s` seconds."""
        self._wait_s, self._hold = wait_s, hold
        self._guard = threading.Lock()
        self._first: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    @contextmanager
    def held(
        self, name: str, connect: Connect, wait_s: float | None = None
    ) -> Iterator[Connection]:
        """Lend a connection that holds a named lock of the server.

        Raises:
            StoreBusy: others held it for longer than the limit.
        """
        limit_s = self._wait_s if wait_s is None else wait_s
        until = time.monotonic() + limit_s
        with self._guard:
            first = self._first.get(name)
            if first is None:
                first = self._first[name] = threading.Lock()
        if not first.acquire(timeout=limit_s):
            raise _busy(limit_s)
        try:
            with connect() as connection, ExitStack() as held:
                left_s = max(0.0, until - time.monotonic())
                try:
                    held.enter_context(self._hold(connection, name, left_s))
                except StoreBusy as exc:  # which tells the seconds that were left
                    raise _busy(limit_s) from exc
                yield connection
        finally:
            first.release()


class ServerLock:
    """`adapters.ledger.ledger.Lock` on a connection of its own."""

    def __init__(
        self, engine: Engine, name: str, where: str, wait_s: float, hold: Locked = locked
    ) -> None:
        """Take nothing yet; `where` names the store in messages."""
        self._name = name
        self._where = where
        self._connect = partial(opened, engine, where)
        self._queues = Queues(wait_s, hold)
        self._mine = threading.local()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            StoreBusy: another day1 held it for longer than the limit.
        """
        with (
            self._queues.held(self._name, self._connect) as connection,
            self._noted(connection),
        ):
            yield

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock for the block if nobody has it; says whether."""
        with ExitStack() as stack:
            try:
                lock = self._queues.held(self._name, self._connect, 0)
                connection = stack.enter_context(lock)
            except StoreBusy:
                yield False
                return
            stack.enter_context(self._noted(connection))
            yield True

    @contextmanager
    def _noted(self, connection: Connection) -> Iterator[None]:
        self._mine.connection = connection
        try:
            yield
        finally:
            self._mine.connection = None

    def check(self, ask: str = "SELECT 1") -> int | None:
        """Make sure that the lock is held still, if this thread took it.

        Args:
            ask: a question for a number, for the connection that holds the lock.

        Returns:
            The number; None if this thread did not take the lock.

        Raises:
            StoreUnavailable: its connection ended, and another day1 may have it now.
        """
        connection: Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            return None
        with translated(self._where):
            # A dead one would connect again when it is asked, and then be without the lock.
            if not connection.invalidated:
                return int(connection.exec_driver_sql(ask).scalar_one())
        raise StoreUnavailable(
            "The connection to the server broke, and another day1 may go on with this: look "
            "whether it was done, then try again."
        )
