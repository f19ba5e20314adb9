"""Dolt's SQL."""

from collections.abc import MutableMapping
from typing import Any, Final

from sqlalchemy import Connection
from typing_extensions import override

from day1.adapters.mysql.batch import send_with_next
from day1.adapters.rows.rows import row_changes
from day1.adapters.rows.statements import named_at
from day1.adapters.rows.tables import SCHEMA, TABLES
from day1.adapters.versioned.dialect import Dialect, Touched, Versions
from day1.adapters.versioned.dolt_family.system_tables import SystemTables
from day1.adapters.versioned.history import decode
from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, Commit, CommitId
from day1.model.rows.kind import BY_TABLE, Cell, Kind

_LOG = "SELECT commit_hash, parents, author, date, message FROM DOLT_LOG(%s, '--parents')"
_FURTHER: Final = 4


class DoltDialect(SystemTables, Dialect):
    """Dolt's procedures, system tables and table functions."""

    told: tuple[str, ...] = (*SystemTables.told, "utc_timestamp(6)")
    tables: str = "SHOW TABLES"
    _hash_of = "SELECT DOLT_HASHOF(%s)"

    def __init__(self, database: str) -> None:
        """Use a database; its past states are named `database/commit`."""
        self._database = database

    @override
    def head(self, connection: Connection) -> CommitId:
        """Return the branch's newest commit; in a transaction, its newest commit at the start."""
        return str(connection.exec_driver_sql("SELECT DOLT_HASHOF('HEAD')").scalar_one())

    @override
    def read(self, connection: Connection, commit: CommitId) -> Commit:
        return _commit(connection.exec_driver_sql(f"{_LOG} LIMIT 1", (commit,)).one())

    @override
    def read_all(
        self, connection: Connection, start: CommitId, known: MutableMapping[CommitId, Commit]
    ) -> list[CommitId]:
        """List all commits reachable from `start`, in 6 µs a commit."""
        reachable_ids: list[CommitId] = []
        for row in connection.exec_driver_sql(_LOG, (start,)):
            reachable_ids.append(row[0])
            if row[0] not in known:
                known[row[0]] = _commit(row)
        return reachable_ids

    @override
    def read_further(
        self,
        connection: Connection,
        commit: CommitId,
        known: MutableMapping[CommitId, Commit],
        times: int,
    ) -> None:
        """Read four times as many commits as the last time: each statement is a round trip."""
        statement = f"{_LOG} LIMIT {_FURTHER**times}"
        for row in connection.exec_driver_sql(statement, (commit,)):
            if row[0] not in known:
                known[row[0]] = _commit(row)

    @override
    def merge_base(self, connection: Connection, one: CommitId, other: CommitId) -> CommitId:
        statement = "SELECT DOLT_MERGE_BASE(%s, %s)"
        return str(connection.exec_driver_sql(statement, (one, other)).scalar_one())

    @override
    def version(self, connection: Connection, commit: CommitId) -> int:
        past_schema_table = f"`{self._database}/{commit}`.`schema`"
        statement = f"SELECT max(version) FROM {past_schema_table}"  # noqa: S608 - our own names
        return int(connection.exec_driver_sql(statement).scalar_one())

    @override
    def changes(
        self, connection: Connection, base: CommitId, to: str, mask: Mask, versions: Versions
    ) -> Changes:
        summary_query = "SELECT to_table_name FROM DOLT_DIFF_SUMMARY(%s, %s)"
        touched_tables = connection.exec_driver_sql(summary_query, (base, to)).scalars().all()
        if SCHEMA.name in touched_tables:
            self._refuse_later(connection, to)
        changes_by_table: Changes = {}
        for table in touched_tables:
            kind = BY_TABLE.get(table)
            if kind is None:
                continue
            columns_after = named_at(kind, versions[1], "`to_{}`")
            columns_before = named_at(kind, versions[0], "`from_{}`")
            statement = f"SELECT {columns_after}, {columns_before} FROM DOLT_DIFF(%s, %s, %s)"  # noqa: S608 - our own names
            row_pairs: Any = connection.exec_driver_sql(statement, (base, to, table))
            table_changes = row_changes(kind, row_pairs, mask)
            if table_changes:
                changes_by_table[table] = table_changes
        return changes_by_table

    @override
    def uncommitted(
        self, connection: Connection, mask: Mask, _touched: Touched, version: int
    ) -> Changes:
        return self.changes(connection, "HEAD", "WORKING", mask, (version, version))

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
        column_list = named_at(kind, version, "`{}`")
        table_at_commit = f"`{self._database}/{commit}`.`{kind.table}`"
        row_query = f"SELECT {column_list} FROM {table_at_commit} WHERE id = %s"  # noqa: S608 - our own names
        row_values = connection.exec_driver_sql(row_query, (row_id,)).first()
        return None if row_values is None else tuple(row_values)

    @override
    def start_merge(self, connection: Connection, source: CommitId) -> bool:
        """Merge with `--no-commit`, since ROLLBACK undoes a clean merge only then."""
        merge_statement = "CALL DOLT_MERGE('--no-ff', '--no-commit', %s)"
        return any(
            row.conflicts for row in connection.exec_driver_sql(merge_statement, (source,)).all()
        )

    @override
    def clear_conflicts(self, connection: Connection) -> None:
        conflict_tables = connection.exec_driver_sql("SELECT `table` FROM dolt_conflicts").scalars()
        for table in conflict_tables.all():
            if table in TABLES:
                connection.exec_driver_sql(f"DELETE FROM dolt_conflicts_{table}")  # noqa: S608 - our own names

    @override
    def commit(
        self, connection: Connection, text: str, author: str, *, empty: bool
    ) -> CommitId | None:
        empty_option = "--allow-empty" if empty else "--skip-empty"
        statement = "CALL DOLT_COMMIT('-A', '-m', %s, '--author', %s, %s)"
        row = connection.exec_driver_sql(statement, (text, author, empty_option)).first()
        # All is stored by now. Without COMMIT the session would stay in the transaction.
        send_with_next(connection, "COMMIT")
        return None if row is None else str(row[0])


def _commit(row: Any) -> Commit:
    commit_id, parents_text, author, date, message = row
    parent_ids = [parent for parent in str(parents_text or "").replace(",", " ").split() if parent]
    return decode(str(commit_id), parent_ids, str(author), str(date), str(message))
