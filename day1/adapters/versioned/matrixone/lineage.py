"""Comparing any two states on MatrixOne: in segments, each of which the server compares rightly.

The server compares two times of one table rightly, and a clone with the state that it was made
from. Between other states it misses rows (seen on 4.2.0): rows changed or deleted in the common
table between the two clones. An ALTER makes a new table, so it has the same effect as a clone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from day1.adapters.rows.tables import SCHEMA, SCHEMA_VERSION
from day1.adapters.versioned.dialect import Versions
from day1.adapters.versioned.matrixone.connections import MatrixOneConnections
from day1.adapters.versioned.matrixone.time_cursor import PastState
from day1.errors import NotFound
from day1.model.rows.change import Commit, CommitId
from day1.model.rows.kind import KINDS, Kind


@dataclass(frozen=True, slots=True)
class Segment:
    """Two past states that the server can compare; all segments have every differing row."""

    later: PastState
    earlier: PastState
    whole: bool = False
    """Whether to treat all rows of both as differing, since the server cannot compare them."""

    def differing(self, connection: Connection, kind: Kind) -> set[str]:
        """Return the ids of rows that may differ between the two states."""
        state_tables = [state.of(kind.table) for state in (self.later, self.earlier)]
        if self.whole:
            statements = [f"SELECT id FROM {table}" for table in state_tables]  # noqa: S608 - our own names
        else:
            statements = [f"DATA BRANCH DIFF {' AGAINST '.join(state_tables)} COLUMNS (id)"]
        return {
            str(row[-1])
            for statement in statements
            for row in connection.exec_driver_sql(statement)
        }


class _Part(NamedTuple):
    """A part of a state's line: the states of one set of tables, from its clone or ALTER on."""

    tables: tuple[str, CommitId | None]
    """The database, and the commit of the ALTER that made its tables, if any."""
    end: PastState
    """The newest state of these tables on the line."""
    start: PastState
    """The first state of these tables, or the state of which they are a clone."""
    version: int


class Lineage:
    """The origins of branches' databases, read from the commit graph."""

    def __init__(self, connections: MatrixOneConnections) -> None:
        """Use the store's connections; nothing is read yet."""
        self._connections = connections
        self._graph = connections.graph
        self._origins: dict[str, CommitId | None] = {}
        self._versions: dict[CommitId, int] = {}
        self.oldest = SCHEMA_VERSION
        """The version of the schema that the store was made with."""

    def origin(self, connection: Connection, database: str) -> CommitId | None:
        """Return the commit that a database was cloned from; None if it was made empty."""
        if database not in self._origins:
            self._origins[database] = self._graph.origin(connection, database)
        return self._origins[database]

    def segments(
        self, connection: Connection, states: tuple[PastState, PastState], versions: Versions
    ) -> list[Segment]:
        """Return the segments to compare for the difference of two states."""
        earlier_state, later_state = states
        try:
            if earlier_state.database == later_state.database and versions[0] == versions[1]:
                segments = [self._segment(connection, later_state, earlier_state, versions[0])]
            else:
                segments = list(self._between(connection, states, versions))
        except NotFound:
            return [Segment(later_state, earlier_state, whole=True)]
        return [segment for segment in segments if segment.later != segment.earlier]

    def _between(
        self, connection: Connection, states: tuple[PastState, PastState], versions: Versions
    ) -> Iterator[Segment]:
        """Follow both lines back to their common tables, and join them there by one segment."""
        first_line, second_line = (
            {part.tables: part for part in self._line(connection, state, version)}
            for state, version in zip(states, versions, strict=True)
        )
        shared_tables = next(tables for tables in first_line if tables in second_line)
        for line in (first_line, second_line):
            for part in line.values():
                if part.tables == shared_tables:
                    break
                yield self._segment(connection, part.end, part.start, part.version)
        yield self._segment(
            connection,
            first_line[shared_tables].end,
            second_line[shared_tables].end,
            first_line[shared_tables].version,
        )

    def _line(self, connection: Connection, state: PastState, version: int) -> Iterator[_Part]:
        """Follow a state's line of tables back, the nearest part first."""
        while True:
            step_commit = self._step(connection, state) if version > self.oldest else None
            if step_commit is not None:
                state_after_step = self._connections.find(connection, step_commit.id)
                yield _Part((state.database, step_commit.id), state, state_after_step, version)
                state = self._connections.find(connection, step_commit.parents[0])  # the same rows
                version = self._version_before(connection, step_commit)
                continue
            origin_commit = self.origin(connection, state.database)
            start_state = (
                state
                if origin_commit is None
                else self._connections.find(connection, origin_commit)
            )
            yield _Part((state.database, None), state, start_state, version)
            if origin_commit is None:
                return
            state = start_state

    def _version_before(self, connection: Connection, step: Commit) -> int:
        """Return the version from which a commit stepped: an upgrade can leave versions out."""
        parent = step.parents[0]
        if parent not in self._versions:
            schema_table = self._connections.find(connection, parent).of(SCHEMA.name)
            statement = f"SELECT MAX(version) FROM {schema_table}"  # noqa: S608 - our own names
            self._versions[parent] = int(connection.exec_driver_sql(statement).scalar_one())
        return self._versions[parent]

    def _step(self, connection: Connection, state: PastState) -> Commit | None:
        """Find the commit of the ALTER that made a state's tables; None if the clone had them."""
        step_commits = self._graph.steps(connection, state.database)
        return next(
            (
                step_commit
                for step_commit in step_commits
                if self._connections.find(connection, step_commit.id).ns <= state.ns
            ),
            None,
        )

    def _segment(
        self, connection: Connection, one: PastState, other: PastState, version: int
    ) -> Segment:
        """Build the segment of two states of the same tables; `whole` if an ALTER was killed.

        Raises:
            NotFound: the server may no longer keep the earlier state.
        """
        earlier_state, later_state = sorted((one, other), key=lambda state: state.ns)
        self._connections.retention.check(earlier_state)
        is_broken = version < SCHEMA_VERSION and any(
            _columns(connection, kind, later_state) != _columns(connection, kind, earlier_state)
            for kind in KINDS
            if kind.younger
        )
        return Segment(later_state, earlier_state, whole=is_broken)


def _columns(connection: Connection, kind: Kind, state: PastState) -> frozenset[str]:
    statement = f"SELECT * FROM {state.of(kind.table)} LIMIT 0"  # noqa: S608 - our own names
    return frozenset(connection.exec_driver_sql(statement).keys())
