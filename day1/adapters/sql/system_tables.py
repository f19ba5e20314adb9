"""The system tables that Dolt and DoltLite have in common, by the same names."""

from sqlalchemy import Connection

from day1.model.change import CommitId


class SystemTables:
    """The part of `adapters.sql.verbs.Verbs` that both say in the same words."""

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
