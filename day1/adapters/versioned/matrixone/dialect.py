"""MatrixOne's SQL, and day1's own commit graph, since the server keeps none."""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping

from sqlalchemy import Connection
from typing_extensions import override

from day1.adapters.mysql.url import clock
from day1.adapters.rows.rows import chunks, row_changes
from day1.adapters.rows.statements import named_at
from day1.adapters.rows.steps import add_missing, later_schema, note_version
from day1.adapters.rows.tables import SCHEMA, SCHEMA_VERSION
from day1.adapters.versioned.dialect import Dialect, Touched, Versions
from day1.adapters.versioned.matrixone.connections import MatrixOneConnections
from day1.adapters.versioned.matrixone.lineage import Lineage
from day1.adapters.versioned.matrixone.position import Position, position_of
from day1.adapters.versioned.matrixone.time_cursor import PastState
from day1.errors import Advice, NotFound
from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, Commit, CommitId
from day1.model.rows.kind import KINDS, MEMORIES, RECORDS, Cell, Kind


class MatrixOneDialect(Dialect):
    """The dialect of MatrixOne: the server compares states, day1 keeps commits and merges."""

    told: tuple[str, ...] = ()
    tables: str = "SHOW TABLES"

    def __init__(self, connections: MatrixOneConnections) -> None:
        """Use the store's connections, which find past states."""
        self._connections = connections
        self._graph = connections.graph
        self._known: dict[CommitId, Commit] = {}
        self._not_later: set[CommitId] = set()
        self.point: Callable[[str], None] = lambda _: None
        """The function called with the name of each point of a commit at which a test may kill the
        process."""
        self.lineage = Lineage(connections)

    @override
    def head(self, connection: Connection) -> CommitId:
        return position_of(connection).tip

    @override
    def resolve(self, connection: Connection, name: str) -> CommitId:
        database_tip_units = self._graph.branch(connection, name)
        if database_tip_units is not None:
            return database_tip_units[1]
        return self.read(connection, name).id

    @override
    def read(self, connection: Connection, commit: CommitId) -> Commit:
        known_commit = self._known.get(commit) or self._graph.commit(connection, commit)
        if known_commit is None:
            raise NotFound(
                f"There is no branch or commit {commit!r}.",
                Advice("{memory_branch_list} and {memory_log} list them."),
                ref=commit,
            )
        return self._known.setdefault(commit, known_commit)

    @override
    def read_all(
        self, connection: Connection, start: CommitId, known: MutableMapping[CommitId, Commit]
    ) -> list[CommitId]:
        """List all commits reachable from `start`, by at most one statement."""
        ancestors = self.past(connection, start)
        known.update({commit: self._known[commit] for commit in ancestors if commit not in known})
        return list(ancestors)

    @override
    def add_past(
        self,
        connection: Connection,
        start: CommitId,
        known: MutableMapping[CommitId, Commit],
        found: MutableMapping[CommitId, Commit],
    ) -> None:
        """Add to `found` a commit and all before it, by at most one statement."""
        if start not in found:
            self.read_all(connection, start, known)
            super().add_past(connection, start, known, found)

    def past(self, connection: Connection, start: CommitId) -> dict[CommitId, None]:
        """Return a commit and its ancestors; unknown commits are read in one statement."""
        ancestors: dict[CommitId, None] = {}
        unvisited = [start]
        while unvisited:
            commit = unvisited.pop()
            if commit in ancestors:
                continue
            if commit not in self._known:
                self._known |= {commit.id: commit for commit in self._graph.commits(connection)}
            ancestors[commit] = None
            unvisited += self.read(connection, commit).parents
        return ancestors

    @override
    def merge_base(self, connection: Connection, one: CommitId, other: CommitId) -> CommitId:
        """Return the newest common ancestor: a child is always later than its parents."""
        common_ancestors = self.past(connection, one).keys() & self.past(connection, other).keys()
        return max(common_ancestors, key=lambda commit: (self._known[commit].ts, commit))

    @override
    def branches(self, connection: Connection) -> dict[str, CommitId]:
        return {name: tip for name, (_, tip) in self._graph.branches(connection).items()}

    @override
    def dirty(self, connection: Connection) -> set[str]:
        return {
            name
            for name, (database, tip) in self._graph.branches(connection).items()
            if _later(connection, database, self.read(connection, tip).ts)
        }

    @override
    def tags(self, connection: Connection) -> dict[str, CommitId]:
        return self._graph.tags(connection)

    @override
    def version(self, connection: Connection, commit: CommitId) -> int:
        schema_table = self._connections.state(connection, commit).of(SCHEMA.name)
        statement = f"SELECT MAX(version) FROM {schema_table}"  # noqa: S608 - our own names
        return int(connection.exec_driver_sql(statement).scalar_one())

    @override
    def changes(
        self, connection: Connection, base: CommitId, to: str, mask: Mask, versions: Versions
    ) -> Changes:
        """Return the rows that differ between two states.

        The states are compared table by table: some milliseconds each, more with many differences.
        """
        if to != "WORKING" and versions[1] == SCHEMA_VERSION:
            self._refuse_later(connection, to)
        base_state = self._connections.state(connection, base)
        to_state = position_of(connection).state if to == "WORKING" else None
        to_state = to_state or self._connections.state(connection, to)
        changes_by_table: Changes = {}
        differing_ids = self.differing(connection, (base_state, to_state), versions)
        for kind in KINDS:
            row_ids = differing_ids(kind)
            rows_before = _rows(connection, kind, base_state, row_ids, versions[0])
            rows_after = _rows(connection, kind, to_state, row_ids, versions[1])
            table_changes = row_changes(kind, _pairs(row_ids, rows_before, rows_after), mask)
            if table_changes:
                changes_by_table[kind.table] = table_changes
        return changes_by_table

    def _refuse_later(self, connection: Connection, commit: CommitId) -> None:
        """Make sure that no later day1 made a commit; each commit is checked once.

        Raises:
            StoreVersionUnknown: a later day1 made the commit.
        """
        if commit not in self._not_later:
            version = self.version(connection, commit)
            if version > SCHEMA_VERSION:
                raise later_schema(version)
            self._not_later.add(commit)

    @override
    def uncommitted(
        self, connection: Connection, mask: Mask, touched: Touched, version: int
    ) -> Changes:
        """Return the branch's changes since its tip.

        The server's comparison ignores the open transaction, so the rows that it touched are looked
        up by id. Without touched rows, the tables that may have pending rows are compared.
        """
        position = position_of(connection)
        base_state = self._connections.state(connection, position.tip)
        working_state = PastState(position.database, clock(connection) * 1_000)
        tables_to_compare = touched or self._may_be_pending(connection, position)
        changes_by_table: Changes = {}
        differing_ids = self.differing(connection, (base_state, working_state), (version, version))
        position.differs = False
        for kind in KINDS:
            if kind.table not in tables_to_compare:
                continue
            row_ids = differing_ids(kind)
            row_ids |= touched.get(kind.table, set())
            rows_before = _rows(connection, kind, base_state, row_ids, version)
            row_pairs = list(
                _pairs(row_ids, rows_before, _rows(connection, kind, None, row_ids, version))
            )
            position.differs |= bool(row_pairs)
            table_changes = row_changes(kind, row_pairs, mask)
            if table_changes:
                changes_by_table[kind.table] = table_changes
        return changes_by_table

    def _may_be_pending(self, connection: Connection, position: Position) -> set[str]:
        """Return the tables that may have pending rows; those of records always count."""
        tip_time = self.read(connection, position.tip).ts
        return {*_later(connection, position.database, tip_time), *(kind.table for kind in RECORDS)}

    @override
    def is_dirty(self, connection: Connection) -> bool:
        return True  # not asked: the engine counts no rows

    @override
    def written_rows(self, connection: Connection) -> int | None:
        return None

    @override
    def peer_commits(self, connection: Connection) -> int | None:
        return None

    @override
    def row(
        self, connection: Connection, kind: Kind, row_id: str, commit: CommitId, version: int
    ) -> tuple[Cell, ...] | None:
        past_state = self._connections.state(connection, commit)
        return _rows(connection, kind, past_state, [row_id], version).get(row_id)

    @override
    def step(self, connection: Connection) -> None:
        """Add the columns of the present schema; ALTER commits, so a kill may leave some."""
        connection.exec_driver_sql("ROLLBACK")
        add_missing(connection)
        connection.exec_driver_sql("START TRANSACTION")
        note_version(connection)

    def differing(
        self, connection: Connection, states: tuple[PastState, PastState], versions: Versions
    ) -> Callable[[Kind], set[str]]:
        """Return a function that finds the ids of rows that may differ between two states."""
        segments = self.lineage.segments(connection, states, versions)

        def ids(kind: Kind) -> set[str]:
            return {
                row_id for segment in segments for row_id in segment.differing(connection, kind)
            }

        return ids

    @override
    def start_merge(self, connection: Connection, source: CommitId) -> bool:
        """Record the source only: the server's own merge loses rows, so the plan writes all."""
        position_of(connection).source = source
        return False

    @override
    def clear_conflicts(self, connection: Connection) -> None:
        """Do nothing: the engine did not merge, so it has no conflicts."""

    @override
    def commit(
        self, connection: Connection, text: str, author: str, *, empty: bool
    ) -> CommitId | None:
        """Commit the transaction as one commit, and store the commit's time."""
        position = position_of(connection)
        if not (empty or position.differs):
            connection.exec_driver_sql("ROLLBACK")
            return None
        commit_id = new_commit()
        self._graph.put_commit(connection, commit_id, position, author.rpartition(" <")[0], text)
        connection.exec_driver_sql("COMMIT")
        self.point("commit.before_stamp")
        self._graph.stamp(connection, commit_id)
        position.tip, position.source = commit_id, None
        position.units += 1
        return commit_id


def new_commit() -> CommitId:
    """Make a new, random id for a commit."""
    return secrets.token_hex(16)


_Rows = dict[str, tuple[Cell, ...]]


def _rows(
    connection: Connection,
    kind: Kind,
    state: PastState | None,
    ids: Collection[str],
    version: int,
) -> _Rows:
    """Read rows of a state, or of the open transaction, by id."""
    column_list = named_at(kind, version, "`{}`")
    table_name = f"`{kind.table}`" if state is None else state.of(kind.table)
    row_by_id: _Rows = {}
    for id_chunk in chunks(sorted(ids)):
        placeholders = ", ".join(["%s"] * len(id_chunk))
        statement = f"SELECT {column_list} FROM {table_name} WHERE id IN ({placeholders})"  # noqa: S608 - our own names
        row_by_id |= {
            row[0]: tuple(row) for row in connection.exec_driver_sql(statement, tuple(id_chunk))
        }
    return row_by_id


def _pairs(ids: Iterable[str], befores: _Rows, afters: _Rows) -> Iterator[tuple[Cell, ...]]:
    """Pair the rows that differ, each with its later values before its earlier ones."""
    for row_id in ids:
        old_row, new_row = befores.get(row_id), afters.get(row_id)
        if old_row != new_row:
            null_values = (None,) * len(old_row or new_row or ())
            yield (new_row or null_values) + (old_row or null_values)


def _later(connection: Connection, database: str, after: int) -> set[str]:
    """Find the tables of memories with rows later than an instant."""
    probes = (
        f"(SELECT '{kind.table}' FROM `{database}`.`{kind.table}`"  # noqa: S608 - our own names
        f" WHERE created_at > {after} LIMIT 1)"
        for kind in MEMORIES
    )
    return {
        str(table_name)
        for table_name in connection.exec_driver_sql(" UNION ALL ".join(probes)).scalars()
    }
