"""The rows that one unit of work wrote, with what they were before.

An engine's comparison of a branch with its head takes longer than a small change. It is needless
while three things hold: the branch was as its head before the first write, the engine counts the
rows that the connection writes, and every written row is noted here. Otherwise the caller compares.

The first also holds after the connection's own commit, while no other connection writes to the
branch, which an engine may count too. So a connection knows which rows are pending, too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from sqlalchemy import Connection

from day1.adapters.rows.rows import directly, row_changes
from day1.adapters.rows.statements import named_at
from day1.adapters.versioned.dialect import Dialect
from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, CommitId
from day1.model.rows.kind import KINDS, Cell, Kind, Row

_INFO_KEY: Final = "known"
"""The key of `Connection.info` for what the connection knows of its branch."""
_MAX_CHANGED: Final = 100
"""Maximum number of changed rows of a unit that are recorded, since these are read; for more,
comparing all is quicker."""
_MAX_ADDED: Final = 50_000
"""Maximum number of added rows of a unit that are recorded: each takes some 300 bytes."""

_Values = tuple[Cell, ...]
"""A row, in the order of its kind's columns."""


class Added(NamedTuple):
    """How many rows were added, and by which agents."""

    counts: Mapping[str, int]
    """The number of rows by table."""
    agents: frozenset[str]

    def plus(self, kind: Kind, rows: Sequence[Row]) -> "Added":
        """Return the counts and agents with further rows added."""
        agents = {str(agent) for row in rows if (agent := row.get("agent_id")) is not None}
        row_count = self.counts.get(kind.table, 0) + len(rows)
        return Added({**self.counts, kind.table: row_count}, self.agents | agents)


class Known(NamedTuple):
    """The knowledge of a connection that only these rows were added to a branch since its head."""

    tip: CommitId
    peer_commits: int
    written_rows: int
    added: Added

    def plus(self, kind: Kind, rows: Sequence[Row]) -> "Known":
        """Return the knowledge with further rows added, for when nothing else was written."""
        written_rows = self.written_rows + len(rows)
        return self._replace(written_rows=written_rows, added=self.added.plus(kind, rows))


def known(connection: Connection, dialect: Dialect, tip: CommitId) -> Known | None:
    """Return what a connection recorded as added since the head of its branch, if that is all.

    None: the connection has no such record, or anything else was written since, by itself or by
    another connection, or the branch has another head. Called in a writing transaction.
    """
    knowledge: Known | None = connection.info.get(_INFO_KEY)
    if knowledge is None:
        return None
    present_state = tip, dialect.peer_commits(connection), dialect.written_rows(connection)
    if present_state == (knowledge.tip, knowledge.peer_commits, knowledge.written_rows):
        return knowledge
    del connection.info[_INFO_KEY]
    return None


def know_added(
    connection: Connection, tip: CommitId, added: Iterable[tuple[Kind, Sequence[Row]]]
) -> None:
    """Record that a connection added rows; `known` checks that it wrote nothing else."""
    knowledge: Known | None = connection.info.get(_INFO_KEY)
    if knowledge is not None and knowledge.tip == tip:
        for kind, rows in added:
            knowledge = knowledge.plus(kind, rows)
        connection.info[_INFO_KEY] = knowledge


def commit_all(
    connection: Connection, dialect: Dialect, text: str, author: str, *, empty: bool
) -> CommitId | None:
    """Commit as `Dialect.commit`, and record that the branch equals its new head."""
    # Counted before the commit, so that a write right after it is noticed. A peer's write since
    # the last count is noticed too: the count is then too low.
    knowledge: Known | None = connection.info.get(_INFO_KEY)
    peer_commits = dialect.peer_commits(connection) if knowledge is None else knowledge.peer_commits
    written_rows = dialect.written_rows(connection)
    commit_id = dialect.commit(connection, text, author, empty=empty)
    if commit_id is not None and peer_commits is not None and written_rows is not None:
        connection.info[_INFO_KEY] = Known(
            commit_id, peer_commits, written_rows, Added({}, frozenset())
        )
    return commit_id


class OwnWrites:
    """The rows that a unit of work wrote, while they prove to be all that changed on its branch."""

    def __init__(
        self, connection: Connection, tip: CommitId, version: int, dialect: Dialect
    ) -> None:
        """Begin without recorded rows.

        Args:
            connection: the connection of the unit, in its transaction.
            tip: the head of its branch.
            version: the schema of its branch.
            dialect: says how many rows the connection wrote.
        """
        self._connection, self._tip = connection, tip
        self._version, self._dialect = version, dialect
        self._befores: dict[str, dict[str, _Values | None]] | None = {}
        """The row before the unit, by table and id (None: no row); None if not all are known."""
        self._added: dict[str, _Values] = {}
        """The rows that were added and not changed since, by id."""
        self._count: int | None = None
        """The engine's count of written rows after the last write of the unit."""

    @contextmanager
    def adding(self, kind: Kind, rows: Sequence[Row]) -> Iterator[None]:
        """Record rows before the block adds them."""
        row_ids = [str(row["id"]) for row in rows]
        if self._may_note(added=len(row_ids)):
            self._added.update(
                (row_id, tuple(map(row.get, kind.columns)))
                for row_id, row in zip(row_ids, rows, strict=True)
            )
            self._note(kind, dict.fromkeys(row_ids))
        yield
        self._count = self._dialect.written_rows(self._connection)

    @contextmanager
    def changing(self, kind: Kind, row_ids: Sequence[str]) -> Iterator[None]:
        """Record how rows are before the block changes, adds or removes them."""
        if self._may_note(changed=len(row_ids)):
            for row_id in row_ids:
                self._added.pop(row_id, None)
            old_rows = (self._befores or {}).get(kind.table, {})
            unread_ids = [row_id for row_id in row_ids if row_id not in old_rows]
            read_rows = self._rows(kind, unread_ids)
            self._note(kind, {row_id: read_rows.get(row_id) for row_id in unread_ids})
        yield
        self._count = self._dialect.written_rows(self._connection)

    def _may_note(self, *, added: int = 0, changed: int = 0) -> bool:
        """Whether all writes can be recorded, with so many further added and changed rows."""
        if self._befores is None:
            return False
        added += len(self._added)
        changed += sum(map(len, self._befores.values())) - len(self._added)
        if changed > _MAX_CHANGED or added > _MAX_ADDED or not self._is_alone():
            self._befores = None
        return self._befores is not None

    def _note(self, kind: Kind, befores: Mapping[str, _Values | None]) -> None:
        if self._befores is not None:
            self._befores.setdefault(kind.table, {}).update(befores)

    def _is_alone(self) -> bool:
        """Whether nothing else was written on the branch since its head."""
        written_rows = self._dialect.written_rows(self._connection)
        if self._count is not None:
            return written_rows == self._count
        if written_rows is None:
            return False
        knowledge = known(self._connection, self._dialect, self._tip)  # before the first write
        if knowledge is not None:
            return not knowledge.added.counts
        return not self._dialect.is_dirty(self._connection)

    def _rows(self, kind: Kind, row_ids: Sequence[str]) -> dict[str, _Values]:
        if not row_ids:
            return {}
        placeholders = ", ".join("?" * len(row_ids))
        column_list = named_at(kind, self._version, '"{}"')
        statement = f"SELECT {column_list} FROM {kind.table} WHERE id IN ({placeholders})"  # noqa: S608 - our own names
        return {str(row[0]): row for row in directly(self._connection, statement, row_ids)}

    def changes(self, mask: Mask) -> Changes | None:
        """Return the unit's changes, as `Dialect.uncommitted` does; None if they are not known."""
        if not self._befores or not self._is_alone():
            return None
        changes_by_table: Changes = {}
        for kind in KINDS:
            old_values_by_id = self._befores.get(kind.table, {})
            new_values_by_id = self._rows(
                kind, [row_id for row_id in old_values_by_id if row_id not in self._added]
            )
            null_values = (None,) * len(kind.columns)
            value_pairs = [
                (*(new_values or null_values), *(old_values or null_values))
                for row_id, old_values in old_values_by_id.items()
                if old_values
                != (new_values := self._added.get(row_id) or new_values_by_id.get(row_id))
            ]
            table_changes = row_changes(kind, value_pairs, mask)
            if table_changes:
                changes_by_table[kind.table] = table_changes
        return changes_by_table
