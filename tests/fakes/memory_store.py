"""A store and its history in this process's memory, for unit tests of services.

A commit is a copy of all rows; a branch is a tip and the rows that are pending on it. Only one
process and one thread is pretended to be there, so no lock is, and nothing is masked.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from day1.errors import (
    BranchExists,
    Conflict,
    Json,
    NotFound,
    StoreBusy,
    UnknownBranch,
    Unsupported,
)
from day1.model.branches.branch import MAIN
from day1.model.redaction.mask import CLEAR, Mask
from day1.model.redaction.veil import is_expired, is_secret, shown_row
from day1.model.rows.change import (
    Changes,
    Commit,
    CommitId,
    Message,
    Pending,
    Query,
    ReadState,
    Ref,
    RowChange,
    Writes,
    place_in_time,
)
from day1.model.rows.kind import BY_TABLE, HELD, KINDS, Cell, Kind, Row, text_of, when
from day1.model.values.space import is_within
from day1.ports.reading import Reading
from day1.ports.store import Capabilities
from tests.fakes.checked import check_row

Tables = Mapping[str, Mapping[str, Row]]


def _with(tables: Tables, writes: Writes) -> dict[str, dict[str, Row]]:
    result = {table: dict(rows) for table, rows in tables.items()}
    for table, rows in writes.items():
        for row_id, row in rows.items():
            if row is None:
                result[table].pop(row_id, None)
            else:
                result[table][row_id] = dict(row)
    return result


def _changes(before: Tables, after: Tables) -> Changes:
    rows_by_table: Changes = {}
    for table, now in after.items():
        then, ids = before[table], sorted({*before[table], *now})
        rows = (RowChange(i, then.get(i), now.get(i)) for i in ids)
        rows_by_table[table] = [row for row in rows if row.before != row.after]
    return {table: rows for table, rows in rows_by_table.items() if rows}


@dataclass
class MemoryReading:
    """`ports.reading.Reading`, and with `writes` also `ports.store.Work`."""

    store: "MemoryStore"
    branch: str | None
    tip: CommitId
    pending: Pending
    tables: Tables
    now: int = 0
    writes: Writes = field(default_factory=lambda: defaultdict(dict))
    merged: tuple[CommitId, ...] = ()
    mask: Mask = CLEAR

    state = property(lambda self: ReadState(self.tip, self.pending))

    def get(self, kind: Kind, ids: Sequence[str], columns: Sequence[str] = ()) -> dict[str, Row]:
        rows, names = self.tables[kind.table], ("id", *columns) if columns else kind.columns
        return {i: {c: rows[i][c] for c in names} for i in dict.fromkeys(ids) if i in rows}

    def find(self, kind: Kind, query: Query, columns: Sequence[str] = ()) -> list[Row]:
        rows = [row for row in self.tables[kind.table].values() if _fits(row, query)]
        rows.sort(key=place_in_time, reverse=query.descending)
        return [{c: row[c] for c in columns or kind.columns} for row in rows[: query.limit]]

    def scan(self, kind: Kind, columns: Sequence[str], query: Query) -> list[tuple[Cell, ...]]:
        order = query.order or ("id" if query.created_after is None else "created_at")
        rows = [row for row in self.tables[kind.table].values() if _fits(row, query)]
        rows.sort(key=lambda row: (row[order], row["id"]), reverse=query.descending)
        return [tuple(row[column] for column in columns) for row in rows[: query.limit]]

    def count(self, kind: Kind, equal: Mapping[str, Cell] | None = None) -> int:
        return len(self.find(kind, Query(equal=equal or {})))

    def tally(self, kind: Kind, column: str, query: Query | None = None) -> dict[Cell, int]:
        return dict(Counter(row[column] for row in self.find(kind, query or Query())))

    def size(self, kind: Kind, column: str, query: Query) -> int:
        return sum(len(str(row[column] or "").encode()) for row in self.find(kind, query))

    def log(self) -> Iterator[Commit]:
        return self.store.history.log(self.tip)

    def merge_base(self, other: CommitId) -> CommitId:
        return self.store.history.merge_base(self.tip, other)

    def changes(self, base: CommitId, of: Reading | None = None) -> Changes:
        if of is not None:
            return of.changes(base)
        if base not in self.store.rows:
            raise NotFound(f"There is no commit {base!r}.")
        return _changes(self.store.rows[base], self.tables)

    # Writing

    def add(self, kind: Kind, rows: Sequence[Row]) -> None:
        for row in rows:
            if str(row["id"]) in self.tables[kind.table]:
                raise Conflict(f"{row['id']} is taken.")
            self.apply({kind.table: {str(row["id"]): row}})

    def change(self, kind: Kind, row_id: str, values: Row) -> None:
        self.apply({kind.table: {row_id: {**self.tables[kind.table][row_id], **values}}})

    def apply(self, writes: Writes) -> None:
        for table, rows in writes.items():
            for row in rows.values():
                check_row(BY_TABLE[table], row or {})
            self.writes[table].update(rows)
        self.tables = _with(self.tables, writes)

    def merge(self, source: CommitId, writes: Writes) -> None:
        self.merged = (source,)
        self.apply(writes)

    def to_change(self) -> "MemoryReading":
        assert self.branch is not None
        assert not self.writes
        self.store.commit_pending(self.branch)
        self.widened = self.store.work(self.branch)
        return self.widened

    def not_before(self, instant: int) -> None:
        self.now = max(self.now, instant + 1)

    def turn_back(self, instant: int) -> None:
        self.now = instant

    def commit(self, message: Message) -> CommitId:
        assert self.branch is not None
        self.tip = self.store.commit(self.branch, self.tables, self.now, message, self.merged)
        return self.tip


def _fits(row: Row, query: Query) -> bool:
    at, created = when(row), int(row["created_at"] or 0)
    return (
        all(row[column] == value for column, value in query.equal.items())
        and all(row[column] in values for column, values in query.among.items())
        and not any(row[column] in values for column, values in query.without.items())
        and (query.after is None or at >= query.after)
        and (query.before is None or at <= query.before)
        and (query.created_after is None or created > query.created_after)
        and (query.above is None or str(row["id"]) > query.above)
        and (query.alive_at is None or not is_expired(row, query.alive_at))
        and (query.present_at is None or not _ended(row, query.present_at))
        and not (query.public and is_secret(row))
        and (query.under is None or is_within(text_of(row["space"]), query.under))
    )


def _ended(row: Row, at: int) -> bool:
    end = row.get("valid_until")
    return row.get("status") == "superseded" if end is None else int(end) <= at


class MemoryStore:
    """`ports.store.Store`: commits by id, and branches as a tip with what is pending."""

    capabilities = Capabilities("memory", "1", True, False)

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.commits: dict[CommitId, Commit] = {}
        self.rows: dict[CommitId, Tables] = {}
        self.tips: dict[str, CommitId] = {}
        self.added: dict[str, Tables] = {}
        """What is pending, by branch: all rows of its state."""
        self.tags: dict[str, CommitId] = {}
        self.sealed_branches: set[str] = set()
        self.history = MemoryHistory(self)
        empty: Tables = {kind.table: {} for kind in KINDS}
        first = Commit("c0", (), "init", clock(), "", "init")
        self.commits["c0"], self.rows["c0"], self.tips[MAIN] = first, empty, "c0"

    def commit(
        self, branch: str, tables: Tables, ts: int, message: Message, merged: tuple[CommitId, ...]
    ) -> CommitId:
        parents = (self.tips[branch], *merged)
        meta = dict(message.meta) | ({} if message.id is None else {"id": message.id})
        made = Commit(f"c{len(self.commits)}", parents, message.op, ts, "", message.line, meta)
        self.commits[made.id], self.rows[made.id] = made, tables
        self.tips[branch] = made.id
        self.added.pop(branch, None)
        return made.id

    def _state(self, branch: str) -> Tables:
        if branch not in self.tips:
            raise UnknownBranch(f"There is no branch {branch!r}.", branch=branch)
        return self.added.get(branch, self.rows[self.tips[branch]])

    def _pending(self, branch: str) -> Pending:
        changes = _changes(self.rows[self.tips[branch]], self._state(branch))
        times = [
            int(r.after["created_at"] or 0) for rows in changes.values() for r in rows if r.after
        ]
        return Pending(len(times), min(times), max(times)) if times else Pending()

    @contextmanager
    def reading(self, ref: Ref) -> Iterator[MemoryReading]:
        if ref.branch is not None:
            tables = self._state(ref.branch)
            tip, pending = self.tips[ref.branch], self._pending(ref.branch)
        elif ref.commit in self.rows:
            tables, tip, pending = self.rows[ref.commit], ref.commit, Pending()
        else:
            raise NotFound(f"There is no commit {ref.commit}.")
        if ref.until is not None:
            until = ref.until
            tables = {
                table: {i: row for i, row in rows.items() if int(row["created_at"] or 0) <= until}
                for table, rows in tables.items()
            }
        if ref.shown_at is not None:
            tables = {
                table: {
                    i: shown_row(BY_TABLE[table], row)
                    for i, row in rows.items()
                    if not is_expired(row, ref.shown_at)
                }
                for table, rows in tables.items()
            }
        yield MemoryReading(self, ref.branch, tip, pending, tables)

    def work(self, branch: str) -> MemoryReading:
        if branch in self.sealed_branches:
            raise StoreBusy("Another writer has held this store for 0 s; try again.")
        tables = self._state(branch)
        now = max(self.clock(), self.commits[self.tips[branch]].ts + 1)
        return MemoryReading(self, branch, self.tips[branch], self._pending(branch), tables, now)

    @contextmanager
    def adding(self, branch: str) -> Iterator[MemoryReading]:
        work = self.work(branch)
        yield work
        if work.writes:
            self.added[branch] = work.tables

    @contextmanager
    def changing(self, branch: str) -> Iterator[MemoryReading]:
        self.commit_pending(branch)
        yield self.work(branch)

    @contextmanager
    def sealed(self, branch: str) -> Iterator[CommitId]:
        tip = self.commit_pending(branch)
        self.sealed_branches.add(branch)
        try:
            yield tip
        finally:
            self.sealed_branches.remove(branch)

    def commit_pending(self, branch: str) -> CommitId:
        pending = self._pending(branch)
        if pending.newest is not None:
            line = f"add {pending.count} rows"
            self.commit(branch, self._state(branch), pending.newest, Message("add", line), ())
        return self.tips[branch]

    def commit_pending_if_due(self, branch: str, _pending: Pending | None = None) -> None:
        if self._pending(branch).count >= 256:
            self.commit_pending(branch)

    def repeat(self, branch: str, commit: Commit, writes: Writes) -> CommitId:
        message = Message(commit.op, commit.line, None, {**commit.meta, "from": commit.id})
        tables = _with(self._state(branch), writes)
        return self.commit(branch, tables, commit.ts, message, tuple(commit.parents[1:]))

    def stamp(self) -> int:
        return len(self.commits)

    def size(self) -> int:
        return 0

    def compact(self, above: int = 0) -> dict[str, Json]:
        raise Unsupported("Nothing is on disk.")

    def compact_size(self) -> int | None:
        return None

    def present(self, machine_time: int) -> int:
        return machine_time

    def check(self) -> list[str]:
        return []

    def warnings(self) -> list[str]:
        return []

    def close(self) -> None:
        pass


class MemoryHistory:
    """`ports.history.History` of a `MemoryStore`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def branches(self) -> dict[str, CommitId]:
        return dict(self._store.tips)

    def dirty_branches(self) -> set[str]:
        return set(self._store.added)

    def states(self, _stamp: Hashable = None) -> dict[str, ReadState]:
        tips = self._store.tips
        return {name: ReadState(tip, self._store._pending(name)) for name, tip in tips.items()}

    def fork(self, name: str, start: CommitId) -> None:
        if name in self._store.tips:
            raise BranchExists(f"{name!r} exists.", branch=name)
        self._store.tips[name] = start

    def drop(self, name: str) -> None:
        del self._store.tips[name]

    def tag(self, name: str, commit: CommitId) -> None:
        self._store.tags.setdefault(name, commit)

    def untag(self, name: str) -> None:
        self._store.tags.pop(name, None)

    def tags(self) -> dict[str, CommitId]:
        return dict(self._store.tags)

    def log(self, start: str | CommitId) -> Iterator[Commit]:
        at: CommitId | None = self._store.tips.get(start, start)
        while at is not None:
            if at not in self._store.commits:
                raise NotFound(f"There is no commit {at}.")
            commit = self._store.commits[at]
            yield commit
            at = commit.parents[0] if commit.parents else None

    def commit(self, commit_id: CommitId) -> Commit:
        return next(self.log(commit_id))

    def graph(self, starts: Sequence[CommitId]) -> list[Commit]:
        queue, seen = list(starts), dict[CommitId, Commit]()
        while queue:
            commit = self._store.commits[queue.pop()]
            if commit.id not in seen:
                seen[commit.id] = commit
                queue += commit.parents
        return sorted(seen.values(), key=lambda commit: int(commit.id[1:]), reverse=True)

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId:
        mine = {commit.id for commit in self.graph([one])}
        return next(commit.id for commit in self.graph([other]) if commit.id in mine)

    def changes(self, base: CommitId, ref: Ref) -> Changes:
        with self._store.reading(ref) as reading:
            return reading.changes(base)

    def unmasked(self, kind: Kind, row_id: str) -> list[Row]:
        named = "row_id" if kind is HELD else "id"
        states = [*self._store.rows.values(), *self._store.added.values()]
        rows = (row for tables in states for row in tables[kind.table].values())
        return [dict(row) for row in rows if row[named] == row_id]

    def row(self, kind: Kind, row_id: str, commit: CommitId) -> Row | None:
        return self._store.rows[commit][kind.table].get(row_id)

    def versions(self, kind: Kind, row_id: str, start: CommitId) -> dict[CommitId, Row]:
        commits = self.graph([start])
        rows = {commit.id: self.row(kind, row_id, commit.id) for commit in commits}
        return {commit: row for commit, row in rows.items() if row is not None}

    def at(self, branch: str, instant: int) -> Ref:
        for commit in self.log(branch):
            if commit.ts <= instant:
                return Ref(commit=commit.id)
        return Ref(commit="c0", empty=True)
