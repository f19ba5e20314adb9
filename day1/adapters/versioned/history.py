"""The commit graph, for all engines that keep one.

A commit's message has a readable line, then a line of JSON with what the engine does not store.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Select, column, literal_column, select, table
from sqlalchemy.sql.elements import ColumnElement
from typing_extensions import override

from day1.adapters.rows.rows import SqlReading, pending_and
from day1.adapters.rows.statements import columns_at
from day1.adapters.rows.tables import SCHEMA_VERSION, quoted
from day1.adapters.versioned.connections import Connections
from day1.adapters.versioned.dialect import Dialect
from day1.errors import BranchExists, Json, NotAStore, UnknownBranch
from day1.model.redaction.mask import CLEAR, Mask
from day1.model.rows.change import (
    NOTHING_PENDING,
    Changes,
    Commit,
    CommitId,
    Message,
    Pending,
    ReadState,
    Ref,
    children_first,
)
from day1.model.rows.kind import FACT, Cell, Kind, Row, canonical
from day1.model.values.instant import SECOND
from day1.ports.history import History

FOREIGN = "foreign"
"""The `op` of a commit that day1 did not make."""
_VERSION = 1
"""The version of the format of messages."""
_MAX_LINE = 200
"""Maximum number of characters of a message's first line."""
_REMEMBERED = 8
"""Maximum number of differences that are remembered."""
_REMEMBERED_ROWS = 2_000
"""Maximum number of rows of a difference that is remembered."""
_MOST_COMMITS = 65_536
"""Maximum number of commits that are remembered, of 1.5 KB each; then all are forgotten."""


class SqlHistory(History):
    """The history of an engine that keeps commits; subclasses add how to change refs.

    Commits never change, so they are remembered.
    """

    def __init__(self, connections: Connections, dialect: Dialect) -> None:
        """Use the store's connections and the engine's statements."""
        self._connections = connections
        self._dialect = dialect
        self._known: dict[CommitId, Commit] = {}
        self.mask: Callable[[], Mask] = lambda: CLEAR
        self.oldest = SCHEMA_VERSION
        """The version of the schema that the store was made with; no state has an earlier one."""
        self._versions: dict[CommitId, int] = {}
        self._differences: tuple[Mask, dict[tuple[CommitId, CommitId], Changes]] = (CLEAR, {})
        """Remembered differences, with the mask through which they were read."""

    @override
    def branches(self) -> dict[str, CommitId]:
        with self._connections.fresh() as connection:
            return self._dialect.branches(connection)

    def _refuse_taken(self, name: str) -> None:
        if name in self.branches():
            raise BranchExists(f"The branch {name!r} exists already.", branch=name)

    @override
    def tags(self) -> dict[str, CommitId]:
        with self._connections.fresh() as connection:
            return self._dialect.tags(connection)

    @override
    def dirty_branches(self) -> set[str]:
        with self._connections.fresh() as connection:
            return self._dialect.dirty(connection)

    @override
    def states(self, _stamp: Hashable = None) -> dict[str, ReadState]:
        dirty_names = self.dirty_branches()  # before the tips, or a row could be in neither
        return {
            name: ReadState(tip, self._pending(name) if name in dirty_names else NOTHING_PENDING)
            for name, tip in self.branches().items()
        }

    def _pending(self, branch: str) -> Pending:
        """Return a branch's pending rows; none if it was deleted just now or is not day1's."""
        with suppress(UnknownBranch, NotAStore), self._connections.fresh(branch) as connection:
            return pending_and(connection, self.tip(connection).ts)[0]
        return NOTHING_PENDING

    @override
    def log(self, start: str | CommitId) -> Iterator[Commit]:
        with self._connections.fresh() as connection:
            yield from self.log_over(connection, self._dialect.resolve(connection, start))

    def log_over(self, connection: Connection, commit: CommitId | None) -> Iterator[Commit]:
        """Yield a commit and its first parents; those that are not remembered are read."""
        commit_by_id, read_count = self._remembered(), 0
        while commit is not None:
            if commit not in commit_by_id:
                self._dialect.read_further(connection, commit, commit_by_id, read_count)
                read_count += 1
            current_commit = commit_by_id[commit]
            yield current_commit
            commit = current_commit.parents[0] if current_commit.parents else None

    @override
    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        graph_commits: dict[CommitId, Commit] = {}
        with self._connections.fresh() as connection:
            for start in starts:
                self._dialect.add_past(connection, start, self._remembered(), graph_commits)
        return children_first(graph_commits)

    @override
    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        with self._connections.fresh() as connection:
            return self._dialect.merge_base(connection, one, other)

    @override
    def changes(self, base: CommitId, ref: Ref) -> Changes:
        if ref.branch is None:
            with self._connections.fresh() as connection:
                changes = self._between(connection, base, str(ref.commit), SCHEMA_VERSION)
        elif ref.until is None:
            with self._connections.fresh(ref.branch) as connection:
                tip = self.tip(connection)
                if pending_and(connection, tip.ts)[0].count:
                    return self._pending_too(connection, base, tip.id, self.mask())
                changes = self._between(connection, base, tip.id, self.version(connection, tip.id))
        else:
            return self.changes(base, self.at(ref.branch, ref.until))
        return changes if ref.until is None else _until(changes, ref.until)

    def base(self, reading: SqlReading, other: CommitId) -> CommitId:
        """Return the merge base of an open reading and a commit, over the reading's connection."""
        return self._dialect.merge_base(reading.connection, reading.tip, other)

    def since(self, reading: SqlReading, base: CommitId, through: SqlReading) -> Changes:
        """Return the rows that differ between a commit and an open reading, as far as it reads."""
        if reading.pending.count:
            changes = self._pending_too(reading.connection, base, reading.tip, reading.mask)
        else:
            reader = through if self._connections.own_caches else reading
            changes = self._between(reader.connection, base, reading.tip, reader.version)
        return changes if reading.until is None else _until(changes, reading.until)

    def _pending_too(
        self, connection: Connection, base: CommitId, tip: CommitId, mask: Mask
    ) -> Changes:
        """Return the changes from a commit to a connection's branch with its pending rows."""
        tip_version = self.version(connection, tip)
        # A commit of another branch may have later columns, which this branch lacks.
        base_version = min(tip_version, self.version(connection, base))
        return self._dialect.changes(connection, base, "WORKING", mask, (base_version, tip_version))

    def _between(
        self, connection: Connection, base: CommitId, to: CommitId, known_version: int
    ) -> Changes:
        """Return the changes between two commits; remembered, as a merge follows its preview.

        `known_version` is the version of the connection's schema: it knows no later column.
        """
        mask, (remembered_mask, remembered_changes) = self.mask(), self._differences
        if mask is not remembered_mask:  # remembered rows may show what is now redacted
            _, remembered_changes = self._differences = (mask, {})
        changes = remembered_changes.get((base, to))
        if changes is None:
            schema_versions = self.version(connection, base), self.version(connection, to)
            # Main knows every column, since it is stepped first.
            if max(schema_versions) > known_version:
                with self._connections.fresh() as on_main:
                    changes = self._dialect.changes(on_main, base, to, mask, schema_versions)
            else:
                changes = self._dialect.changes(connection, base, to, mask, schema_versions)
            if sum(map(len, changes.values())) <= _REMEMBERED_ROWS:
                if len(remembered_changes) == _REMEMBERED:
                    remembered_changes.clear()
                remembered_changes[base, to] = changes
        return dict(changes)

    @override
    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        """Find all versions of a row without the mask; a past shared by branches is read once."""
        with self._connections.fresh() as connection:
            tips, tags = self._dialect.branches(connection), self._dialect.tags(connection)
            dirty_names = self._dialect.dirty(connection)
        states_to_read: list[tuple[Callable[[], AbstractContextManager[Connection]], str, bool]] = [
            (partial(self._connections.fresh, branch), tip, branch in dirty_names)
            for branch, tip in tips.items()
        ]
        states_to_read += [
            (partial(self._connections.at_commit, tip), tip, False) for tip in tags.values()
        ]
        row_by_values: dict[tuple[Cell, ...], Row] = {}
        read_commits: set[CommitId] = set()
        for connect, tip, has_pending in states_to_read:
            table_names = [kind.table] if has_pending else []
            table_names += [f"dolt_history_{kind.table}"] if tip not in read_commits else []
            if not table_names:
                continue
            with connect() as connection:
                read_commits.update(self._dialect.read_all(connection, tip, self._remembered()))
                columns = _columns(kind, self.version(connection, tip))
                for table_name in table_names:
                    statement = select(*columns).distinct().select_from(table(table_name))
                    rows = connection.execute(statement.where(column(kind.about) == row_id)).all()
                    row_by_values |= {tuple(row): kind.row(row) for row in rows}
        return list(row_by_values.values())

    @override
    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        """Look up a row by its key: 0.1 ms, however long the history is."""
        with self._connections.fresh() as connection:
            if not self.read(connection, commit).parents:
                return None  # the engine's own first commit, without tables
            version = self.version(connection, commit)
            cells = self._dialect.row(connection, kind, row_id, commit, version)
        return None if cells is None else self.mask().row(kind, kind.row(cells))

    @override
    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        """Return a row at each commit of its history: 20 µs a commit."""
        mask, history = self.mask(), table(f"dolt_history_{kind.table}")
        row_by_values: dict[tuple[Cell, ...], Row] = {}
        row_by_commit: dict[CommitId, Row] = {}
        with self._connections.at_commit(start) as connection:
            columns = _columns(kind, self.version(connection, start))
            statement: Select[Any] = select(column("commit_hash"), *columns).select_from(history)
            for commit_id, *cells in connection.execute(statement.where(column("id") == row_id)):
                row = row_by_values.get(tuple(cells))
                if row is None:
                    row = row_by_values[tuple(cells)] = mask.row(kind, kind.row(cells))
                row_by_commit[str(commit_id)] = row
        return row_by_commit

    @override
    def at(self, branch: str, instant: int) -> Ref:
        with self._connections.fresh(branch) as connection:
            tip = self.tip(connection)
            if instant >= tip.ts:
                if pending_and(connection, tip.ts)[0].count:
                    return Ref(branch=branch, until=instant)
                return Ref(commit=tip.id)
        return self.before(tip, instant)

    def before(self, tip: Commit, instant: int) -> Ref:
        """Find the state at an instant earlier than the tip's.

        The oldest commit after the instant decides. If it is an `add`, its rows up to the instant
        existed; the changes of any other commit did not.
        """
        next_commit = tip
        for commit in self.log(tip.id):
            if commit.ts <= instant:
                if next_commit.op == "add":
                    return Ref(commit=next_commit.id, until=instant)
                return Ref(commit=commit.id)
            if commit.op == "init":
                break
            next_commit = commit
        return Ref(empty=True)

    def tip(self, connection: Connection) -> Commit:
        """Return the newest commit of a connection's branch."""
        return self.read(connection, self._dialect.head(connection))

    def version(self, connection: Connection, commit: CommitId) -> int:
        """Return the version of a commit's schema, which is never earlier than its parents'."""
        if self.oldest == SCHEMA_VERSION:
            return SCHEMA_VERSION
        schema_version = self._versions.get(commit)
        if schema_version is None:
            parents = self.read(connection, commit).parents
            if not parents:  # the engine's own first commit, without tables
                schema_version = self.oldest
            elif any(self._versions.get(parent) == SCHEMA_VERSION for parent in parents):
                schema_version = SCHEMA_VERSION
            else:
                schema_version = self._dialect.version(connection, commit)
            self._versions[commit] = schema_version
        return schema_version

    def has_tables(self, connection: Connection, commit: CommitId) -> bool:
        """Whether the commit that the connection reads has day1's tables: `init` made them."""
        if self.read(connection, commit).op != FOREIGN:
            return True
        return FACT.table in connection.exec_driver_sql(self._dialect.tables).scalars().all()

    @override
    def commit(self, commit: CommitId) -> Commit:
        known_commit = self._known.get(commit)
        if known_commit is None:
            with self._connections.fresh() as connection:
                known_commit = self.read(connection, self._dialect.resolve(connection, commit))
        return known_commit

    def _remembered(self) -> dict[CommitId, Commit]:
        """Return the remembered commits for one walk; a full dict is replaced, never emptied."""
        if len(self._known) >= _MOST_COMMITS:
            self._known = {}
        return self._known

    def learn(self, commit: Commit) -> Commit:
        """Remember a commit that was just made, so that it need not be read."""
        return self._remembered().setdefault(commit.id, commit)

    def read(
        self, connection: Connection, commit: CommitId, known: dict[CommitId, Commit] | None = None
    ) -> Commit:
        """Return a commit; read it if it is not remembered."""
        known = self._remembered() if known is None else known
        known_commit = known.get(commit)
        if known_commit is None:
            known_commit = known[commit] = self._dialect.read(connection, commit)
        return known_commit


def _until(changes: Changes, instant: int) -> Changes:
    """Leave out rows that were added after an instant."""
    changes_by_table = {
        table: [
            c
            for c in rows
            if c.before is not None or c.after is None or int(c.after["created_at"] or 0) <= instant
        ]
        for table, rows in changes.items()
    }
    return {table: rows for table, rows in changes_by_table.items() if rows}


def _columns(kind: Kind, version: int) -> list[ColumnElement[Any]]:
    existing = columns_at(kind, version)
    return [column(quoted(c)) if c in existing else literal_column("NULL") for c in kind.columns]


def encode(message: Message, ts: int, agents: Iterable[str], counts: Mapping[str, int]) -> str:
    """Write the message of a commit made at `ts` (microseconds UTC)."""
    fields: dict[str, Json] = {
        **message.meta,
        "v": _VERSION,
        "op": message.op,
        "ts": ts,
        "id": message.id,
        "agents": sorted(agents),
        "counts": dict(counts),
    }
    line = message.line.replace("\n", " ").replace("\0", " ")[:_MAX_LINE]
    return f"{line}\n\n{canonical(fields)}"


def encode_again(commit: Commit) -> str:
    """Write the message of a copied commit: the original message and the original id."""
    metadata = {**commit.meta, "v": _VERSION, "op": commit.op, "ts": commit.ts, "from": commit.id}
    return f"{commit.line}\n\n{canonical(metadata)}"


def decode(
    commit: CommitId, parents: Iterable[CommitId], author: str, date: str, text: str
) -> Commit:
    """Parse a commit; one without day1's JSON line gets the engine's date."""
    line, _, body = text.partition("\n")
    meta: dict[str, Json] = {}
    with suppress(ValueError, RecursionError):
        # Not `splitlines`: the name of an agent may contain its other line separators.
        parsed = json.loads(body.strip().rpartition("\n")[2])
        if isinstance(parsed, dict) and isinstance(parsed.get("ts"), int) and "op" in parsed:
            meta = parsed
    ts = meta.get("ts")
    if not isinstance(ts, int):
        ts = int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()) * SECOND
    op = str(meta.get("op", FOREIGN))
    return Commit(commit, tuple(parents), op, ts, author, line, meta)


def author_of(agents: Iterable[str]) -> str:
    """Write the `--author` of a commit: its agent if there is only one, else day1."""
    agent_names = set(agents)
    author = agent_names.pop() if len(agent_names) == 1 else "day1"
    # The engine refuses names with parentheses, such as `ada (laptop)`.
    printable_name = "".join(c for c in author if c.isprintable() and c not in "<>()") or "day1"
    return f"{printable_name} <{printable_name.replace(' ', '-')}@day1>"
