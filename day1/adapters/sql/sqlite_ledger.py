"""The embedded store's ledger: a stock SQLite file in WAL mode."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import QueuePool

from day1.adapters.sql.ledger import Lock, SqlLedger

FILE = "ledger.db"


def open_ledger(folder: Path, deeds: Lock, *, read_only: bool, wait_s: float = 10.0) -> SqlLedger:
    """Open `ledger.db`, making it where it is missing and may be written.

    In a folder that may not be written the file is opened immutable: WAL fails there otherwise.
    """
    target = f"file:{quote(str(folder / FILE))}"
    target += "?mode=ro&immutable=1" if read_only else ""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            target, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False
        )
        if not read_only:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
        return connection

    engine = create_engine(
        "sqlite://", creator=connect, poolclass=QueuePool, pool_size=4, max_overflow=60
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A read is one statement, which needs no transaction.
        if connection.get_execution_options().get("writes"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    ledger = SqlLedger(engine, deeds, FILE)
    if not read_only:
        ledger.create()
    return ledger
