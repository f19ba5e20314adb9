"""What MatrixOne says in words of its own, and what day1 does in its place: the graph."""

import secrets
from collections.abc import Callable, MutableMapping, Sequence

from sqlalchemy import Connection

from day1.adapters.matrixone.connections import Connections
from day1.adapters.matrixone.graph import clock
from day1.adapters.matrixone.stand import State, stand_of
from day1.adapters.sql.changes import row_changes
from day1.adapters.sql.rows import chunks
from day1.adapters.sql.verbs import Touched
from day1.errors import NotFound
from day1.model.change import Changes, Commit, CommitId
from day1.model.kind import KINDS, MEMORIES, Cell, Kind
from day1.model.redaction import Mask


class MatrixOneVerbs:
    """`adapters.sql.verbs.Verbs`: differences are the server's, commits and merges day1's."""

    def __init__(self, connections: Connections) -> None:
        """Share the store's connections, which know where states are."""
        self._connections = connections
        self._graph = connections.graph
        self._known: dict[CommitId, Commit] = {}
        self.point: Callable[[str], None] = lambda _: None
        """Called at a named point of a commit, where a test may kill the process."""

    def head(self, connection: Connection) -> CommitId:
        """The newest commit of where the connection stands."""
        return stand_of(connection).tip

    def resolve(self, connection: Connection, name: str) -> CommitId:
        """The commit that a name means."""
        found = self._graph.branch(connection, name)
        if found is not None:
            return found[1]
        return self.read(connection, name).id

    def read(self, connection: Connection, commit: CommitId) -> Commit:
        """One commit."""
        found = self._known.get(commit) or self._graph.commit(connection, commit)
        if found is None:
            raise NotFound(f"There is no branch or commit {commit!r}.", ref=commit)
        return self._known.setdefault(commit, found)

    def read_all(
        self, connection: Connection, start: CommitId, known: MutableMapping[CommitId, Commit]
    ) -> list[CommitId]:
        """Read every commit reachable from `start`, in at most one statement."""
        past = self.past(connection, start)
        known.update({commit: self._known[commit] for commit in past if commit not in known})
        return list(past)

    def past(self, connection: Connection, start: CommitId) -> dict[CommitId, None]:
        """A commit and all before it; those that are not known yet are read together."""
        found: dict[CommitId, None] = {}
        queue = [start]
        while queue:
            commit = queue.pop()
            if commit in found:
                continue
            if commit not in self._known:
                self._known |= {one.id: one for one in self._graph.commits(connection)}
            found[commit] = None
            queue += self.read(connection, commit).parents
        return found

    def merge_base(self, connection: Connection, one: CommitId, other: CommitId) -> CommitId:
        """The newest commit that both have in their past: a child is later than its parents."""
        common = self.past(connection, one).keys() & self.past(connection, other).keys()
        return max(common, key=lambda commit: (self._known[commit].ts, commit))

    def branches(self, connection: Connection) -> dict[str, CommitId]:
        """Every branch with its tip."""
        return {name: tip for name, (_, tip) in self._graph.branches(connection).items()}

    def dirty(self, connection: Connection) -> set[str]:
        """Branches that have rows which no commit holds yet."""
        return {
            name
            for name, (database, tip) in self._graph.branches(connection).items()
            if self._waits(connection, database, self.read(connection, tip).ts)
        }

    def _waits(self, connection: Connection, database: str, after: int) -> bool:
        parts = (
            f"(SELECT id FROM `{database}`.`{kind.table}` WHERE created_at > {after} LIMIT 1)"  # noqa: S608 - our own names
            for kind in MEMORIES
        )
        return connection.exec_driver_sql(" UNION ALL ".join(parts)).first() is not None

    def tags(self, connection: Connection) -> dict[str, CommitId]:
        """Every tag with its commit."""
        return self._graph.tags(connection)

    def changes(self, connection: Connection, base: CommitId, to: str, mask: Mask) -> Changes:
        """Rows that differ; costs what differs, and some milliseconds for each table."""
        before = self._connections.state(connection, base)
        after = stand_of(connection).state if to == "WORKING" else None
        after = after or self._connections.state(connection, to)
        return _changes(connection, mask, before, after)

    def uncommitted(self, connection: Connection, mask: Mask, touched: Touched) -> Changes:
        """What the branch has beyond its tip, the open transaction included.

        A difference does not see what is not committed yet: those rows are looked up.
        """
        stand = stand_of(connection)
        before = self._connections.state(connection, stand.tip)
        after = State(stand.database, clock(connection) * 1_000)
        found = _changes(connection, mask, before, after, touched)
        stand.differs = bool(found)
        return found

    def row(
        self, connection: Connection, kind: Kind, row_id: str, commit: CommitId
    ) -> tuple[Cell, ...] | None:
        """One row at a commit."""
        state = self._connections.state(connection, commit)
        return _rows(connection, kind, state, [row_id]).get(row_id)

    def join(self, connection: Connection, source: CommitId) -> None:
        """Note what is merged: the server's own merge loses rows, so the plan brings them all."""
        stand_of(connection).source = source

    def decided(self, connection: Connection) -> None:
        """Nothing clashed, since nothing was merged."""

    def commit(
        self, connection: Connection, text: str, author: str, *, empty: bool
    ) -> CommitId | None:
        """Make the transaction one commit, and stamp it."""
        stand = stand_of(connection)
        if not (empty or stand.differs):
            connection.exec_driver_sql("ROLLBACK")
            return None
        commit = new_commit()
        self._graph.put_commit(connection, commit, stand, author.rpartition(" <")[0], text)
        connection.exec_driver_sql("COMMIT")
        self.point("commit.before_stamp")
        self._graph.stamp(connection, commit)
        stand.tip, stand.source = commit, None
        return commit


def new_commit() -> CommitId:
    """An id that no commit has."""
    return secrets.token_hex(16)


def _changes(
    connection: Connection,
    mask: Mask,
    before: State,
    after: State,
    touched: Touched | None = None,
) -> Changes:
    """Rows that differ between two states; with `touched` as the open transaction has them."""
    found: Changes = {}
    for kind in KINDS:
        ids = _differing(connection, kind, before, after)
        if touched is not None:
            ids |= dict.fromkeys(touched.get(kind.table, ()))
        befores = _rows(connection, kind, before, list(ids))
        afters = _rows(connection, kind, after if touched is None else None, list(ids))
        none = (None,) * len(kind.columns)
        pairs = ((afters.get(i, none), befores.get(i, none)) for i in ids)
        rows = row_changes(kind, (a + b for a, b in pairs if a != b), mask)
        if rows:
            found[kind.table] = rows
    return found


def _differing(connection: Connection, kind: Kind, before: State, after: State) -> dict[Cell, None]:
    """Ids of rows that one of two states has otherwise than where their databases parted."""
    states = f"{after.of(kind.table)} AGAINST {before.of(kind.table)}"
    rows = connection.exec_driver_sql(f"DATA BRANCH DIFF {states} COLUMNS (id)")
    return {row[-1]: None for row in rows}


def _rows(
    connection: Connection, kind: Kind, state: State | None, ids: Sequence[Cell]
) -> dict[Cell, tuple[Cell, ...]]:
    columns = ", ".join(f"`{column}`" for column in kind.columns)
    table = f"`{kind.table}`" if state is None else state.of(kind.table)
    found: dict[Cell, tuple[Cell, ...]] = {}
    for some in chunks(ids):
        marks = ", ".join(["%s"] * len(some))
        statement = f"SELECT {columns} FROM {table} WHERE id IN ({marks})"  # noqa: S608 - our own names
        found |= {row[0]: tuple(row) for row in connection.exec_driver_sql(statement, tuple(some))}
    return found
