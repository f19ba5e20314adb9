"""Readings and units of work, the same for all engines that keep commits."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from sqlalchemy import Connection
from typing_extensions import override

from day1.adapters.mysql.batch import send
from day1.adapters.mysql.url import clock as server_clock
from day1.adapters.mysql.url import instant_of
from day1.adapters.rows.read_view import ReadView
from day1.adapters.rows.rows import SqlAdditions, SqlReading, pending_and
from day1.adapters.rows.steps import checked, versions
from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.adapters.versioned.connections import Connections
from day1.adapters.versioned.dialect import Dialect
from day1.adapters.versioned.empty import EmptyReading
from day1.adapters.versioned.history import SqlHistory, author_of, encode
from day1.adapters.versioned.own_writes import know_added
from day1.adapters.versioned.work import SqlWork, commit_rows
from day1.errors import IntegrityBroken, UnknownBranch
from day1.model.branches.branch import MAIN
from day1.model.redaction.mask import CLEAR, Mask
from day1.model.rows.change import Commit, CommitId, Message, Pending, Ref, Writes
from day1.model.values.callbacks import Clock, KillPoint, no_kill_point
from day1.model.values.instant import SECOND
from day1.ports.reading import Reading
from day1.ports.store import AddingUnit, Store, Work

MOST_PENDING_ROWS = 256
"""Number of pending rows of a branch at which they are committed."""
MOST_PENDING_AGE = 600 * SECOND
"""Age of a branch's oldest pending row at which all are committed, in microseconds."""
_MOST_TIPS = 4_096
"""Maximum number of branches whose tip is remembered, and commits whose schema is; then all are
forgotten."""

Masks = Callable[[], Mask]
"""A function that returns the present mask: what any process has redacted so far."""
Withdraw = Callable[[str, Collection[str]], None]
"""A function that removes the texts of a branch's secret rows, by hash, from the index."""


@dataclass(frozen=True, slots=True)
class _BranchState:
    """The state of a branch at the beginning of a transaction."""

    branch: str
    tip: Commit
    pending: Pending
    now: int | None
    """The engine's time, if it was read with the state."""
    version: int
    """The version of the branch's schema."""

    def later(self, now: int) -> int:
        """Return a time for a unit, later than all of the branch even if clocks go back."""
        return max(now, max(self.tip.ts, self.pending.newest or 0) + 1)

    def rows(self, mask: Mask) -> ReadView:
        """Return the state in which to read the branch's rows."""
        return ReadView(self.tip.id, self.pending, self.branch, mask=mask, version=self.version)


class SqlStore(Store):
    """The store of an engine that keeps commits; subclasses add capabilities, size and upkeep."""

    def __init__(
        self,
        connections: Connections,
        dialect: Dialect,
        history: SqlHistory,
        clock: Clock | None,
    ) -> None:
        """Use an engine's connections and statements; nothing is opened yet.

        Without a clock, times are the server's.
        """
        self._connections = connections
        self._dialect = dialect
        self.history = history
        self.point: KillPoint = no_kill_point
        self._mask: Masks = lambda: CLEAR  # a store without a ledger hides nothing
        self.withdraw: Withdraw = lambda _branch, _hashes: None
        """The function called with the texts of rows that became secret, to remove them from the
        index."""
        self.hide: Callable[[], object] = bool
        """The function called before and after a commit that hides facts, to remove primes that
        show them."""
        self._clock = clock
        self._tips: dict[str, Commit] = {}
        """The tip of each branch at its last use, which most often is still its tip."""
        self._pending: set[str] = set()
        """The branches that had pending rows at their last use."""
        self._schemas: dict[CommitId, int] = {}
        """The version of the schema of commits that were read."""
        self.version = SCHEMA_VERSION
        """The version of the schema that a branch must have before it is written to."""
        self._main_leads = False
        """Whether main is known to have the present schema."""

    @override
    def warnings(self) -> list[str]:
        return []

    def obey(self, mask: Masks) -> None:
        """Set the function that returns the present mask; every reading and unit calls it."""
        self._mask = self.history.mask = mask

    @override
    @contextmanager
    def reading(self, ref: Ref) -> Iterator[Reading]:
        """Open a state for reading, as one snapshot."""
        if ref.empty:
            yield EmptyReading(ref.branch)
            return
        if ref.branch is None:
            with self._at_commit(str(ref.commit)) as connection:
                yield self._past(connection, ref)
            return
        with self._connections.on_branch(ref.branch) as connection:
            branch_state = self._begin(connection, ref.branch)
            if ref.until is None or ref.until >= branch_state.tip.ts:
                read_view = replace(
                    branch_state.rows(self._mask()), until=ref.until, shown_at=ref.shown_at
                )
                yield SqlReading(connection, read_view, self.history)
                return
        past_ref = self.history.before(branch_state.tip, ref.until)
        if past_ref.empty:
            yield EmptyReading(ref.branch)
            return
        with self._connections.at_commit(str(past_ref.commit)) as connection:
            yield self._past(
                connection, replace(past_ref, branch=ref.branch, shown_at=ref.shown_at)
            )

    def _past(self, connection: Connection, ref: Ref) -> Reading:
        """Read a past state over a connection at its commit; before `init` it is empty."""
        commit_id = str(ref.commit)
        if not self.history.has_tables(connection, commit_id):
            return EmptyReading(ref.branch)
        read_view = ReadView(
            commit_id,
            branch=ref.branch,
            until=ref.until,
            mask=self._mask(),
            shown_at=ref.shown_at,
            version=self._schema_at(connection, commit_id),
        )
        return SqlReading(connection, read_view, self.history)

    def _schema_at(self, connection: Connection, commit: CommitId) -> int:
        """Return the version of a commit's schema, over a connection at the commit or its branch.

        Raises:
            StoreVersionUnknown: a later day1 made the commit.
        """
        version = self._schemas.get(commit)
        if version is None:
            _, version = versions(connection)
            self._remember(commit, version)
        return version

    def _remember(self, commit: CommitId, version: int) -> None:
        """Remember the version of a commit's schema."""
        if len(self._schemas) >= _MOST_TIPS:
            self._schemas.clear()
        self._schemas[commit] = version

    @contextmanager
    def _at_commit(self, commit: CommitId) -> Iterator[Connection]:
        """Open a connection at a commit, or on a branch with that tip if it is quicker."""
        names_and_tips = list(self._tips.items()) if self._connections.slow_at_commit else ()
        branch_with_tip = next((name for name, tip in names_and_tips if tip.id == commit), None)
        if branch_with_tip is not None:
            with ExitStack() as open_connections:
                connection = None
                with suppress(UnknownBranch):  # it may have been deleted
                    connection = open_connections.enter_context(
                        self._connections.on_branch(branch_with_tip)
                    )
                if connection is not None:
                    branch_state = self._begin(connection, branch_with_tip)
                    if branch_state.tip.id == commit and not branch_state.pending.count:
                        yield connection
                        return
        with self._connections.at_commit(commit) as connection:
            yield connection

    def _begin(self, connection: Connection, branch: str, *, writes: bool = False) -> _BranchState:
        """Begin a transaction, and read the branch's state."""
        self._connections.begin(connection, writes=writes)
        tip = self._tips.get(branch) or self.history.tip(connection)
        head_id, version, pending, engine_time = self._read_state(connection, tip)
        if head_id != tip.id:  # rows are pending since another commit
            tip = self.history.read(connection, head_id)
            _, version, pending, engine_time = self._read_state(connection, tip)
        if len(self._tips) >= _MOST_TIPS and branch not in self._tips:
            self._tips.clear()
            self._pending.clear()
        self._tips[branch] = tip
        (self._pending.add if pending.count else self._pending.discard)(branch)
        self._remember(tip.id, version)
        return _BranchState(branch, tip, pending, engine_time, version)

    def _begin_writing(self, connection: Connection, branch: str) -> _BranchState:
        """Begin a writing transaction, after stepping the branch to the present schema."""
        branch_state = self._begin(connection, branch, writes=True)
        if branch_state.version >= self.version:
            return branch_state
        if branch_state.pending.count:
            self._commit_pending(connection, branch_state)
            self.point("schema.after_pending")
            branch_state = self._begin(connection, branch, writes=True)
        # A killed step may have been committed with those rows.
        if branch_state.version < self.version:
            self._step(connection, branch_state)
            branch_state = self._begin(connection, branch, writes=True)
        return branch_state

    def _step(self, connection: Connection, branch_state: _BranchState) -> None:
        """Step a branch to the present schema, as a commit of its own."""
        now = branch_state.later(self._now(connection, branch_state))
        self._dialect.step(connection)
        self.point("schema.before_commit")
        message_line = f"step the tables to schema {SCHEMA_VERSION}"
        message = encode(Message("schema", message_line), now, (), {})
        self._dialect.commit(connection, message, author_of(()), empty=True)
        self.point("schema.after_commit")

    def _let_main_lead(self, branch: str) -> None:
        """Step main before other branches, so that connections to main know all columns."""
        if branch == MAIN or self._main_leads or self.version == self.history.oldest:
            return
        with self._connections.exclusive(MAIN) as connection:
            self._begin_writing(connection, MAIN)
        self._main_leads = True

    def _read_state(
        self, connection: Connection, tip: Commit
    ) -> tuple[CommitId, int, Pending, int | None]:
        """Read a branch's head, version of schema, rows pending since `tip`, and the engine's time.

        Raises:
            StoreVersionUnknown: a later day1 has stepped the branch since the store was opened.
        """
        pending, extra_values = pending_and(connection, tip.ts, *self._dialect.told)
        head_id = str(extra_values[0]) if extra_values else self._dialect.head(connection)
        version = _known(extra_values[1]) if extra_values else self._schema_at(connection, head_id)
        return head_id, version, pending, instant_of(extra_values[2]) if extra_values[2:] else None

    @override
    @contextmanager
    def adding(self, branch: str) -> Iterator[AddingUnit]:
        self._let_main_lead(branch)
        with self._connections.exclusive(branch) as connection:
            branch_state = self._begin_writing(connection, branch)
            now = self._now(connection, branch_state)
            if _is_due(branch_state.pending, now):
                self._commit_pending(connection, branch_state)
                branch_state = self._begin(connection, branch, writes=True)
            unit = SqlAdditions(connection, branch_state.rows(self._mask()), self.history)
            unit.now = branch_state.later(now)
            changing_units: list[SqlWork] = []

            def widen() -> Work:
                changing_units.append(self._begin_changing(connection, branch_state))
                return changing_units[0]

            unit.widen = widen
            yield unit
            if not changing_units:
                self.point("add.before_commit")
                self._connections.end(connection)
                know_added(connection, branch_state.tip.id, unit.added)
                self._pending.add(branch)
                self.point("add.after_commit")
        self._tell(branch, changing_units[0] if changing_units else unit)

    @override
    @contextmanager
    def changing(self, branch: str) -> Iterator[Work]:
        self._let_main_lead(branch)
        with self._connections.exclusive(branch) as connection:
            unit = self._begin_changing(connection, self._begin_writing(connection, branch))
            yield unit
        self._tell(branch, unit)

    def _begin_changing(self, connection: Connection, branch_state: _BranchState) -> SqlWork:
        """Commit the pending rows of a branch, then begin a unit that changes rows."""
        if branch_state.pending.count:
            self._commit_pending(connection, branch_state)
            self.point("change.after_pending")
            branch_state = self._begin(connection, branch_state.branch, writes=True)
        return self._work(connection, branch_state)

    def _tell(self, branch: str, work: SqlAdditions) -> None:
        """Remove what a committed unit hides from the index and the primes."""
        if work.secret:
            self.withdraw(branch, work.secret)
        if isinstance(work, SqlWork):
            if work.made is not None:
                self._tips[branch] = self.history.learn(work.made)
            if work.hides:  # again: a prime may have been made before the commit
                self.hide()

    def _work(self, connection: Connection, branch_state: _BranchState) -> SqlWork:
        unit = SqlWork(connection, branch_state.rows(self._mask()), self.history, self._dialect)
        unit.now, unit.point = branch_state.later(self._now(connection, branch_state)), self.point
        unit.hide = self.hide
        return unit

    def _now(self, connection: Connection, branch_state: _BranchState) -> int:
        """Return the store's time in microseconds since 1970 UTC."""
        if self._clock is not None:
            return self._clock()
        return server_clock(connection) if branch_state.now is None else branch_state.now

    @override
    def repeat(self, branch: str, commit: Commit, writes: Writes) -> CommitId:
        with self._connections.exclusive(branch) as connection:
            unit = self._work(connection, self._begin(connection, branch, writes=True))
            if unit.tip != commit.parents[0]:
                raise IntegrityBroken(
                    f"{branch!r} was written to meanwhile: remove the copy, and copy again.",
                    branch=branch,
                )
            return unit.repeat(commit, writes)

    @override
    @contextmanager
    def sealed(self, branch: str) -> Iterator[CommitId]:
        with self._connections.exclusive(branch) as connection:
            branch_state = self._begin(connection, branch, writes=True)
            tip = self._settled(connection, branch_state)
            if branch_state.pending.count:  # refs must not change during a transaction
                send(connection)
            else:
                connection.exec_driver_sql("ROLLBACK")
            yield tip

    @override
    def commit_pending(self, branch: str) -> CommitId:
        if branch not in self._pending:  # then nobody need be locked out, if that is so still
            with self._connections.on_branch(branch) as connection:
                branch_state = self._begin(connection, branch)
            if not branch_state.pending.count:
                return branch_state.tip.id
        with self._connections.exclusive(branch) as connection:
            return self._settled(connection, self._begin(connection, branch, writes=True))

    def _settled(self, connection: Connection, branch_state: _BranchState) -> CommitId:
        """Commit a branch's pending rows and return its tip."""
        if not branch_state.pending.count:
            return branch_state.tip.id
        self.point("pending.before_commit")
        commit_id = self._commit_pending(connection, branch_state)
        self.point("pending.after_commit")
        return commit_id

    def _commit_pending(self, connection: Connection, branch_state: _BranchState) -> CommitId:
        commit = commit_rows(connection, self._dialect, branch_state.rows(CLEAR))
        self._tips[branch_state.branch] = self.history.learn(commit)
        self._remember(commit.id, branch_state.version)
        return commit.id

    @override
    def commit_pending_if_due(self, branch: str, pending: Pending | None = None) -> None:
        # This machine's clock will do, unless it is far behind the server's.
        if pending is not None and not _is_due(pending, (self._clock or _own_clock)()):
            return
        with self._connections.on_branch(branch) as connection:
            branch_state = self._begin(connection, branch)
            is_due = _is_due(branch_state.pending, self._now(connection, branch_state))
        if is_due:
            self.commit_pending(branch)

    @override
    def close(self) -> None:
        self._connections.close()


def _is_due(pending: Pending, now: int) -> bool:
    """Whether pending rows reach the number or the age (microseconds) that needs a commit."""
    is_old = pending.oldest is not None and now - pending.oldest >= MOST_PENDING_AGE
    return pending.count >= MOST_PENDING_ROWS or is_old


def _own_clock() -> int:
    """Return this machine's time in microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def _known(version: int | None) -> int:
    """Return the version of a state's schema if this day1 knows it; raises as `check_schema`."""
    return SCHEMA_VERSION if version == SCHEMA_VERSION else checked(version)
