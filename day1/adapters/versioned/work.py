"""A unit of work on a branch: an open transaction, with nobody else at work on the branch."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy import Connection, delete
from typing_extensions import override

from day1.adapters.rows.read_view import Past, ReadView
from day1.adapters.rows.rows import SqlAdditions, SqlReading, chunks, prepared
from day1.adapters.rows.statements import columns_at, insert_into, updating
from day1.adapters.rows.tables import TABLES
from day1.adapters.versioned.dialect import Dialect
from day1.adapters.versioned.history import author_of, decode, encode, encode_again
from day1.adapters.versioned.own_writes import Added, OwnWrites, commit_all, known
from day1.errors import IntegrityBroken
from day1.model.redaction.mask import CLEAR
from day1.model.redaction.veil import SECRET
from day1.model.rows.change import Changes, Commit, CommitId, Message, RowChange, Writes
from day1.model.rows.kind import BY_TABLE, FACT, KINDS, MEMORIES, Kind, Row
from day1.ports.store import Work


class SqlWork(SqlAdditions, Work):
    """A unit of work in an open transaction, which the store begins and ends."""

    def __init__(
        self, connection: Connection, state: ReadView, past: Past[SqlReading], dialect: Dialect
    ) -> None:
        """Wrap a connection on which a transaction was begun."""
        super().__init__(connection, state, past)
        self._dialect = dialect
        self.point: Callable[[str], object] = str
        """The function called with the name of each point of `commit` at which a test may kill the
        process."""
        self._touched: dict[str, set[str]] = {}
        self._own: OwnWrites | None = None
        """The recorded writes of the unit; None before its first write, and in a merge."""
        self._is_merge = False
        self._planned: Writes | None = None
        self._empty = False
        """Whether to commit even without changes; a merge always does."""
        self._merged: Changes | None = None
        """All changes of a merge; None after further writes."""
        self.hides = False
        """Whether the commit hides a fact that primes or hints may show."""
        self.made: Commit | None = None
        """The commit of this unit if it is known without reading it; None after a merge."""
        self.hide: Callable[[], object] = bool
        """The function called before a commit that hides a fact: a kill afterwards leaves no old
        prime."""

    @override
    def to_change(self) -> Work:
        return self

    @override
    def not_before(self, instant: int) -> None:
        self.now = max(self.now, instant + 1)

    @override
    def turn_back(self, instant: int) -> None:
        self.now, self._empty = instant, True

    @override
    def add(self, kind: Kind, rows: Sequence[Row]) -> None:
        self._touch(kind.table, [str(row["id"]) for row in rows])
        own_writes = self._own_writes() if rows else None
        with nullcontext() if own_writes is None else own_writes.adding(kind, rows):
            super().add(kind, rows)

    @override
    def change(self, kind: Kind, row_id: str, values: Row) -> None:
        existing_columns = columns_at(kind, self.version)
        existing_values = {
            f"new_{name}": value for name, value in values.items() if name in existing_columns
        }
        statement = prepared(updating, kind.table, tuple(existing_values))
        with self._changing(kind, [row_id]):
            statement.many(self.connection, [{"row_id": row_id, **existing_values}])

    @override
    def apply(self, writes: Writes) -> None:
        for table_name, row_by_id in writes.items():
            table = TABLES[table_name]
            with self._changing(BY_TABLE[table_name], list(row_by_id)):
                for id_chunk in chunks(list(row_by_id)):
                    self.connection.execute(delete(table).where(table.c.id.in_(id_chunk)))
                present_rows = [row for row in row_by_id.values() if row is not None]
                if present_rows:
                    prepared(insert_into, table_name, self.version).many(
                        self.connection, present_rows
                    )

    def _changing(self, kind: Kind, row_ids: Sequence[str]) -> AbstractContextManager[None]:
        """Record that the unit changes, adds or removes rows in the block."""
        self._touch(kind.table, row_ids)
        own_writes = self._own_writes() if row_ids else None
        return nullcontext() if own_writes is None else own_writes.changing(kind, row_ids)

    def _own_writes(self) -> OwnWrites | None:
        """Return the record of the unit's writes; None in a merge, since the engine writes too."""
        if self._own is None and not self._is_merge:
            self._own = OwnWrites(self.connection, self.tip, self.version, self._dialect)
        return self._own

    def _touch(self, table: str, row_ids: Sequence[str]) -> None:
        self._merged = None
        self._touched.setdefault(table, set()).update(row_ids)

    @override
    def merge(self, source: CommitId, writes: Writes) -> None:
        """Merge in the engine, then set every row that differs from the plan.

        A row in conflict keeps the target's value until it is set. So the conflicts that the engine
        still lists are resolved, and deleted by key (their ids change).
        """
        self._own, self._is_merge = None, True
        has_conflicts = self._dialect.start_merge(self.connection, source)
        merged_changes = self._mend(self._changed(), writes)
        if has_conflicts:
            self._dialect.clear_conflicts(self.connection)
        for table, row_by_id in writes.items():
            self._touch(table, list(row_by_id))
        self._planned, self._merged = writes, merged_changes

    def _changed(self) -> Changes:
        """Return the changes of the unit so far, through the mask as in plans."""
        own_changes = None if self._own is None else self._own.changes(self.mask)
        if own_changes is not None:
            return own_changes
        return self._dialect.uncommitted(self.connection, self.mask, self._touched, self.version)

    def _mend(self, changes_by_table: Changes, writes: Writes) -> Changes:
        """Set rows where the engine's merge differs from the plan; return all changes then.

        The rows set here are read back by key, so that the check before the commit need not ask
        the engine for the whole difference again.
        """
        writes_left = _to_mend(changes_by_table, writes)
        changes_by_table_and_id = {
            table: {row_change.id: row_change for row_change in changes}
            for table, changes in changes_by_table.items()
        }
        rows_before_by_table = {
            table: self.get(BY_TABLE[table], list(rows_to_set))
            for table, rows_to_set in writes_left.items()
        }
        self.apply(writes_left)
        for table, rows_to_set in writes_left.items():
            changes = changes_by_table_and_id.setdefault(table, {})
            row_after_by_id = self.get(BY_TABLE[table], list(rows_to_set))
            for row_id in rows_to_set:
                change = changes.pop(row_id, None)
                row_before = change.before if change else rows_before_by_table[table].get(row_id)
                row_after = row_after_by_id.get(row_id)
                if row_before != row_after:
                    changes[row_id] = RowChange(row_id, row_before, row_after)
        return {
            table: list(changes.values())
            for table, changes in changes_by_table_and_id.items()
            if changes
        }

    @override
    def commit(self, message: Message) -> CommitId:
        changes = self._merged
        if changes is None:
            changes = self._changed()
        self._check(changes)
        agents = _agents(changes)
        commit_message = encode(message, self.now, agents, _counts(changes))
        self.hides = _hides(changes)
        if self.hides:
            self.hide()
        self.point("change.before_commit")
        allow_empty = self._empty or self._planned is not None
        author = author_of(agents)
        commit_id = commit_all(
            self.connection, self._dialect, commit_message, author, empty=allow_empty
        )
        if commit_id is not None and not allow_empty:
            self.made = decode(
                commit_id, [self.tip], author.rpartition(" <")[0], "", commit_message
            )
        self.secret = _secret_hashes(changes)
        self.point("change.after_commit")
        return commit_id or self.tip

    def repeat(self, commit: Commit, writes: Writes) -> CommitId:
        """Repeat the changes of another store's commit, and commit them with its message."""
        if commit.parents[1:]:
            self.merge(commit.parents[1], writes)
        else:
            self.apply(writes)
            self._planned = writes
        self._check(self._changed() if self._merged is None else self._merged)
        author = author_of([commit.author])
        new_commit = self._dialect.commit(self.connection, encode_again(commit), author, empty=True)
        return str(new_commit)

    def _check(self, changes_by_table: Changes) -> None:
        """Refuse to commit rows that this unit did not write or that differ from the plan."""
        for table, changes in changes_by_table.items():
            foreign_ids = {change.id for change in changes} - self._touched.get(table, set())
            if foreign_ids:
                raise IntegrityBroken(
                    "Rows of another unit would slip into this commit; nothing was committed. "
                    "Try again, and run `day1 doctor` if it happens again.",
                    table=table,
                    ids=sorted(foreign_ids)[:10],
                )
        if self._planned is None:
            return
        unplanned_ids = [
            row_id
            for rows_to_set in _to_mend(changes_by_table, self._planned).values()
            for row_id in rows_to_set
        ]
        if unplanned_ids:
            raise IntegrityBroken(
                "The engine's changes differ from the plan; nothing was committed. "
                "Try again, and run `day1 doctor` if it happens again.",
                ids=sorted(unplanned_ids)[:10],
            )


def commit_rows(connection: Connection, dialect: Dialect, state: ReadView) -> Commit:
    """Commit a branch's pending rows as one `add`, after checking that all are additions.

    The caller holds the branch's lock and has begun the transaction, which ends here.

    A commit of another program can be dated earlier than its rows, which then count as pending too.
    So the `add` is made even if it has fewer rows, or none: it is later than all of them.
    """
    pending, added_rows = state.pending, pending_rows(connection, dialect, state)
    row_count = _memories(added_rows)
    message_line = f"add {row_count} {'row' if row_count == 1 else 'rows'}"
    commit_message = encode(
        Message("add", message_line),
        int(pending.newest or 0),
        added_rows.agents,
        dict(sorted(added_rows.counts.items())),
    )
    author = author_of(added_rows.agents)
    may_be_empty = row_count < pending.count
    commit_id = commit_all(connection, dialect, commit_message, author, empty=may_be_empty)
    return decode(str(commit_id), [state.tip], author.rpartition(" <")[0], "", commit_message)


def pending_rows(connection: Connection, dialect: Dialect, state: ReadView) -> Added:
    """Return the rows that a branch has beyond its head.

    Raises:
        IntegrityBroken: some are not additions by day1, so that no commit may have them.
    """
    recorded = known(connection, dialect, state.tip)
    added_rows = _added(connection, dialect, state) if recorded is None else recorded.added
    if _memories(added_rows) > state.pending.count:
        raise _not_additions(())
    return added_rows


def _memories(added_rows: Added) -> int:
    return sum(added_rows.counts.get(kind.table, 0) for kind in MEMORIES)


def _added(connection: Connection, dialect: Dialect, state: ReadView) -> Added:
    """Ask the engine which rows a branch has beyond its head, and check that all are additions."""
    changes_by_table = dialect.uncommitted(connection, CLEAR, {}, state.version)
    changed_ids = {
        change.id for changes in changes_by_table.values() for change in changes if change.before
    }
    if changed_ids:
        raise _not_additions(changed_ids)
    return Added(_counts(changes_by_table), frozenset(_agents(changes_by_table)))


def _not_additions(ids: Collection[str]) -> IntegrityBroken:
    return IntegrityBroken(
        "The branch has uncommitted rows that are not additions; nothing was committed. "
        "Run `day1 doctor`.",
        ids=sorted(ids)[:10],
    )


def _to_mend(changes_by_table: Changes, writes: Writes) -> Writes:
    """Return the rows to set where the engine's changes differ from the planned writes."""
    rows_to_mend: Writes = {}
    for kind in KINDS:
        planned_rows = writes.get(kind.table, {})
        change_by_id = {
            row_change.id: row_change for row_change in changes_by_table.get(kind.table, ())
        }
        for row_id in change_by_id.keys() | planned_rows.keys():
            change = change_by_id.get(row_id)
            if row_id not in planned_rows:
                rows_to_mend.setdefault(kind.table, {})[row_id] = change.before if change else None
            elif change is None or change.after != planned_rows[row_id]:
                rows_to_mend.setdefault(kind.table, {})[row_id] = planned_rows[row_id]
    return rows_to_mend


def _secret_hashes(changes_by_table: Changes) -> frozenset[str]:
    rows = (change.after for changes in changes_by_table.values() for change in changes)
    return frozenset(
        str(row["content_hash"]) for row in rows if row and row.get("sensitivity") == SECRET
    )


def _hides(changes: Changes) -> bool:
    return any(
        _is_told(change.before) and not _is_told(change.after)
        for change in changes.get(FACT.table, ())
    )


def _is_told(row: Row | None) -> bool:
    """Whether primes and hints may show a fact: it is not archived, secret or expiring."""
    if row is None or row["status"] == "archived":
        return False
    return row.get("expires_at") is None and row.get("sensitivity") != SECRET


def _agents(changes_by_table: Changes) -> set[str]:
    rows: list[Any] = [
        change.after or change.before for changes in changes_by_table.values() for change in changes
    ]
    return {str(row["agent_id"]) for row in rows if row["agent_id"] is not None}


def _counts(changes_by_table: Changes) -> dict[str, int]:
    return {table: len(changes) for table, changes in sorted(changes_by_table.items())}
