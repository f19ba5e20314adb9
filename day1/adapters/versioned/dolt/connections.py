"""Connections to a Dolt server: one pool, each connection is switched to a branch or commit."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from day1.adapters.mysql.batch import early_failure, send_with_next
from day1.adapters.mysql.failures import server_number
from day1.adapters.mysql.lock import Queues, commit_and_release, lock_name
from day1.adapters.mysql.url import ServerDatabase, is_in_transaction, opened
from day1.adapters.versioned.connections import Connections
from day1.errors import Advice, Day1Error, NotFound, UnknownBranch

_UNKNOWN_DATABASE, _DENIED = 1049, "Access denied"
_USE: Final = "USE `"
_LOCK: Final = "lock"
"""The key of `Connection.info` for the lock of the branch that a connection holds."""


class DoltConnections(Connections):
    """Connections to the branches and commits of a Dolt database."""

    def __init__(self, server: ServerDatabase) -> None:
        """Set the server and its database; open no connection yet."""
        self._engine = server.engine
        self.database = server.database
        self.where = server.where
        self._queues = Queues(server.wait_s)

    @override
    def on_branch(self, branch: str) -> AbstractContextManager[Connection]:
        missing = UnknownBranch(
            f"There is no branch {branch!r}.",
            Advice("{memory_branch_list} shows those there are."),
            branch=branch,
        )
        return self._at(branch, missing)

    @override
    def at_commit(self, commit: str) -> AbstractContextManager[Connection]:
        missing = NotFound(
            f"There is no commit {commit}.", Advice("{memory_log} lists commits."), commit=commit
        )
        return self._at(commit, missing)

    @contextmanager
    def _at(self, revision: str, missing: Day1Error) -> Iterator[Connection]:
        """Open a connection at a branch or commit; raise `missing` if it does not exist."""
        with opened(self._engine, self.where) as connection:
            try:
                self._use(connection, revision)
                yield connection
            except DBAPIError as exc:
                if not self._lacks(exc):
                    raise
                raise missing from exc

    @override
    @contextmanager
    def exclusive(self, branch: str) -> Iterator[Connection]:
        """Open a connection on a branch under a named lock, which ends with the connection."""
        branch_lock = lock_name(self.database, branch)
        with self._queues.held((branch_lock,), lambda: self.on_branch(branch)) as connection:
            connection.info[_LOCK] = branch_lock
            yield connection
            if is_in_transaction(connection):  # nothing was written: it ends with the lock
                send_with_next(connection, "ROLLBACK")

    def _use(self, connection: Connection, revision: str) -> None:
        revision_database = f"{self.database}/{revision}".replace("`", "``").replace("%", "%%")
        send_with_next(connection, f"{_USE}{revision_database}`")

    def _lacks(self, exc: DBAPIError) -> bool:
        """Whether an error means that the database has no such branch or commit.

        A user with rights on this database only gets "access denied" for an unknown branch.

        Raises:
            DBAPIError: there is no such database, or the user has no rights on it.
        """
        if not early_failure(exc).startswith(_USE):
            return False
        if _DENIED not in str(exc.orig):
            return server_number(exc) == _UNKNOWN_DATABASE
        with self._engine.connect() as connection:
            connection.exec_driver_sql(f"{_USE}{self.database}`")
        return True

    @override
    def begin(self, connection: Connection, *, writes: bool) -> None:
        send_with_next(connection, "START TRANSACTION")

    @override
    def end(self, connection: Connection) -> None:
        commit_and_release(connection, (connection.info[_LOCK],))

    @override
    def close(self) -> None:
        self._engine.dispose()
