"""A store on a Dolt server: one database, shared by any number of day1 processes."""

import random
import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

from sqlalchemy import Connection, Engine, func, insert, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable
from typing_extensions import override

from day1.adapters.mysql.lock import lock_name, locked
from day1.adapters.mysql.url import ServerDatabase, make_database, opened
from day1.adapters.mysql.url import clock as server_clock
from day1.adapters.rows.ownership import Known, columns_of, foreign, is_store, tables
from day1.adapters.rows.statements import columns_at
from day1.adapters.rows.steps import check_schema
from day1.adapters.rows.tables import SCHEMA, SCHEMA_ROW, SCHEMA_VERSION, TABLES, versioned
from day1.adapters.versioned.dolt.connections import DoltConnections
from day1.adapters.versioned.dolt.dialect import DoltDialect
from day1.adapters.versioned.dolt_family.history import DoltFamilyHistory
from day1.adapters.versioned.empty import EmptyReading
from day1.adapters.versioned.history import FOREIGN, author_of, encode
from day1.adapters.versioned.store import SqlStore
from day1.adapters.versioned.work import pending_rows
from day1.errors import (
    BranchExists,
    Day1Error,
    IntegrityBroken,
    Json,
    NotAStore,
    StoreBusy,
    UnknownBranch,
    Unsupported,
)
from day1.model.branches.branch import MAIN
from day1.model.redaction.mask import CLEAR
from day1.model.rows.change import NOTHING_PENDING, CommitId, Message, Pending, ReadState, Ref
from day1.model.rows.kind import KINDS, MEMORIES
from day1.model.values.callbacks import Clock
from day1.ports.reading import Reading
from day1.ports.store import Capabilities

_KNOWN = Known(
    columns_of(versioned),
    SCHEMA.name,
    SCHEMA_VERSION,
    {kind.table: frozenset(columns_at(kind, 1)) for kind in KINDS},
)
_CREATE_S = 60.0
"""Seconds to wait while another process makes the store."""
_AT_ONCE = 64
"""Maximum number of branches whose pending rows one statement counts."""
_COUNTED = "SELECT {}, count(*), min(created_at), max(created_at) FROM ({}) AS later"
_PAUSES_S = (0.01, 0.05, 0.25)
"""Seconds before each retry of a change of a ref."""


class DoltHistory(DoltFamilyHistory):
    """The history of a Dolt database."""

    _tag = "CALL DOLT_TAG(%s, %s)"
    _untag = "CALL DOLT_TAG('-d', %s)"

    _connections: DoltConnections

    @override
    def states(self, stamp: Hashable = None) -> dict[str, ReadState]:
        """Return the states of all branches, with one statement for 64 with pending rows."""
        if isinstance(stamp, tuple):
            return dict(stamp)
        with self._connections.fresh() as connection:
            branch_rows = connection.exec_driver_sql(
                "SELECT name, hash, dirty FROM dolt_branches"
            ).all()
            tip_time_by_branch = {
                str(name): self.read(connection, str(tip)).ts
                for name, tip, is_dirty in branch_rows
                if is_dirty
            }
            pending_by_branch = self._pending_of(connection, tip_time_by_branch)
        return {
            str(name): ReadState(str(tip), pending_by_branch.get(str(name), NOTHING_PENDING))
            for name, tip, _ in branch_rows
        }

    def _pending_of(self, connection: Connection, times: Mapping[str, int]) -> dict[str, Pending]:
        """Return the pending rows of branches, which are later than the given times."""
        pending_by_branch: dict[str, Pending] = {}
        branch_names = list(times)
        for start in range(0, len(branch_names), _AT_ONCE):
            batch_names = branch_names[start : start + _AT_ONCE]
            counting_query = " UNION ALL ".join(
                _COUNTED.format(index, self._rows_after(name, times[name]))
                for index, name in enumerate(batch_names)
            )
            try:
                rows = connection.exec_driver_sql(counting_query).all()
            except DBAPIError as exc:
                if exc.connection_invalidated:
                    raise
                # One of them was dropped just now, or has no tables of day1.
                pending_by_branch |= {name: self._pending(name) for name in batch_names}
            else:
                pending_by_branch |= {
                    batch_names[index]: Pending(int(row_count or 0), oldest_time, newest_time)
                    for index, row_count, oldest_time, newest_time in rows
                }
        return pending_by_branch

    def _rows_after(self, branch: str, time: int) -> str:
        """Write the query for the times of a branch's memories that are later than a time."""
        revision = f"{self._connections.database}/{branch}".replace("`", "``").replace("%", "%%")
        return " UNION ALL ".join(
            f"SELECT created_at FROM `{revision}`.{kind.table} WHERE created_at > {time}"  # noqa: S608 - our own names
            for kind in MEMORIES
        )

    @override
    def fork(self, name: str, start: CommitId) -> None:
        self._change_ref("CALL DOLT_BRANCH(%s, %s)", (name, start))  # it refuses a taken name

    @override
    def drop(self, name: str) -> None:
        self._change_ref("CALL DOLT_BRANCH('-D', %s)", (name,))

    @override
    def _change_ref(self, statement: str, values: tuple[str, ...]) -> None:
        """Change a ref; retry if a concurrent change of refs made the call fail."""
        for attempt, pause_s in enumerate((*_PAUSES_S, None)):
            try:
                with self._connections.fresh() as connection:
                    self._call(connection, statement, values)
            except BranchExists:
                # An attempt that failed may have made the branch: Dolt makes it in two steps.
                if not attempt or self.branches().get(values[0]) != values[-1]:
                    raise
                return
            except StoreBusy:
                if pause_s is None:
                    raise
                time.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - so that two processes do not meet again
            else:
                return

    def _call(self, connection: Connection, statement: str, values: tuple[str, ...]) -> None:
        try:
            connection.exec_driver_sql(statement, values).all()
        except DBAPIError as exc:
            if "already exists" not in str(exc.orig):
                raise
            name = values[0]
            raise BranchExists(f"The branch {name!r} exists already.", branch=name) from exc


class DoltStore(SqlStore):
    """A store in a database of a Dolt server."""

    _connections: DoltConnections

    def __init__(self, server: ServerDatabase, clock: Clock | None = None) -> None:
        """Open an existing store; without a clock, times are the server's.

        Raises:
            NotAStore: the server has no such database, or it is empty.
            StoreVersionUnknown: a later day1 made its tables.
        """
        self._server = server
        self._connections = DoltConnections(server)
        dialect = DoltDialect(server.database)
        super().__init__(self._connections, dialect, DoltHistory(self._connections, dialect), clock)
        try:
            with self._connections.on_branch(MAIN) as connection:
                if not _KNOWN.tables.keys() <= tables(connection):
                    raise _no_store(server.where)
                self.history.oldest = check_schema(connection)
        except UnknownBranch as exc:  # every database of Dolt has main
            raise _no_store(server.where) from exc

    @staticmethod
    def create(engine: Engine, database: str, where: str, clock: Clock | None = None) -> bool:
        """Make the database, its tables and first commit; return False if the store exists.

        A killed process leaves tables without a row in `schema`: then the rest is made.

        Raises:
            ForeignStore: the database belongs to another program.
            StoreDamaged: the database has rows but is not a whole store.
        """
        with (
            opened(engine, where) as connection,
            locked(connection, (lock_name(database, "create/"),), _CREATE_S),
        ):
            make_database(connection, database, where)
            connection.exec_driver_sql(f"USE `{database}`")
            branch_names = set(DoltDialect(database).branches(connection))
            if MAIN not in branch_names:
                raise foreign(where, branch_names)
            connection.exec_driver_sql(f"USE `{database}/{MAIN}`")
            if is_store(connection, _KNOWN, partial(_version, connection), where):
                return False
            if branch_names != {MAIN}:
                raise foreign(where, branch_names - {MAIN})
            _make_missing(connection)
            created_at = clock() if clock else server_clock(connection)
            connection.exec_driver_sql("START TRANSACTION")
            connection.execute(insert(SCHEMA), SCHEMA_ROW)
            message = encode(Message("init", "init"), created_at, (), {})
            DoltDialect(database).commit(connection, message, author_of(()), empty=False)
        return True

    @override
    @contextmanager
    def reading(self, ref: Ref) -> Iterator[Reading]:
        """Open a state as `Store.reading`; a branch that another program made has no rows."""
        with ExitStack() as open_readings:
            try:
                reading = open_readings.enter_context(super().reading(ref))
            except NotAStore:
                if ref.branch is None or not self._is_foreign(ref.branch):
                    raise
                reading = EmptyReading(ref.branch)
            yield reading

    def _is_foreign(self, branch: str) -> bool:
        """Whether a branch lacks the first commit of the store, and so never had its tables."""
        return all(commit.op == FOREIGN for commit in self.history.log(branch))

    @property
    @override
    def capabilities(self) -> Capabilities:
        return Capabilities(
            engine="dolt",
            version=self._server.version,
            row_history=True,
            compaction=False,
        )

    @override
    def stamp(self) -> Hashable:
        """Return the states of all branches, which two or three statements read."""
        return tuple(self.history.states().items())

    @override
    def present(self, machine_time: int) -> int:
        with self._connections.on_branch(MAIN) as connection:
            return self._clock() if self._clock else server_clock(connection)

    @override
    def size(self) -> int:
        return 0

    @override
    def compact(self, above: int = 0) -> dict[str, Json]:
        raise Unsupported(
            "A Dolt server frees unused space by itself; its administrator can run CALL DOLT_GC().",
            engine="dolt",
            operation="gc",
        )

    def obstacles(self) -> list[Day1Error]:
        """List why this user cannot write now: the statement adds no row, but needs the right."""
        try:
            with self._connections.on_branch(MAIN) as connection:
                no_rows = select(SCHEMA).where(SCHEMA.c.version < 0)
                connection.execute(insert(SCHEMA).from_select(SCHEMA.columns.keys(), no_rows))
        except Day1Error as exc:
            return [exc]
        return []

    @override
    def check(self) -> list[str]:
        problems = []
        for branch in self.history.branches():
            try:
                problem = self._problem_of(branch)
            except NotAStore:  # only then: the log of every branch is long
                if not self._is_foreign(branch):
                    raise
                problem = (
                    f"another program made the branch {branch}, which has no tables of day1: it is "
                    f"removed by CALL DOLT_BRANCH('-D', '{branch}')"
                )
            if problem is not None:
                problems.append(problem)
        return problems

    def _problem_of(self, branch: str) -> str | None:
        """Read the tables of a branch, and say why day1 can commit nothing there; None if it can.

        Raises:
            NotAStore: the branch has no tables of day1.
        """
        with self._connections.on_branch(branch) as connection:
            for table in TABLES.values():
                connection.execute(table.select().with_only_columns(table.c.id)).all()
            merge_query = "SELECT is_merging FROM dolt_merge_status"
            if connection.exec_driver_sql(merge_query).scalar():
                return (
                    f"{branch} has an open merge that is not day1's: end it with "
                    "CALL DOLT_MERGE('--abort')"
                )
            state = self._begin(connection, branch).rows(CLEAR)
            try:
                pending_rows(connection, self._dialect, state)
            except IntegrityBroken:
                return (
                    f"another program changed rows of {branch}, or committed beside them, so "
                    "day1 can commit nothing there: keep the rows with "
                    f"USE `{self._server.database}/{branch}`; "
                    "CALL DOLT_COMMIT('-A', '-m', 'keep rows')"
                )
        return None


def _no_store(where: str) -> NotAStore:
    return NotAStore(f"{where} holds no day1 store; `day1 init` makes one.")


def _version(connection: Connection) -> int:
    return int(connection.execute(select(func.max(SCHEMA.c.version))).scalar() or 0)


def _make_missing(connection: Connection) -> None:
    """Make missing tables and indexes."""
    existing_tables = tables(connection)
    for table in versioned.sorted_tables:
        if table.name not in existing_tables:
            connection.execute(CreateTable(table))
        rows = connection.exec_driver_sql(f"SHOW INDEX FROM `{table.name}`").mappings()
        index_names = {str(row["Key_name"]) for row in rows}
        for index in table.indexes:
            if index.name not in index_names:
                connection.execute(CreateIndex(index))
