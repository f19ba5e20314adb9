"""Connections to a MatrixOne server: one pool; each connection in use has a position."""

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
from day1.model.rows.change import CommitId


class MatrixOneConnections(Connections):
    """Connections to the branches and commits of a store on a MatrixOne server."""

    def __init__(self, server: ServerDatabase) -> None:
        """Set the server and its database; open no connection yet."""
        self._engine = server.engine
        self._database = server.database
        self.where = server.where
        self._queues = Queues(server.wait_s)
        self.graph = CommitStore(server.database)
        self.retention = Retention(self.graph)
        self._states: dict[CommitId, PastState] = {}

    @contextmanager
    def plain(self) -> Iterator[Connection]:
        """Open a connection without a position, for the commit graph and for making databases."""
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
        """Open a connection that reads a branch's state as of now, even after later writes."""
        with self.plain() as connection:
            now_ns = clock(connection) * 1_000
            position = self._position(connection, branch, now_ns)
            position.state = PastState(position.database, now_ns)
            set_position(connection, position)
            yield connection

    @override
    @contextmanager
    def at_commit(self, commit: CommitId) -> Iterator[Connection]:
        with self.plain() as connection:
            past_state = self.state(connection, commit)
            set_position(connection, Position("", past_state.database, commit, state=past_state))
            yield connection

    @override
    @contextmanager
    def exclusive(self, branch: str) -> Iterator[Connection]:
        """Open a connection that writes a branch, under a named lock that ends with it."""
        with self._locked(branch) as connection:
            position = self._position(connection, branch)
            self._recover(connection, position.tip)
            connection.exec_driver_sql(f"USE `{position.database}`")
            set_position(connection, position)
            yield connection

    @contextmanager
    def _locked(self, branch: str) -> Iterator[Connection]:
        branch_lock = lock_name(self._database, branch)
        with self._queues.held((branch_lock,), self.plain) as connection:
            try:
                yield connection
            finally:
                # Roll back while the branch is still locked.
                if not connection.invalidated:
                    connection.exec_driver_sql("ROLLBACK")

    def _position(self, connection: Connection, branch: str, ns: int | None = None) -> Position:
        database_tip_units = self.graph.branch(connection, branch, ns)
        if database_tip_units is None:
            raise UnknownBranch(
                f"There is no branch {branch!r}.",
                Advice("{memory_branch_list} shows those there are."),
                branch=branch,
            )
        return Position(branch, *database_tip_units)

    def state(self, connection: Connection, commit: CommitId) -> PastState:
        """Find the database and time of a commit's rows, and check that the server keeps them.

        Raises:
            NotFound: there is no such commit, or the server no longer keeps its rows.
        """
        past_state = self.find(connection, commit)
        if self.retention.stale:
            with self.plain() as other_connection:
                self.retention.look(other_connection)
        self.retention.check(past_state)
        return past_state

    def find(self, connection: Connection, commit: CommitId) -> PastState:
        """Find the database and time of a commit's rows, which the server may no longer keep."""
        past_state = self._states.get(commit)
        if past_state is None:
            past_state = self._states[commit] = self._find(connection, commit)
        return past_state

    def _find(self, connection: Connection, commit: CommitId) -> PastState:
        database, time_ns = self._location(connection, commit)
        if time_ns is None:
            # Its writer is about to stamp it, or was killed; nobody has written since.
            branch = self.graph.branch_of(connection, database)
            with self._locked(branch) as locked_connection:
                time_ns = self._recover(locked_connection, commit)
        return PastState(database, time_ns)

    def _location(self, connection: Connection, commit: CommitId) -> tuple[str, int | None]:
        location = self.graph.location(connection, commit)
        if location is None:
            raise NotFound(
                f"There is no commit {commit}.",
                Advice("{memory_log} lists commits."),
                commit=commit,
            )
        return location

    def _recover(self, connection: Connection, commit: CommitId) -> int:
        """Return the time of a branch's tip; stamp it if its process was killed before that."""
        _, time_ns = self._location(connection, commit)
        return self.graph.stamp(connection, commit) if time_ns is None else time_ns

    @override
    def begin(self, connection: Connection, *, writes: bool) -> None:
        """Begin a transaction if it writes; reading needs none."""
        if writes:
            connection.exec_driver_sql("START TRANSACTION")

    @override
    def end(self, connection: Connection) -> None:
        """Commit the transaction, and check that the server has it.

        Servers that had just restarted acknowledged transactions and lost them.
        """
        position = position_of(connection)
        self.graph.count_unit(connection, position.branch, position.tip)
        connection.exec_driver_sql("COMMIT")
        if self._position(connection, position.branch).units != position.units + 1:
            raise StoreUnavailable(
                "The server acknowledged these rows but does not have them: check whether they are "
                "stored, then try again."
            )

    @override
    def close(self) -> None:
        self._engine.dispose()
