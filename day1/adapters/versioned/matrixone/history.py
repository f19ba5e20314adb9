"""Branches as databases, and the past of rows, on a MatrixOne server."""

import re
import secrets
from collections.abc import Iterator
from typing import NoReturn

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError
from typing_extensions import override

from day1.adapters.mysql.url import clock
from day1.adapters.rows.rows import chunks
from day1.adapters.rows.statements import columns_at, named_at
from day1.adapters.rows.steps import add_missing, note_version
from day1.adapters.versioned.dialect import Versions
from day1.adapters.versioned.history import SqlHistory
from day1.adapters.versioned.matrixone.connections import MatrixOneConnections
from day1.adapters.versioned.matrixone.dialect import MatrixOneDialect
from day1.adapters.versioned.matrixone.time_cursor import PastState
from day1.errors import BranchExists, NotFound, Refused, Unsupported
from day1.model.rows.change import CommitId
from day1.model.rows.kind import KINDS, Cell, Kind, Row

_SLUG = 12
"""Maximum number of characters of a branch's name in the name of its database."""
_QUOTA = "has reached the limit"
"""Part of the server's message when a quota is used up."""


class MatrixOneHistory(SqlHistory):
    """The history of a store on a MatrixOne server."""

    _connections: MatrixOneConnections

    def __init__(
        self, connections: MatrixOneConnections, dialect: MatrixOneDialect, database: str
    ) -> None:
        """Use the store in a database; branches' databases are named after it."""
        super().__init__(connections, dialect)
        self._connections = connections
        self._graph = connections.graph
        self._past, self._differing = dialect.past, dialect.differing
        self._lineage = dialect.lineage
        self._database = database

    @override
    def fork(self, name: str, start: CommitId) -> None:
        """Fork a branch by cloning a database; the time grows little with the rows."""
        self._refuse_taken(name)
        database = fresh_database(self._database, name)
        with self._connections.plain() as connection:
            past_state = self._connections.state(connection, start)
            if self._graph.branch_of(connection, past_state.database):
                connection.exec_driver_sql("START TRANSACTION")
                _clone(connection, database, past_state)
            else:
                living_commit = self._living(connection, start)
                # Rows written in the clone's transaction would be missing in later comparisons.
                _clone(connection, database, self._connections.state(connection, living_commit))
                schema_versions = (
                    self.version(connection, living_commit),
                    self.version(connection, start),
                )
                if schema_versions[0] < schema_versions[1]:
                    connection.exec_driver_sql(f"USE `{database}`")
                    add_missing(connection)
                connection.exec_driver_sql("START TRANSACTION")
                if schema_versions[0] < schema_versions[1]:
                    note_version(connection)
                self._bring(connection, database, (living_commit, start), schema_versions)
            try:
                self._graph.put_branch(connection, name, database, start)
            except IntegrityError as exc:  # another process was quicker
                raise BranchExists(f"The branch {name!r} exists already.", branch=name) from exc
            connection.exec_driver_sql("COMMIT")

    def _living(self, connection: Connection, start: CommitId) -> CommitId:
        """Find the nearest commit, back along the line of clones, whose database still exists.

        The past of a deleted branch can be read but not cloned.
        """
        existing_databases = {database for database, _ in self._graph.branches(connection).values()}
        candidate: CommitId | None = start
        while candidate is not None:
            database = self._connections.find(connection, candidate).database
            if database in existing_databases:
                return candidate
            candidate = self._lineage.origin(connection, database)
        raise NotFound(
            f"No branch that commit {start} comes from exists any more: name a commit of a branch "
            "that exists.",
            commit=start,
        )

    def _bring(
        self,
        connection: Connection,
        database: str,
        commits: tuple[CommitId, CommitId],
        versions: Versions,
    ) -> None:
        """Change the clone of a commit to the rows of a later commit, where they differ."""
        cloned_state, target_state = (
            self._connections.state(connection, commit) for commit in commits
        )
        differing_ids = self._differing(connection, (cloned_state, target_state), versions)
        for kind in KINDS:
            column_names = columns_at(kind, versions[1])
            cloned_table, column_list = (
                f"`{database}`.`{kind.table}`",
                ", ".join(f"`{name}`" for name in column_names),
            )
            for id_chunk in chunks(sorted(differing_ids(kind))):
                where_clause, row_ids = (
                    f"WHERE id IN ({', '.join(['%s'] * len(id_chunk))})",
                    tuple(id_chunk),
                )
                connection.exec_driver_sql(f"DELETE FROM {cloned_table} {where_clause}", row_ids)  # noqa: S608 - our own names
                connection.exec_driver_sql(
                    f"INSERT INTO {cloned_table} ({column_list})"  # noqa: S608 - our own names
                    f" SELECT {column_list} FROM {target_state.of(kind.table)} {where_clause}",
                    row_ids,
                )

    @override
    def drop(self, name: str) -> None:
        """Delete a branch; its commits can be read as long as the server keeps its past.

        The caller holds the lock of the branch.
        """
        with self._connections.plain() as connection:
            database_tip_units = self._graph.branch(connection, name)
            connection.exec_driver_sql("START TRANSACTION")
            self._graph.remove_branch(connection, name)
            connection.exec_driver_sql(
                f"DATA BRANCH DELETE DATABASE `{database_tip_units and database_tip_units[0]}`"
            )
            connection.exec_driver_sql("COMMIT")

    @override
    def tag(self, name: str, commit: CommitId) -> None:
        with self._connections.plain() as connection:
            self._graph.put_tag(connection, name, commit)

    @override
    def untag(self, name: str) -> None:
        with self._connections.plain() as connection:
            self._graph.remove_tag(connection, name)

    @override
    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        """Find all versions of a row by reading each commit (2 ms), as there is no row history."""
        row_by_values: dict[tuple[Cell, ...], Row] = {}
        with self._connections.plain() as connection:
            for past_state, version in self._states(connection):
                column_list = named_at(kind, version, "`{}`")
                statement = (
                    f"SELECT {column_list} FROM {past_state.of(kind.table)} WHERE {kind.about} = %s"  # noqa: S608 - our own names
                )
                rows = connection.exec_driver_sql(statement, (row_id,)).all()
                row_by_values |= {tuple(row): kind.row(row) for row in rows}
        return list(row_by_values.values())

    def _states(self, connection: Connection) -> Iterator[tuple[PastState, int]]:
        """List present and past states of all branches and tags, with the schema's version."""
        branches = self._graph.branches(connection)
        now_ns = clock(connection) * 1_000
        for database, tip in branches.values():
            yield PastState(database, now_ns), self.version(connection, tip)
        past_commits: dict[CommitId, None] = {}
        for tip in (*(tip for _, tip in branches.values()), *self._graph.tags(connection).values()):
            past_commits |= self._past(connection, tip)
        for commit_id in past_commits:
            try:
                past_state = self._connections.state(connection, commit_id)
            except NotFound:  # the server no longer keeps it
                continue
            yield past_state, self.version(connection, commit_id)

    @override
    def versions(self, _kind: Kind, _row_id: str, _start: CommitId) -> NoReturn:
        """Refuse: the server has no history of rows, so callers must read commit by commit."""
        raise Unsupported(
            "MatrixOne keeps no history of rows.",
            operation="versions",
            instead="read the row at each commit (`row`)",
        )


def fresh_database(database: str, branch: str) -> str:
    """Make a new name for a branch's database; deleted databases can still be read by name."""
    slug = re.sub(r"[^a-z0-9]+", "_", branch.lower())[:_SLUG].strip("_")
    return f"{database.lower()}_b_{slug}_{secrets.token_hex(4)}"


def _clone(connection: Connection, database: str, state: PastState) -> None:
    """Clone a state into a new database.

    Raises:
        Refused: the tenant's quota of branch tables is used up.
    """
    statement = f"DATA BRANCH CREATE DATABASE `{database}` FROM `{state.database}`"
    try:
        connection.exec_driver_sql(f"{statement} {{MO_TS = {state.ns}}}")
    except DBAPIError as exc:
        if _QUOTA not in str(exc.orig):
            raise
        raise Refused(
            "The server's quota of branch tables is used up (each branch of day1 takes 8): "
            "`day1 gc` offers branches to retire, or the administrator of the tenant `sys` "
            "raises the quota of BRANCH in mo_catalog.mo_feature_limit.",
            engine="matrixone",
            tables_of_a_branch=8,
        ) from exc
