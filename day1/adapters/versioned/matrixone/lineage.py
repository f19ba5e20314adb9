"""How two states are compared: along the line of tables that they come from, in segments.

The server's difference is right between two times of one table, and between a clone and the state
that it was made from. Between other states it leaves rows out (run on 4.2.0): those that were
changed or deleted in the table from which both come, before one of them left it and after the
other one did. An ALTER makes another table, which counts as left too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.adapters.versioned.dialect import Versions
from day1.adapters.versioned.matrixone.connections import MatrixOneConnections
from day1.adapters.versioned.matrixone.time_cursor import PastState
from day1.errors import NotFound
from day1.model.rows.change import Commit, CommitId
from day1.model.rows.kind import KINDS, Kind


@dataclass(frozen=True, slots=True)
class Segment:
    """Two states: together the segments have every row in which the states at their ends differ."""

    later: PastState
    earlier: PastState
    whole: bool = False
    """Whether all rows of both may differ: the server cannot tell which do."""

    def differing(self, connection: Connection, kind: Kind) -> set[str]:
        """Ids of rows that may differ."""
        states = [state.of(kind.table) for state in (self.later, self.earlier)]
        if self.whole:
            asked = [f"SELECT id FROM {state}" for state in states]  # noqa: S608 - our own names
        else:
            asked = [f"DATA BRANCH DIFF {' AGAINST '.join(states)} COLUMNS (id)"]
        return {str(row[-1]) for one in asked for row in connection.exec_driver_sql(one)}


class _Part(NamedTuple):
    """A part of a state's line: tables between two steps, or since they were cloned."""

    tables: tuple[str, CommitId | None]
    """The database, and the step that made these tables of it."""
    end: PastState
    """The newest of their states that the line has."""
    start: PastState
    """The step's; else the one that they are a clone of, which has the same rows."""
    version: int


class Lineage:
    """Where the databases of branches come from, as the commit graph has it."""

    def __init__(self, connections: MatrixOneConnections) -> None:
        """Nothing is looked up yet."""
        self._connections = connections
        self._graph = connections.graph
        self._origins: dict[str, CommitId | None] = {}
        self.oldest = SCHEMA_VERSION
        """The version of the schema that the store was made with."""

    def origin(self, connection: Connection, database: str) -> CommitId | None:
        """The commit that a database was cloned from; None if it was made empty."""
        if database not in self._origins:
            self._origins[database] = self._graph.origin(connection, database)
        return self._origins[database]

    def segments(
        self, connection: Connection, states: tuple[PastState, PastState], versions: Versions
    ) -> list[Segment]:
        """What to compare for the difference of two states, the earlier first."""
        before, after = states
        try:
            if before.database == after.database and versions[0] == versions[1]:
                segments = [self._segment(connection, after, before, versions[0])]
            else:
                segments = list(self._between(connection, states, versions))
        except NotFound:
            return [Segment(after, before, whole=True)]
        return [segment for segment in segments if segment.later != segment.earlier]

    def _between(
        self, connection: Connection, states: tuple[PastState, PastState], versions: Versions
    ) -> Iterator[Segment]:
        """Each line down to the tables that both have, and there from one line to the other."""
        one, other = (
            {part.tables: part for part in self._line(connection, state, version)}
            for state, version in zip(states, versions, strict=True)
        )
        shared = next(tables for tables in one if tables in other)
        for line in (one, other):
            for part in line.values():
                if part.tables == shared:
                    break
                yield self._segment(connection, part.end, part.start, part.version)
        yield self._segment(connection, one[shared].end, other[shared].end, one[shared].version)

    def _line(self, connection: Connection, state: PastState, version: int) -> Iterator[_Part]:
        """The tables that a state comes from, the nearest first."""
        while True:
            step = self._step(connection, state) if version > self.oldest else None
            if step is not None:
                stepped = self._connections.find(connection, step.id)
                yield _Part((state.database, step.id), state, stepped, version)
                state = self._connections.find(connection, step.parents[0])  # the same rows
                version = self.oldest
                continue
            origin = self.origin(connection, state.database)
            start = state if origin is None else self._connections.find(connection, origin)
            yield _Part((state.database, None), state, start, version)
            if origin is None:
                return
            state = start

    def _step(self, connection: Connection, state: PastState) -> Commit | None:
        """The commit that stepped the tables of a state; None if they were cloned so."""
        steps = self._graph.steps(connection, state.database)
        return next(
            (s for s in steps if self._connections.find(connection, s.id).ns <= state.ns), None
        )

    def _segment(
        self, connection: Connection, one: PastState, other: PastState, version: int
    ) -> Segment:
        """Two states of tables that are one, unless a step was killed in between.

        Raises:
            NotFound: the server may have cleaned one away.
        """
        earlier, later = sorted((one, other), key=lambda state: state.ns)
        self._connections.retention.check(earlier)
        killed = version < SCHEMA_VERSION and any(
            _columns(connection, kind, later) != _columns(connection, kind, earlier)
            for kind in KINDS
            if kind.younger
        )
        return Segment(later, earlier, whole=killed)


def _columns(connection: Connection, kind: Kind, state: PastState) -> frozenset[str]:
    statement = f"SELECT * FROM {state.of(kind.table)} LIMIT 0"  # noqa: S608 - our own names
    return frozenset(connection.exec_driver_sql(statement).keys())
