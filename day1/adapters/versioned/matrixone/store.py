"""A store on a MatrixOne server: a database for each branch, and the graph beside them."""

import re
from collections.abc import Hashable

from sqlalchemy import Connection, Engine, insert
from typing_extensions import override

from day1.adapters.mysql.lock import lock_name, locked
from day1.adapters.mysql.url import ServerDatabase, opened
from day1.adapters.mysql.url import clock as server_clock
from day1.adapters.rows.steps import check_schema
from day1.adapters.rows.tables import SCHEMA, SCHEMA_ROW, TABLES, versioned
from day1.adapters.versioned.history import encode
from day1.adapters.versioned.matrixone.commit_store import CommitStore
from day1.adapters.versioned.matrixone.connections import MatrixOneConnections
from day1.adapters.versioned.matrixone.dialect import MatrixOneDialect, new_commit
from day1.adapters.versioned.matrixone.history import MatrixOneHistory, fresh_database
from day1.adapters.versioned.matrixone.position import Position, set_position
from day1.adapters.versioned.matrixone.retention import UNKNOWN, WITHOUT, keep
from day1.adapters.versioned.store import SqlStore
from day1.errors import Day1Error, Json, NotAStore, Unsupported
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Message
from day1.model.values.callbacks import Clock
from day1.ports.store import Capabilities

_CREATE_S = 60.0
"""Seconds to wait while another process makes the store."""
_OLDEST = (4, 2)
"""The first version of the server with GET_LOCK and comparisons of two times."""


class MatrixOneStore(SqlStore):
    """A store in databases of a MatrixOne server."""

    _connections: MatrixOneConnections

    def __init__(self, server: ServerDatabase, clock: Clock | None = None) -> None:
        """Open an existing store; without a clock, times are the server's.

        Raises:
            NotAStore: the server has no store of this name.
            StoreVersionUnknown: a later day1 made its tables.
            Unsupported: the server is too old.
        """
        check_version(server.version)
        self._server = server
        self._connections = MatrixOneConnections(server)
        dialect = MatrixOneDialect(self._connections)
        super().__init__(
            self._connections,
            dialect,
            MatrixOneHistory(self._connections, dialect, server.database),
            clock,
        )
        with self._connections.plain() as connection:
            if self._connections.graph.branch(connection, MAIN) is None:
                raise NotAStore(f"{server.where} holds no day1 store; `day1 init` makes one.")
        with self._connections.on_branch(MAIN) as connection:
            dialect.lineage.oldest = self.history.oldest = check_schema(connection)

    @staticmethod
    def create(engine: Engine, database: str, where: str, clock: Clock | None = None) -> bool:
        """Make the graph, the first branch and its first commit; return False if the store exists.

        The server is made to keep its past, if this user may do that. How long it keeps it is
        stored for users who may not see that.

        Raises:
            ForeignStore: the graph's database belongs to another program.
        """
        graph = CommitStore(database)
        with (
            opened(engine, where) as connection,
            locked(connection, (lock_name(database, "create/"),), _CREATE_S),
        ):
            set_position(connection, None)
            store_exists = graph.create(connection, where)
            kept_spans = keep(connection, graph)
            if not store_exists:
                created_at = clock() if clock else server_clock(connection)
                _make(connection, graph, fresh_database(database, MAIN), created_at)
            if kept_spans:
                graph.state_kept(connection, kept_spans)
        return not store_exists

    @property
    @override
    def capabilities(self) -> Capabilities:
        return Capabilities(
            engine="matrixone",
            version=self._server.version,
            row_history=False,
            compaction=False,
        )

    @override
    def stamp(self) -> Hashable:
        """Return the count of units of work of each branch."""
        with self._connections.plain() as connection:
            return self._connections.graph.units(connection)

    @override
    def size(self) -> int:
        """Return the bytes of all branches' tables as the server counts them, without the past."""
        statement = "SELECT SUM(data_length) FROM information_schema.tables WHERE table_schema = %s"
        with self._connections.plain() as connection:
            branches = self._connections.graph.branches(connection).values()
            sizes = (
                connection.exec_driver_sql(statement, (database,)).scalar()
                for database, _ in branches
            )
            return sum(int(size or 0) for size in sizes)

    @override
    def compact(self, above: int = 0) -> dict[str, Json]:
        raise Unsupported(
            "A MatrixOne server frees unused space by itself, as its PITR allows.",
            engine="matrixone",
            operation="gc",
            instead="ALTER PITR with a shorter range, by the server's administrator",
        )

    @override
    def present(self, machine_time: int) -> int:
        with self._connections.plain() as connection:
            return self._clock() if self._clock else server_clock(connection)

    def obstacles(self) -> list[Day1Error]:
        """List no reason why this user cannot write: that is not known of MatrixOne."""
        return []

    @override
    def check(self) -> list[str]:
        """Read all tables, and report a missing PITR and databases without a branch."""
        problems = []
        with self._connections.plain() as connection:
            branches = self._connections.graph.branches(connection)
            database_names = connection.exec_driver_sql("SHOW DATABASES").scalars().all()
            self._connections.retention.look(connection)
        used_databases = {database for database, _ in branches.values()}
        branch_prefix = f"{self._server.database.lower()}_b_"
        problems += [
            f"No branch uses the database {database_name}: "
            f"DATA BRANCH DELETE DATABASE `{database_name}` removes it"
            for database_name in database_names
            if database_name.startswith(branch_prefix) and database_name not in used_databases
        ]
        if self._connections.retention.known and not self._connections.retention.kept:
            problems.append(WITHOUT)
        for branch in branches:
            with self._connections.on_branch(branch) as connection:
                for table in TABLES.values():
                    connection.execute(table.select().with_only_columns(table.c.id)).all()
        return problems

    @override
    def warnings(self) -> list[str]:
        """Warn if it is unknown how far back the server keeps states."""
        with self._connections.plain() as connection:
            self._connections.retention.look(connection)
        return [] if self._connections.retention.known else [UNKNOWN]


def _make(connection: Connection, graph: CommitStore, database: str, now: int) -> None:
    """Make the first branch's database, with its first commit."""
    position = Position(MAIN, database, "")
    connection.exec_driver_sql("START TRANSACTION")
    connection.exec_driver_sql(f"CREATE DATABASE `{position.database}`")
    connection.exec_driver_sql(f"USE `{position.database}`")
    versioned.create_all(connection, checkfirst=False)
    connection.execute(insert(SCHEMA), SCHEMA_ROW)
    commit_id, message = new_commit(), encode(Message("init", "init"), now, (), {})
    graph.put_branch(connection, MAIN, position.database, commit_id)
    graph.put_commit(connection, commit_id, position, "day1", message)
    connection.exec_driver_sql("COMMIT")
    graph.stamp(connection, commit_id)


def check_version(version: str) -> None:
    """Make sure that the server's version is new enough.

    Raises:
        Unsupported: the server is too old.
    """
    number_match = re.match(r"(\d+)\.(\d+)", version)
    if number_match is None or tuple(map(int, number_match.groups())) < _OLDEST:
        raise Unsupported(
            f"The server is MatrixOne {version}, and day1 needs 4.2 or later: upgrade it.",
            engine="matrixone",
            version=version,
            instead="MatrixOne 4.2, a Dolt server, or a store in a folder",
        )
