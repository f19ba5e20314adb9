"""What the tests of the DoltLite driver do to a database again and again."""

from pathlib import Path

from day1.adapters.versioned.doltlite.dbapi import driver


def make(file: Path) -> None:
    new = driver.connect(file, mode="rwc")
    new.execute("CREATE TABLE notes (id TEXT PRIMARY KEY, value)")
    commit(new, "init")
    new.close()


def commit(connection: driver.Connection, message: str) -> str:
    ((commit_id,),) = connection.execute("SELECT dolt_commit('-A', '-m', ?)", (message,)).fetchall()
    connection.commit()
    return commit_id


def write(connection: driver.Connection, *ids: str) -> str:
    """Insert rows and commit them as one commit of the engine."""
    connection.execute("BEGIN IMMEDIATE")
    connection.cursor().executemany("INSERT INTO notes VALUES (?, NULL)", [(i,) for i in ids])
    return commit(connection, " ".join(ids))


def ids(connection: driver.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT id FROM notes ORDER BY id")]
