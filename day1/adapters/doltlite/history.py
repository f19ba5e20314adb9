"""The commit graph of a DoltLite file."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Connection, Float
from sqlalchemy.exc import DBAPIError

from day1.adapters.doltlite.connections import Connections
from day1.adapters.doltlite.lock import WriteLock
from day1.adapters.sql.messages import decode
from day1.adapters.sql.rows import waiting
from day1.adapters.sql.tables import TABLES
from day1.errors import BranchExists, NotFound
from day1.model.change import Changes, Commit, CommitId, Ref, RowChange
from day1.model.kind import BY_TABLE, HELD, Cell, Kind, Row
from day1.model.redaction import CLEAR, Mask

AWAKEN = "SELECT version FROM schema LIMIT 1"
_REMEMBERED, _REMEMBERED_ROWS = 8, 2_000
"""Differences that are kept, and how large one may be."""
_FEW = 32
"""Unknown commits read one by one before the whole log is read at once."""


class DoltLiteHistory:
    """`ports.store.History` on DoltLite. Commits never change, so they are read once."""

    def __init__(self, connections: Connections, lock: WriteLock) -> None:
        """Share the store's connections and lock."""
        self._connections = connections
        self._lock = lock
        self._known: dict[CommitId, Commit] = {}
        self.mask: Callable[[], Mask] = lambda: CLEAR
        self._differences: tuple[Mask, dict[tuple[CommitId, CommitId], Changes]] = (CLEAR, {})
        """The mask through which they were read, and the differences."""

    @contextmanager
    def _awake(self, branch: str = "main") -> Iterator[Connection]:
        """A connection that knows its peers' commits: it learns of them from a table read."""
        with self._connections.on(branch) as connection:
            connection.exec_driver_sql(AWAKEN)
            yield connection

    def branches(self) -> dict[str, CommitId]:
        """Every branch of the engine with its tip."""
        with self._awake() as connection:
            rows = connection.exec_driver_sql("SELECT name, hash FROM dolt_branches").all()
        return {str(name): str(commit) for name, commit in rows}

    def unsettled(self) -> set[str]:
        """Branches that have rows which no commit holds yet."""
        with self._awake() as connection:
            statement = "SELECT name FROM dolt_branches WHERE dirty"
            return {str(name) for name in connection.exec_driver_sql(statement).scalars()}

    def fork(self, name: str, start: CommitId) -> None:
        """Create a branch at a commit: a new ref, whatever the number of rows."""
        if name in self.branches():
            raise BranchExists(f"The branch {name!r} exists already.", branch=name)
        self._ref("SELECT dolt_branch(?, ?)", (name, start))
        with self._lock.held(), self._connections.on(name) as connection:
            # A fresh branch has no WORKING to diff with until a transaction was on it.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            connection.exec_driver_sql("COMMIT")

    def drop(self, name: str) -> None:
        """Delete a branch's ref."""
        self._ref("SELECT dolt_branch('-D', ?)", (name,))
        self._connections.forget_branch(name)

    def keep(self, name: str, commit: CommitId) -> None:
        """Tag a commit; a tag that is there stays."""
        with self._awake() as connection:
            query = "SELECT 1 FROM dolt_tags WHERE tag_name = ?"
            if connection.exec_driver_sql(query, (name,)).first():
                return
        self._ref("SELECT dolt_tag(?, ?)", (name, commit))

    def _ref(self, statement: str, values: tuple[str, ...]) -> None:
        with self._lock.held(), self._awake() as connection:
            # Ref verbs commit implicitly and free the engine's lock: never in a transaction.
            connection.exec_driver_sql(statement, values).all()

    def log(self, start: str | CommitId) -> Iterator[Commit]:
        """First parents, newest first, from a branch's tip or a commit."""
        with self._awake() as connection:
            commit: CommitId | None = self._resolve(connection, start)
            unknown = 0
            while commit is not None:
                if commit not in self._known:
                    unknown += 1
                    if unknown == _FEW:
                        self._read_all(connection, commit)
                found = self.commit(connection, commit)
                yield found
                commit = found.parents[0] if found.parents else None

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        """Every commit reachable from `starts`, children before parents."""
        with self._awake() as connection:
            order: dict[CommitId, Commit] = {}
            for start in starts:
                for commit in self._read_all(connection, start):
                    order.setdefault(commit, self._known[commit])
        return _children_first(order)

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        """The commit at which two histories last were one."""
        with self._awake() as connection:
            statement = "SELECT dolt_merge_base(?, ?)"
            return str(connection.exec_driver_sql(statement, (one, other)).scalar_one())

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        """Rows that differ between a commit and a state."""
        if ref.branch is None:
            with self._awake() as connection:
                found = self._between(connection, base, str(ref.commit))
        elif ref.until is None:
            with self._awake(ref.branch) as connection:
                tip = self.tip(connection)
                if waiting(connection, tip.ts).count:
                    return changes_between(connection, base, "WORKING", self.mask())
                found = self._between(connection, base, tip.id)
        else:
            return self.changes(base, self.at(ref.branch, ref.until))
        return found if ref.until is None else _until(found, ref.until)

    def _between(self, connection: Connection, base: CommitId, to: CommitId) -> Changes:
        """The difference of two commits, which is for good: a merge plans what its preview did."""
        mask, (seen, known) = self.mask(), self._differences
        if mask is not seen:  # what was read before may show what is redacted by now
            known = {}
            self._differences = (mask, known)
        found = known.get((base, to))
        if found is None:
            found = changes_between(connection, base, to, mask)
            if sum(map(len, found.values())) <= _REMEMBERED_ROWS:
                if len(known) == _REMEMBERED:
                    known.clear()
                known[base, to] = found
        return dict(found)

    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        """Every version of a row, or of the held items on it, as it was written."""
        key = "row_id" if kind is HELD else "id"
        select = f"SELECT DISTINCT {_names(kind)} FROM {{}} WHERE {key} = ?"  # noqa: S608 - our own names
        found: dict[tuple[Cell, ...], Row] = {}
        places = [partial(self._awake, branch) for branch in self.branches()]
        with self._awake() as connection:
            tags = connection.exec_driver_sql("SELECT tag_hash FROM dolt_tags").scalars().all()
        for place in (*places, *(partial(self._connections.at, str(tag)) for tag in tags)):
            with place() as connection:
                for table in (kind.table, f"dolt_history_{kind.table}"):
                    rows = connection.exec_driver_sql(select.format(table), (row_id,)).all()
                    found |= {tuple(r): dict(zip(kind.columns, r, strict=True)) for r in rows}
        return list(found.values())

    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        """One row at a commit: a lookup by key, 0.1 ms whatever the length of the history."""
        select = f"SELECT {_names(kind)} FROM dolt_at_{kind.table}(?) WHERE id = ?"  # noqa: S608 - our own names
        with self._awake() as connection:
            if not self.commit(connection, commit).parents:
                return None  # the engine's own first commit, before there were tables
            found = connection.exec_driver_sql(select, (commit, row_id)).first()
        if found is None:
            return None
        return self.mask().row(kind, dict(zip(kind.columns, found, strict=True)))

    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        """A row at every commit reachable from `start` that has it (20 µs a commit)."""
        table, mask = f"dolt_history_{kind.table}", self.mask()
        select = f"SELECT commit_hash, {_names(kind)} FROM {table} WHERE id = ?"  # noqa: S608 - our own names
        read: dict[tuple[Cell, ...], Row] = {}
        found: dict[CommitId, Row] = {}
        with self._connections.at(start) as connection:
            for commit, *values in connection.exec_driver_sql(select, (row_id,)):
                row = read.get(tuple(values))
                if row is None:
                    row = mask.row(kind, dict(zip(kind.columns, values, strict=True)))
                    read[tuple(values)] = row
                found[str(commit)] = row
        return found

    def at(self, branch: str, instant: int) -> Ref:
        """The state of a branch at an instant, as a commit or as the branch itself."""
        with self._awake(branch) as connection:
            tip = self.tip(connection)
            if instant >= tip.ts:
                waits = waiting(connection, tip.ts)
                if waits.count:
                    return Ref(branch=branch, until=instant)
                return Ref(commit=tip.id)
        return self.before(tip, instant)

    def before(self, tip: Commit, instant: int) -> Ref:
        """The state at an instant earlier than the tip's (design section 5, as of T).

        The oldest commit later than the instant decides: of an `add` the rows up to the
        instant were there, of any other commit nothing was.
        """
        later = tip
        for commit in self.log(tip.id):
            if commit.ts <= instant:
                if later.op == "add":
                    return Ref(commit=later.id, until=instant)
                return Ref(commit=commit.id)
            if commit.op == "init":
                break
            later = commit
        return Ref(empty=True)

    def tip(self, connection: Connection) -> Commit:
        """The newest commit of the branch that a connection stands on."""
        commit = self._connections.say(connection, "SELECT dolt_hashof('HEAD')")
        return self.commit(connection, str(commit))

    def commit(self, connection: Connection, commit: CommitId) -> Commit:
        """Read one commit, at most once."""
        known = self._known.get(commit)
        if known is not None:
            return known
        row = connection.exec_driver_sql(
            "SELECT committer, date, message FROM dolt_log(?) LIMIT 1", (commit,)
        ).one()
        parents = connection.exec_driver_sql(
            "SELECT parent_hash FROM dolt_commit_ancestors"
            " WHERE commit_hash = ? AND parent_hash IS NOT NULL ORDER BY parent_index",
            (commit,),
        ).scalars()
        found = decode(commit, parents, *row)
        self._known[commit] = found
        return found

    def _resolve(self, connection: Connection, start: str) -> CommitId:
        try:
            return str(connection.exec_driver_sql("SELECT dolt_hashof(?)", (start,)).scalar_one())
        except DBAPIError as exc:
            raise NotFound(f"There is no branch or commit {start!r}.", ref=start) from exc

    def _read_all(self, connection: Connection, start: CommitId) -> list[CommitId]:
        """Read every commit reachable from `start` in two statements (3 µs a commit)."""
        parents: dict[CommitId, list[CommitId]] = {}
        for commit, parent in connection.exec_driver_sql(
            "SELECT commit_hash, parent_hash FROM dolt_commit_ancestors"
            " WHERE parent_hash IS NOT NULL ORDER BY commit_hash, parent_index"
        ):
            parents.setdefault(commit, []).append(parent)
        reachable: list[CommitId] = []
        for commit, author, date, message in connection.exec_driver_sql(
            "SELECT commit_hash, committer, date, message FROM dolt_log(?)", (start,)
        ):
            reachable.append(commit)
            if commit not in self._known:
                found = decode(commit, parents.get(commit, ()), author, date, message)
                self._known[commit] = found
        return reachable


def changes_between(connection: Connection, base: str, to: str, mask: Mask) -> Changes:
    """Rows that differ between two refs; `WORKING` is the connection's branch, uncut rows too.

    What differs only in what is masked does not differ to any reader, plans included.
    """
    summary = "SELECT to_table_name FROM dolt_diff_summary(?, ?)"
    try:
        touched = connection.exec_driver_sql(summary, (base, to)).scalars()
    except DBAPIError as exc:
        if "WORKING" not in str(exc.orig):
            raise
        # A branch just forked by a process that died has no WORKING, and so nothing waiting.
        to = "HEAD"
        touched = connection.exec_driver_sql(summary, (base, to)).scalars()
    found: Changes = {}
    for table in touched:
        kind = BY_TABLE.get(table)
        if kind is None:
            continue
        columns = kind.columns
        names = ", ".join(_column(table, side, c) for side in ("to", "from") for c in columns)
        statement = f"SELECT {names} FROM dolt_diff_{table}(?, ?)"  # noqa: S608 - our own names
        width = len(columns)
        rows: list[RowChange] = []
        for values in connection.exec_driver_sql(statement, (base, to)):
            after: Row | None = dict(zip(columns, values[:width], strict=True))
            before: Row | None = dict(zip(columns, values[width:], strict=True))
            after = after if values[0] is not None else None
            before = before if values[width] is not None else None
            if mask:
                before, after = (r and mask.row(kind, r) for r in (before, after))
                if before == after:
                    continue
            rows.append(RowChange(str((after or before or {})["id"]), before, after))
        rows.sort(key=lambda change: change.id)
        if rows:
            found[table] = rows
    return found


def _names(kind: Kind) -> str:
    return ", ".join(f'"{column}"' for column in kind.columns)


def _column(table: str, side: str, column: str) -> str:
    """A column of a diff: the engine gives whole numbers there as integers, 1 for 1.0."""
    name = f'"{side}_{column}"'
    is_real = isinstance(TABLES[table].c[column].type, Float)
    return f"CAST({name} AS REAL)" if is_real else name


def _until(changes: Changes, until: int) -> Changes:
    """Leave out rows that were added after an instant."""
    kept = {
        table: [
            c
            for c in rows
            if c.before is not None or c.after is None or int(c.after["created_at"] or 0) <= until
        ]
        for table, rows in changes.items()
    }
    return {table: rows for table, rows in kept.items() if rows}


def _children_first(commits: dict[CommitId, Commit]) -> list[Commit]:
    """Order a graph so that every commit comes before its parents, newest first."""
    waiting_for = dict.fromkeys(commits, 0)
    for found in commits.values():
        for parent in found.parents:
            if parent in waiting_for:
                waiting_for[parent] += 1
    ready = [c for c in commits.values() if waiting_for[c.id] == 0]
    ordered: list[Commit] = []
    while ready:
        ready.sort(key=lambda c: (c.ts, c.id))
        found = ready.pop()
        ordered.append(found)
        for parent in found.parents:
            if parent in waiting_for:
                waiting_for[parent] -= 1
                if waiting_for[parent] == 0:
                    ready.append(commits[parent])
    return ordered
