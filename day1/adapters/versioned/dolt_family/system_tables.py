"""Statements on the system tables that Dolt and DoltLite share."""

import re
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from day1.adapters.rows.rows import directly
from day1.adapters.rows.steps import later_schema, newest_version, step
from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.adapters.versioned.dialect import Dialect
from day1.errors import Advice, NotFound
from day1.model.rows.change import CommitId

_NO_SUCH: Final = re.compile(r"invalid (ref|ancestor) spec|(branch|commit) not found")
"""Both engines' messages for an unknown branch or commit; other failures do not mean that."""


class SystemTables(Dialect):
    """The part of the dialect that Dolt and DoltLite share."""

    told: tuple[str, ...] = ("dolt_hashof('HEAD')", "(SELECT max(version) FROM `schema`)")
    _hash_of: str
    """The statement that returns the commit of a name."""

    @override
    def resolve(self, connection: Connection, name: str) -> CommitId:
        try:
            ((commit,),) = directly(connection, self._hash_of, (name,))
        except DBAPIError as exc:
            error_args: Sequence[object] = exc.orig.args if exc.orig else ()
            if not any(_NO_SUCH.search(str(error_arg)) for error_arg in error_args):
                raise
            raise NotFound(
                f"There is no branch or commit {name!r}.",
                Advice("{memory_branch_list} and {memory_log} list them."),
                ref=name,
            ) from exc
        return str(commit)

    @override
    def branches(self, connection: Connection) -> dict[str, CommitId]:
        rows = directly(connection, "SELECT name, hash FROM dolt_branches")
        return {str(name): str(commit) for name, commit in rows}

    @override
    def dirty(self, connection: Connection) -> set[str]:
        statement = "SELECT name FROM dolt_branches WHERE dirty"
        return {str(name) for name in connection.exec_driver_sql(statement).scalars()}

    def _refuse_later(self, connection: Connection, to: str) -> None:
        """Make sure that no later day1 changed the schema of `to` or of a commit merged into it.

        Raises:
            StoreVersionUnknown: a later day1 changed the schema.
        """
        is_present = to in {"WORKING", "HEAD"}
        version = newest_version(connection) if is_present else self.version(connection, to)
        if version > SCHEMA_VERSION:
            raise later_schema(version)

    @override
    def step(self, connection: Connection) -> None:
        step(connection)

    @override
    def tags(self, connection: Connection) -> dict[str, CommitId]:
        rows = directly(connection, "SELECT tag_name, tag_hash FROM dolt_tags")
        return {str(name): str(commit) for name, commit in rows}
