"""DoltLite's SQL."""

from collections.abc import Mapping, MutableMapping, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from day1.adapters.rows.rows import directly, row_changes
from day1.adapters.rows.statements import named_at
from day1.adapters.rows.tables import SCHEMA, TABLES
from day1.adapters.versioned.dialect import Dialect, Touched, Versions
from day1.adapters.versioned.dolt_family.system_tables import SystemTables
from day1.adapters.versioned.doltlite.connections import LARGE_CACHE, MOST_KIB
from day1.adapters.versioned.history import decode
from day1.model.redaction.mask import Mask
from day1.model.rows.change import Changes, Commit, CommitId
from day1.model.rows.kind import BY_TABLE, MEMORIES, Cell, Kind

_NEAR = """
WITH RECURSIVE past(hash) AS (
  SELECT ? UNION SELECT ? UNION
  SELECT a.parent_hash FROM past JOIN dolt_commit_ancestors a ON a.commit_hash = past.hash
  WHERE a.parent_hash IS NOT NULL LIMIT 128
)
SELECT past.hash, a.parent_hash FROM past
JOIN dolt_commit_ancestors a ON a.commit_hash = past.hash
"""
"""The query for the nearest ancestors of two commits, with their parents: 6 µs a commit."""
_FORMS = {"real": 'CAST("{}" AS REAL)'}
"""Expressions for a diff's columns by type: a diff returns the real number 1.0 as integer 1."""
_IS_DIRTY = "SELECT EXISTS (SELECT 1 FROM dolt_status)"
_ROW_COUNT = f"SELECT {' + '.join(f'(SELECT count(*) FROM {kind.table})' for kind in MEMORIES)}"  # noqa: S608 - our own names
_ROW_KIB: Final = 1
"""KiB of pages that a merge reads for each row of a branch (measured on 100,000 facts)."""
_LARGE_KIB: Final = 131_072
"""Maximum KiB of pages that a connection keeps for merges."""
_COMMIT = "SELECT dolt_commit('-A', '-m', ?, '--author', ?, ?)"


class DoltLiteDialect(SystemTables, Dialect):
    """DoltLite's functions and virtual tables."""

    tables: str = "SELECT name FROM sqlite_master WHERE type = 'table'"
    _hash_of = "SELECT dolt_hashof(?)"

    @override
    def head(self, connection: Connection) -> CommitId:
        return str(connection.exec_driver_sql("SELECT dolt_hashof('HEAD')").scalar_one())

    @override
    def read(self, connection: Connection, commit: CommitId) -> Commit:
        row = connection.exec_driver_sql(
            "SELECT committer, date, message FROM dolt_log(?) LIMIT 1", (commit,)
        ).one()
        parent_ids = connection.exec_driver_sql(
            "SELECT parent_hash FROM dolt_commit_ancestors"
            " WHERE commit_hash = ? AND parent_hash IS NOT NULL ORDER BY parent_index",
            (commit,),
        ).scalars()
        return decode(commit, parent_ids, *row)

    @override
    def read_all(
        self, connection: Connection, start: CommitId, known: MutableMapping[CommitId, Commit]
    ) -> list[CommitId]:
        """List all commits reachable from `start` by two statements, in 3 µs a commit."""
        parents_by_commit: dict[CommitId, list[CommitId]] = {}
        for commit, parent in connection.exec_driver_sql(
            "SELECT commit_hash, parent_hash FROM dolt_commit_ancestors"
            " WHERE parent_hash IS NOT NULL ORDER BY commit_hash, parent_index"
        ):
            parents_by_commit.setdefault(commit, []).append(parent)
        reachable_ids: list[CommitId] = []
        for commit, author, date, message in connection.exec_driver_sql(
            "SELECT commit_hash, committer, date, message FROM dolt_log(?)", (start,)
        ):
            reachable_ids.append(commit)
            if commit not in known:
                known[commit] = decode(
                    commit, parents_by_commit.get(commit, ()), author, date, message
                )
        return reachable_ids

    @override
    def merge_base(self, connection: Connection, one: CommitId, other: CommitId) -> CommitId:
        """Find the merge base: in 1 ms if the commits parted lately, else from the whole graph."""
        parents_by_commit: dict[CommitId, list[CommitId]] = {}
        for commit, parent in connection.exec_driver_sql(_NEAR, (one, other)).all():
            parents_by_commit.setdefault(commit, []).extend(() if parent is None else [parent])
        base_id = meeting(parents_by_commit, one, other)
        if base_id is None:
            statement = "SELECT dolt_merge_base(?, ?)"
            base_id = connection.exec_driver_sql(statement, (one, other)).scalar_one()
        return str(base_id)

    @override
    def version(self, connection: Connection, commit: CommitId) -> int:
        statement = "SELECT max(version) FROM dolt_at_schema(?)"
        return int(connection.exec_driver_sql(statement, (commit,)).scalar_one())

    @override
    def changes(
        self, connection: Connection, base: CommitId, to: str, mask: Mask, versions: Versions
    ) -> Changes:
        summary_query = "SELECT to_table_name FROM dolt_diff_summary(?, ?)"
        try:
            touched_tables = connection.exec_driver_sql(summary_query, (base, to)).scalars().all()
        except DBAPIError as exc:
            if "WORKING" not in str(exc.orig):
                raise
            # A branch whose process died right after forking it has no WORKING, so no pending rows.
            to = "HEAD"
            touched_tables = connection.exec_driver_sql(summary_query, (base, to)).scalars().all()
        if SCHEMA.name in touched_tables:
            self._refuse_later(connection, to)
        changes_by_table: Changes = {}
        for table in touched_tables:
            kind = BY_TABLE.get(table)
            if kind is None:
                continue
            statement = f"SELECT {_both_sides(kind, versions)} FROM dolt_diff_{table}(?, ?)"  # noqa: S608 - our own names
            row_pairs: Any = connection.exec_driver_sql(statement, (base, to))
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
        return bool(directly(connection, _IS_DIRTY)[0][0])

    @override
    def written_rows(self, connection: Connection) -> int | None:
        driver_connection: Any = connection.connection.driver_connection
        return int(driver_connection.total_changes)

    @override
    def peer_commits(self, connection: Connection) -> int | None:
        return int(str(directly(connection, "PRAGMA data_version")[0][0]))

    @override
    def row(
        self, connection: Connection, kind: Kind, row_id: str, commit: CommitId, version: int
    ) -> tuple[Cell, ...] | None:
        column_list = named_at(kind, version, '"{}"')
        row_query = f"SELECT {column_list} FROM dolt_at_{kind.table}(?) WHERE id = ?"  # noqa: S608 - our own names
        row_values = connection.exec_driver_sql(row_query, (commit, row_id)).first()
        return None if row_values is None else tuple(row_values)

    @override
    def start_merge(self, connection: Connection, source: CommitId) -> bool:
        if LARGE_CACHE not in connection.info:
            row_count = int(directly(connection, _ROW_COUNT)[0][0] or 0)
            kib = min(max(row_count * _ROW_KIB, MOST_KIB), _LARGE_KIB)
            connection.exec_driver_sql(f"PRAGMA cache_size = -{kib}")
            connection.info[LARGE_CACHE] = True
        try:
            connection.exec_driver_sql(
                "SELECT dolt_merge('--no-ff', '--no-commit', '-m', 'merge', ?)", (source,)
            )
        except DBAPIError as exc:
            if "conflict" not in str(exc.orig):
                raise
            return True
        return False

    @override
    def clear_conflicts(self, connection: Connection) -> None:
        conflict_tables = connection.exec_driver_sql('SELECT "table" FROM dolt_conflicts').scalars()
        for table in conflict_tables.all():
            if table in TABLES:
                connection.exec_driver_sql(f"DELETE FROM dolt_conflicts_{table}")  # noqa: S608 - our own names

    @override
    def commit(
        self, connection: Connection, text: str, author: str, *, empty: bool
    ) -> CommitId | None:
        empty_option = "--allow-empty" if empty else "--skip-empty"
        commit_id = str(directly(connection, _COMMIT, (text, author, empty_option))[0][0])
        # dolt_commit opened a transaction of its own, in which nothing may be read.
        directly(connection, "COMMIT")
        return commit_id if commit_id != "0" else None


def meeting(
    parents: Mapping[CommitId, Sequence[CommitId]], one: CommitId, other: CommitId
) -> CommitId | None:
    """Find the merge base of two commits if some of their ancestors suffice to prove it.

    The merge base is proved if every path back from either commit leads to it, and no commit on
    these paths is an ancestor of both. None: there may be another, or parents are missing.
    """

    def back(start: CommitId, end: CommitId | None = None) -> dict[CommitId, None]:
        """Return a commit and its ancestors, nearest first, without `end` and beyond."""
        ancestors: dict[CommitId, None] = {}
        queue = [start]
        for commit in queue:
            if commit != end and commit not in ancestors:
                ancestors[commit] = None
                queue += parents.get(commit, ())
        return ancestors

    ancestors_of_other = back(other)
    nearest = next((commit for commit in back(one) if commit in ancestors_of_other), None)
    if nearest is None:
        return None
    one_and_ancestors, other_and_ancestors = back(one, nearest), back(other, nearest)
    # A path with missing parents, or one that ends at the root, does not lead to `nearest`.
    all_paths_lead = all(
        parents.get(commit) for commit in (*one_and_ancestors, *other_and_ancestors)
    )
    has_shared = bool(one_and_ancestors.keys() & other_and_ancestors.keys())
    return nearest if all_paths_lead and not has_shared else None


@cache
def _both_sides(kind: Kind, versions: Versions) -> str:
    """Write the columns of a diff, new side first; columns that a side lacks are NULL."""
    sides_and_versions = (("to", versions[1]), ("from", versions[0]))
    return ", ".join(
        ("NULL" if column.since > version else _FORMS.get(column.type, '"{}"')).format(
            f"{side}_{name}"
        )
        for side, version in sides_and_versions
        for name, column in kind.column.items()
    )
