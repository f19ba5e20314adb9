"""The system tables that Dolt and DoltLite have in common, by the same names."""

import re
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from day1.adapters.rows.rows import pending_and
from day1.adapters.versioned.dialect import BranchState
from day1.errors import NotFound
from day1.model.rows.change import CommitId

_NO_SUCH: Final = re.compile(r"invalid (ref|ancestor) spec|(branch|commit) not found")
"""What both say of the name of nothing; any other failure says nothing of whether it is there."""


class SystemTables:
    """The part of `adapters.versioned.dialect.Verbs` that both say in the same words."""

    _hash_of: str
    """The statement that tells the commit of a name."""

    def state(self, connection: Connection, after: int) -> BranchState:
        """The head and what is later: a connection that slept learns of both from its tables."""
        pending, (head,) = pending_and(connection, after, "dolt_hashof('HEAD')")
        return BranchState(str(head), pending)

    def resolve(self, connection: Connection, name: str) -> CommitId:
        """The commit that a name means."""
        try:
            return str(connection.exec_driver_sql(self._hash_of, (name,)).scalar_one())
        except DBAPIError as exc:
            said: Sequence[object] = exc.orig.args if exc.orig else ()
            if not any(_NO_SUCH.search(str(part)) for part in said):
                raise
            raise NotFound(f"There is no branch or commit {name!r}.", ref=name) from exc

    def branches(self, connection: Connection) -> dict[str, CommitId]:
        """Every branch with its tip."""
        rows = connection.exec_driver_sql("SELECT name, hash FROM dolt_branches").all()
        return {str(name): str(commit) for name, commit in rows}

    def dirty(self, connection: Connection) -> set[str]:
        """Branches that have rows which no commit holds yet."""
        statement = "SELECT name FROM dolt_branches WHERE dirty"
        return {str(name) for name in connection.exec_driver_sql(statement).scalars()}

    def tags(self, connection: Connection) -> dict[str, CommitId]:
        """Every tag with its commit."""
        rows = connection.exec_driver_sql("SELECT tag_name, tag_hash FROM dolt_tags").all()
        return {str(name): str(commit) for name, commit in rows}
