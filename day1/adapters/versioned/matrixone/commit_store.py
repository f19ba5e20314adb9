"""The commit graph of a MatrixOne store, in tables of day1's own, since MatrixOne keeps none.

A commit is the database of a branch at a time. The commit is written in the transaction that writes
its rows. Its time is not known then, so it is stamped after the server has acknowledged.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from day1.adapters.mysql.url import clock, make_database
from day1.adapters.rows.ownership import Known, is_store
from day1.adapters.versioned.history import decode
from day1.adapters.versioned.matrixone.position import Position
from day1.errors import StoreUnavailable
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Commit, CommitId

_TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "commits": {
        "id": "VARCHAR(32) PRIMARY KEY",
        "db": "VARCHAR(64) NOT NULL",
        "ns": "BIGINT",
        "parent": "VARCHAR(32)",
        "merged": "VARCHAR(32)",
        "author": "VARCHAR(255) NOT NULL",
        "message": "TEXT NOT NULL",
    },
    "branches": {
        "name": "VARCHAR(100) PRIMARY KEY",
        "db": "VARCHAR(64) NOT NULL",
        "tip": "VARCHAR(32) NOT NULL",
        "units": "BIGINT NOT NULL",
    },
    "tags": {"name": "VARCHAR(255) PRIMARY KEY", "commit_id": "VARCHAR(32) NOT NULL"},
}
_KEPT: Final = "kept"
"""The table in which an administrator's `day1 init` wrote how far back the server keeps states."""
_KNOWN = Known({name: frozenset(columns) for name, columns in _TABLES.items()}, "branches", 1)
Span = tuple[int, int]
"""When the server began to keep past states (microseconds since 1970 UTC), and for how long."""
_COMMIT = "id, parent, merged, author, message"
_TRIES = 200
"""Tries to read an acknowledged commit as a past state."""
_PAUSE_S = 0.005
"""Seconds between two tries."""


class CommitStore:
    """Commits, branches and tags of one store."""

    def __init__(self, database: str) -> None:
        """Use the graph of the store in a database."""
        self.database = f"{database}_graph"
        self._commits, self._branches, self._tags = (
            f"`{self.database}`.`{table}`" for table in ("commits", "branches", "tags")
        )

    def create(self, connection: Connection, where: str) -> bool:
        """Make the graph's database and tables; return True if the store exists.

        Raises:
            ForeignStore: the graph's database belongs to another program.
            StoreDamaged: the graph has commits but no branch.
        """
        make_database(connection, self.database, where)
        connection.exec_driver_sql(f"USE `{self.database}`")
        if is_store(connection, _KNOWN, lambda: self._has_main(connection), self.database):
            return True
        for table, columns in _TABLES.items():
            column_definitions = ", ".join(
                f"{name} {column_type}" for name, column_type in columns.items()
            )
            connection.exec_driver_sql(f"CREATE TABLE IF NOT EXISTS {table} ({column_definitions})")
        return False

    def _has_main(self, connection: Connection) -> int:
        return int(self.branch(connection, MAIN) is not None)

    def state_kept(self, connection: Connection, spans: Sequence[Span]) -> None:
        """Store how far back the server keeps states, for users who may not ask the server."""
        kept_table = f"`{self.database}`.`{_KEPT}`"
        connection.exec_driver_sql(
            f"CREATE TABLE IF NOT EXISTS {kept_table}"
            " (since BIGINT NOT NULL, length BIGINT NOT NULL)"
        )
        connection.exec_driver_sql("START TRANSACTION")
        connection.exec_driver_sql(f"DELETE FROM {kept_table}")  # noqa: S608 - our own names
        for span in spans:
            statement = f"INSERT INTO {kept_table} (since, length) VALUES (%s, %s)"  # noqa: S608 - our own names
            connection.exec_driver_sql(statement, span)
        connection.exec_driver_sql("COMMIT")

    def stated_kept(self, connection: Connection) -> list[Span]:
        """Read what `state_kept` stored; empty if nothing was stored."""
        table_names = connection.exec_driver_sql(f"SHOW TABLES FROM `{self.database}`").scalars()
        if _KEPT not in table_names.all():
            return []
        statement = f"SELECT since, length FROM `{self.database}`.`{_KEPT}`"  # noqa: S608 - our own names
        rows = connection.exec_driver_sql(statement).all()
        return [(int(since), int(length)) for since, length in rows]

    def branch(
        self, connection: Connection, name: str, ns: int | None = None
    ) -> tuple[str, CommitId, int] | None:
        """Return a branch's database, tip and count of units of work, now or at a time, or None."""
        time_clause = "" if ns is None else f" {{MO_TS = {ns}}}"
        statement = f"SELECT db, tip, units FROM {self._branches}{time_clause} WHERE name = %s"  # noqa: S608 - our own names
        row = connection.exec_driver_sql(statement, (name,)).first()
        return None if row is None else (str(row[0]), str(row[1]), int(row[2]))

    def branches(self, connection: Connection) -> dict[str, tuple[str, CommitId]]:
        """Return the database and the tip of each branch, by name."""
        statement = f"SELECT name, db, tip FROM {self._branches}"  # noqa: S608 - our own names
        rows = connection.exec_driver_sql(statement).all()
        return {str(name): (str(database), str(tip)) for name, database, tip in rows}

    def branch_of(self, connection: Connection, database: str) -> str:
        """Find the branch of a database; empty if the branch was deleted."""
        statement = f"SELECT name FROM {self._branches} WHERE db = %s"  # noqa: S608 - our own names
        return str(connection.exec_driver_sql(statement, (database,)).scalar() or "")

    def origin(self, connection: Connection, database: str) -> CommitId | None:
        """Find the commit that a branch's database was cloned from; None for the first branch."""
        own_commits = f"(SELECT id FROM {self._commits} WHERE db = %s)"  # noqa: S608 - our own names
        for statement in (
            f"SELECT parent FROM {self._commits} WHERE db = %s AND parent NOT IN {own_commits}",  # noqa: S608 - our own names
            # For a branch without commits of its own.
            f"SELECT tip FROM {self._branches} WHERE db = %s AND tip NOT IN {own_commits}",  # noqa: S608 - our own names
        ):
            commit = connection.exec_driver_sql(statement, (database, database)).scalar()
            if commit is not None:
                return str(commit)
        return None

    def steps(self, connection: Connection, database: str) -> list[Commit]:
        """List the commits that changed the schema of a database, newest first."""
        statement = f"SELECT {_COMMIT} FROM {self._commits} WHERE db = %s AND message LIKE %s"  # noqa: S608 - our own names
        rows = connection.exec_driver_sql(statement, (database, '%"schema"%')).all()
        schema_commits = [commit for commit in map(_decoded, rows) if commit.op == "schema"]
        return sorted(schema_commits, key=lambda commit: commit.ts, reverse=True)

    def put_branch(self, connection: Connection, name: str, database: str, tip: CommitId) -> None:
        """Add a branch to the graph."""
        statement = f"INSERT INTO {self._branches} (name, db, tip, units) VALUES (%s, %s, %s, 0)"  # noqa: S608 - our own names
        connection.exec_driver_sql(statement, (name, database, tip))

    def remove_branch(self, connection: Connection, name: str) -> None:
        """Remove a branch from the graph; its commits stay."""
        connection.exec_driver_sql(f"DELETE FROM {self._branches} WHERE name = %s", (name,))  # noqa: S608 - our own names

    def tags(self, connection: Connection) -> dict[str, CommitId]:
        """Return the commit of each tag, by name."""
        statement = f"SELECT name, commit_id FROM {self._tags}"  # noqa: S608 - our own names
        return {
            str(name): str(commit_id)
            for name, commit_id in connection.exec_driver_sql(statement).all()
        }

    def put_tag(self, connection: Connection, name: str, commit: CommitId) -> None:
        """Add a tag to the graph; an existing tag of this name stays."""
        statement = f"INSERT IGNORE INTO {self._tags} (name, commit_id) VALUES (%s, %s)"  # noqa: S608 - our own names
        connection.exec_driver_sql(statement, (name, commit))

    def remove_tag(self, connection: Connection, name: str) -> None:
        """Remove a tag from the graph; its commit stays."""
        connection.exec_driver_sql(f"DELETE FROM {self._tags} WHERE name = %s", (name,))  # noqa: S608 - our own names

    def commit(self, connection: Connection, commit: CommitId) -> Commit | None:
        """Read a commit; None if there is none of this id."""
        statement = f"SELECT {_COMMIT} FROM {self._commits} WHERE id = %s"  # noqa: S608 - our own names
        row = connection.exec_driver_sql(statement, (commit,)).first()
        return None if row is None else _decoded(row)

    def commits(self, connection: Connection) -> Iterator[Commit]:
        """Read all commits of the store."""
        statement = f"SELECT {_COMMIT} FROM {self._commits}"  # noqa: S608 - our own names
        return map(_decoded, connection.exec_driver_sql(statement).all())

    def put_commit(
        self, connection: Connection, commit: CommitId, position: Position, author: str, text: str
    ) -> None:
        """Write a commit, without its time, as the new tip of the connection's branch."""
        connection.exec_driver_sql(
            f"INSERT INTO {self._commits} (id, db, parent, merged, author, message)"  # noqa: S608 - our own names
            " VALUES (%s, %s, %s, %s, %s, %s)",
            (commit, position.database, position.tip or None, position.source, author, text),
        )
        self.count_unit(connection, position.branch, commit)

    def count_unit(self, connection: Connection, branch: str, tip: CommitId) -> None:
        """Count a unit of work of a branch and set its tip."""
        statement = f"UPDATE {self._branches} SET tip = %s, units = units + 1 WHERE name = %s"  # noqa: S608 - our own names
        connection.exec_driver_sql(statement, (tip, branch))

    def units(self, connection: Connection) -> tuple[tuple[str, int], ...]:
        """Return pairs of a branch's database and its count of units of work."""
        statement = f"SELECT db, units FROM {self._branches} ORDER BY db"  # noqa: S608 - our own names
        unit_rows = connection.exec_driver_sql(statement).all()
        return tuple((str(database), int(unit_count)) for database, unit_count in unit_rows)

    def location(self, connection: Connection, commit: CommitId) -> tuple[str, int | None] | None:
        """Read a commit's database, and its time if stamped; None if there is no such commit."""
        statement = f"SELECT db, ns FROM {self._commits} WHERE id = %s"  # noqa: S608 - our own names
        row = connection.exec_driver_sql(statement, (commit,)).first()
        return None if row is None else (str(row[0]), row[1] and int(row[1]))

    def stamp(self, connection: Connection, commit: CommitId) -> int:
        """Store a time at which a commit's rows can be read; the caller keeps writers away.

        At that time a past state has the commit, so also its rows. If this server's clock is behind
        the clock of the server that committed, wait for it.

        Raises:
            StoreUnavailable: no past state showed the commit in time.
        """
        for _ in range(_TRIES):
            time_ns = clock(connection) * 1_000
            past_query = f"SELECT 1 FROM {self._commits} {{MO_TS = {time_ns}}} WHERE id = %s"  # noqa: S608 - our own names
            if connection.exec_driver_sql(past_query, (commit,)).first() is not None:
                update_statement = f"UPDATE {self._commits} SET ns = %s WHERE id = %s"  # noqa: S608 - our own names
                connection.exec_driver_sql(update_statement, (time_ns, commit))
                return time_ns
            time.sleep(_PAUSE_S)
        raise StoreUnavailable(
            "The clocks of the server's nodes are too far apart to date a commit: set them by NTP, "
            "then try again.",
            commit=commit,
        )


def _decoded(row: Any) -> Commit:
    commit_id, first_parent, merged_parent, author, message = row
    parents = [
        str(parent_id) for parent_id in (first_parent, merged_parent) if parent_id is not None
    ]
    return decode(str(commit_id), parents, str(author), "1970-01-01", str(message))
