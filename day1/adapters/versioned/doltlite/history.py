"""The commit graph of a DoltLite file."""

from typing_extensions import override

from day1.adapters.versioned.dolt_family.history import DoltFamilyHistory
from day1.adapters.versioned.doltlite.connections import DoltLiteConnections
from day1.adapters.versioned.doltlite.dialect import DoltLiteDialect
from day1.model.rows.change import CommitId


class DoltLiteHistory(DoltFamilyHistory):
    """The history of a DoltLite file."""

    _tag = "SELECT dolt_tag(?, ?)"
    _untag = "SELECT dolt_tag('-d', ?)"

    _connections: DoltLiteConnections

    def __init__(self, connections: DoltLiteConnections, dialect: DoltLiteDialect) -> None:
        """Share the store's connections and lock."""
        super().__init__(connections, dialect)
        self._connections = connections

    @override
    def fork(self, name: str, start: CommitId) -> None:
        self._refuse_taken(name)
        self._change_ref("SELECT dolt_branch(?, ?)", (name, start))
        with self._connections.exclusive(name) as connection:
            # A new branch has no WORKING to diff with before its first transaction.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            connection.exec_driver_sql("COMMIT")

    @override
    def drop(self, name: str) -> None:
        self._change_ref("SELECT dolt_branch('-D', ?)", (name,))
        self._connections.forget_branch(name)

    @override
    def _change_ref(self, statement: str, values: tuple[str, ...]) -> None:
        with self._connections.lock.joined(), self._connections.fresh() as connection:
            # Never in a transaction: changing a ref commits, and frees the engine's lock.
            connection.exec_driver_sql(statement, values).all()
