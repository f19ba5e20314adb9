"""Readings and units of work, for all engines that keep commits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, func, select
from typing_extensions import override

from day1.adapters.mysql.url import clock as server_clock
from day1.adapters.rows.rows import ReadState, SqlReading
from day1.adapters.rows.tables import SCHEMA, SCHEMA_VERSION
from day1.adapters.versioned.connections import Connections
from day1.adapters.versioned.dialect import BranchState, Dialect
from day1.adapters.versioned.empty import EmptyReading
from day1.adapters.versioned.history import SqlHistory
from day1.adapters.versioned.work import SqlWork, commit_rows
from day1.errors import IntegrityBroken, NotAStore, StoreVersionUnknown
from day1.model.records.redaction import CLEAR, Mask
from day1.model.rows.change import Commit, CommitId, Pending, Ref, Writes
from day1.model.values.instant import SECOND
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.ports.store import Store, Work

CUT_AT_ROWS = 256
CUT_AT_AGE = 600 * SECOND

Masks = Callable[[], Mask]
"""What is redacted by now, by whichever process."""
Clock = Callable[[], int]
"""Microseconds since 1970 UTC."""
Point = Callable[[str], None]
"""Called at named points of a unit, where a test may kill the process."""


class SqlStore(Store):
    """`ports.store.Store`; an engine adds what it can do, its size and its upkeep."""

    def __init__(
        self,
        connections: Connections,
        dialect: Dialect,
        history: SqlHistory,
        clock: Clock | None,
    ) -> None:
        """Use an engine's connections and statements; nothing is opened yet.

        Without a clock times are the server's.
        """
        self._connections = connections
        self._dialect = dialect
        self.history = history
        self.point: Point = _pass
        self._mask: Masks = _clear
        self._clock = clock
        self._tips: dict[str, Commit] = {}
        """Of each branch the newest commit when it was last used: most often it still is."""

    @override
    def doubts(self) -> list[str]:
        return []

    def obey(self, mask: Masks) -> None:
        """Read and write through the mask that is given for each reading and unit."""
        self._mask = self.history.mask = mask

    @override
    @contextmanager
    def reading(self, ref: Ref) -> Iterator[Reading]:
        """Open a state for reading, as one snapshot."""
        if ref.empty:
            yield EmptyReading(ref.branch)
            return
        if ref.branch is None:
            with self._connections.at_commit(str(ref.commit)) as connection:
                yield self._reading(connection, str(ref.commit), None, ref.until)
            return
        with self._connections.on_branch(ref.branch) as connection:
            tip, state = self._state(connection, ref.branch)
            if ref.until is None or ref.until >= tip.ts:
                yield self._reading(connection, tip.id, ref.branch, ref.until, state.pending)
                return
        past = self.history.before(tip, ref.until)
        if past.empty:
            yield EmptyReading(ref.branch)
            return
        with self._connections.at_commit(str(past.commit)) as connection:
            yield self._reading(connection, str(past.commit), ref.branch, past.until)

    def _reading(
        self,
        connection: Connection,
        tip: CommitId,
        branch: str | None,
        until: int | None,
        pending: Pending = Pending(),  # noqa: B008 - frozen
    ) -> SqlReading:
        state = ReadState(tip, pending, branch, until, self._mask())
        reading = SqlReading(connection, state)
        reading.past = self.history
        return reading

    def _state(
        self, connection: Connection, branch: str, *, writes: bool = False
    ) -> tuple[Commit, BranchState]:
        """Begin a transaction; says the tip and what is pending."""
        self._connections.begin(connection, writes=writes)
        tip = self._tips.get(branch) or self.history.tip(connection)
        state = self._dialect.state(connection, tip.ts)
        if state.head != tip.id:  # another commit decides what is pending
            tip = self.history.read(connection, state.head)
            state = self._dialect.state(connection, tip.ts)
        self._tips[branch] = tip
        return tip, state

    @override
    @contextmanager
    def adding(self, branch: str) -> Iterator[Additions]:
        with self._connections.exclusive(branch) as connection:
            work = self._begin(connection, branch)
            if _is_due(work.pending, work.now):
                self._commit_pending(connection, branch, work.tip, work.pending)
                work = self._begin(connection, branch)
            yield work.additions
            self.point("add.before_commit")
            self._connections.end(connection)
            self.point("add.after_commit")

    @override
    @contextmanager
    def changing(self, branch: str) -> Iterator[Work]:
        with self._connections.exclusive(branch) as connection:
            work = self._begin(connection, branch)
            if work.pending.count:
                self._commit_pending(connection, branch, work.tip, work.pending)
                self.point("change.after_cut")
                work = self._begin(connection, branch)
            work.point = self.point
            yield work

    def _begin(self, connection: Connection, branch: str) -> SqlWork:
        tip, state = self._state(connection, branch, writes=True)
        pending, now = state.pending, self._now(connection, state)
        work = SqlWork(
            connection, ReadState(tip.id, pending, branch, mask=self._mask()), self._dialect
        )
        work.now = max(now, max(tip.ts, pending.newest or 0) + 1)
        work.past = self.history
        return work

    def _now(self, connection: Connection, state: BranchState) -> int:
        if self._clock is not None:
            return self._clock()
        return server_clock(connection) if state.now is None else state.now

    @override
    def repeat(self, branch: str, commit: Commit, writes: Writes) -> CommitId:
        with self._connections.exclusive(branch) as connection:
            work = self._begin(connection, branch)
            if work.tip != commit.parents[0]:
                raise IntegrityBroken(
                    f"{branch!r} was written to meanwhile: a copy is used when it is whole.",
                    branch=branch,
                )
            return work.repeat(commit, writes)

    @override
    def commit_pending(self, branch: str) -> CommitId:
        with self._connections.exclusive(branch) as connection:
            tip, state = self._state(connection, branch, writes=True)
            if not state.pending.count:
                return tip.id
            self.point("pending.before_commit")
            commit = self._commit_pending(connection, branch, tip.id, state.pending)
            self.point("pending.after_commit")
            return commit

    def _commit_pending(
        self, connection: Connection, branch: str, tip: CommitId, pending: Pending
    ) -> CommitId:
        made = commit_rows(connection, self._dialect, tip, pending)
        self._tips[branch] = self.history.learn(made)
        return made.id

    @override
    def commit_pending_if_due(self, branch: str) -> None:
        with self._connections.on_branch(branch) as connection:
            _, state = self._state(connection, branch)
            due = _is_due(state.pending, self._now(connection, state))
        if due:
            self.commit_pending(branch)

    @override
    def close(self) -> None:
        self._connections.close()


def _is_due(pending: Pending, now: int) -> bool:
    old = pending.oldest is not None and now - pending.oldest >= CUT_AT_AGE
    return pending.count >= CUT_AT_ROWS or old


def check_schema(connection: Connection) -> None:
    """Make sure that this day1 knows the tables of a state.

    Raises:
        NotAStore: they were begun, and not all made.
        StoreVersionUnknown: a later one made them.
    """
    version = connection.execute(select(func.max(SCHEMA.c.version))).scalar()
    if version is None:
        raise NotAStore(
            "The store has tables of day1 and no version: `day1 init` makes it whole, if it is "
            "empty."
        )
    if version > SCHEMA_VERSION:
        raise StoreVersionUnknown(
            f"The store has schema version {version}, this day1 reads up to "
            f"{SCHEMA_VERSION}: install a newer day1.",
            version=version,
        )


def _clear() -> Mask:
    """Nothing is redacted in a store without a ledger."""
    return CLEAR


def _pass(_: str) -> None:
    """No point is armed outside tests."""
