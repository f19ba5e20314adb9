"""Connections to a MatrixOne server: one pool, from which each connection is set to a position."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from typing_extensions import override

from day1.adapters.mysql.lock import Queues, lock_name
from day1.adapters.mysql.url import ServerDatabase, clock, opened
from day1.adapters.versioned.connections import Connections
from day1.adapters.versioned.matrixone.commit_store import CommitStore
from day1.adapters.versioned.matrixone.position import Position, position_of, set_position
from day1.adapters.versioned.matrixone.retention import Retention
from day1.adapters.versioned.matrixone.time_cursor import PastState
from day1.errors import Advice, NotFound, StoreUnavailable, UnknownBranch
from day1.model.branches.branch import MAIN
from day1.model.rows.change import CommitId


class MatrixOneConnections(Connections):
    """Connections to the branches and commits of a store on a MatrixOne server."""

    def __init__(self, server: ServerDatabase) -> None:
        """Open nothing yet."""
        self._engine = server.engine
        self._database = server.database
        self.where = server.where
        self._queues = Queues(server.wait_s)
        self.graph = CommitStore(server.database)
        self.retention = Retention(self.graph)
        self._states: dict[CommitId, PastState] = {}

    @contextmanager
    def plain(self) -> Iterator[Connection]:
        """A connection without a position: for the commit graph, and for making databases."""
        with opened(self._engine, self.where) as connection:
            set_position(connection, None)
            try:
                yield connection
            finally:
                if not connection.invalidated:
                    set_position(connection, None)

    @override
    @contextmanager
    def on_branch(self, branch: str) -> Iterator[Connection]:
        """A connection that reads a branch as it is now, and keeps reading that state."""
        with self.plain() as connection:
            ns = clock(connection) * 1_000
            position = self._position(connection, branch, ns)
            position.state = PastState(position.database, ns)
            set_position(connection, position)
            yield connection

    @override
    @contextmanager
    def at_commit(self, commit: CommitId) -> Iterator[Connection]:
        with self.plain() as connection:
            state = self.state(connection, commit)
            set_position(connection, Position("", state.database, commit, state=state))
            yield connection

    @override
    @contextmanager
    def exclusive(self, branch: str) -> Iterator[Connection]:
        """A connection that writes a branch, with a named lock that ends with the connection."""
        with self._locked(branch) as connection:
            position = self._position(connection, branch)
            self._recover(connection, position.tip)
            connection.exec_driver_sql(f"USE `{position.database}`")
            set_position(connection, position)
            yield connection

    @override
    @contextmanager
    def fresh(self, branch: str = MAIN) -> Iterator[Connection]:
        with self.on_branch(branch) as connection:
            yield connection

    @contextmanager
    def _locked(self, branch: str) -> Iterator[Connection]:
        with self._queues.held(lock_name(self._database, branch), self.plain) as connection:
            try:
                yield connection
            finally:
                # What was not committed goes while the branch is still locked.
                if not connection.invalidated:
                    connection.exec_driver_sql("ROLLBACK")

    def _position(self, connection: Connection, branch: str, ns: int | None = None) -> Position:
        found = self.graph.branch(connection, branch, ns)
        if found is None:
            raise UnknownBranch(
                f"There is no branch {branch!r}.",
                Advice("{memory_branch_list} shows those there are."),
                branch=branch,
            )
        return Position(branch, *found)

    def state(self, connection: Connection, commit: CommitId) -> PastState:
        """Where and when a commit's rows are.

        Raises:
            NotFound: there is no such commit, or the server no longer keeps its rows.
        """
        state = self.find(connection, commit)
        if self.retention.stale:
            with self.plain() as other:
                self.retention.look(other)
        self.retention.check(state)
        return state

    def find(self, connection: Connection, commit: CommitId) -> PastState:
        """The same of a commit that the server may no longer keep."""
        state = self._states.get(commit)
        if state is None:
            state = self._states[commit] = self._find(connection, commit)
        return state

    def _find(self, connection: Connection, commit: CommitId) -> PastState:
        database, ns = self._location(connection, commit)
        if ns is None:
            # Its writer is about to say, or was killed: nobody has written since.
            branch = self.graph.branch_of(connection, database)
            with self._locked(branch) as other:
                ns = self._recover(other, commit)
        return PastState(database, ns)

    def _location(self, connection: Connection, commit: CommitId) -> tuple[str, int | None]:
        found = self.graph.location(connection, commit)
        if found is None:
            raise NotFound(f"There is no commit {commit}.", commit=commit)
        return found

    def _recover(self, connection: Connection, commit: CommitId) -> int:
        """The time of a branch's tip, stamped if its process was killed before it could."""
        _, ns = self._location(connection, commit)
        return self.graph.stamp(connection, commit) if ns is None else ns

    @override
    def begin(self, connection: Connection, *, writes: bool) -> None:
        """Begin a transaction; reading needs none."""
        if writes:
            connection.exec_driver_sql("START TRANSACTION")

    @override
    def end(self, connection: Connection) -> None:
        """Make the transaction durable, and check that it is.

        A server that had just restarted acknowledged transactions that it then did not have.
        """
        position = position_of(connection)
        self.graph.count_unit(connection, position.branch, position.tip)
        connection.exec_driver_sql("COMMIT")
        if self._position(connection, position.branch).units != position.units + 1:
            raise StoreUnavailable(
                "The server acknowledged these rows and does not have them: look whether they are "
                "there, then try again."
            )

    @override
    def close(self) -> None:
        self._engine.dispose()
