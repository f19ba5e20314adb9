"""A MySQL-like server that writes down what it is told, and answers as the test says."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from pymysql.connections import Connection
from sqlalchemy import Engine, create_engine

Rows = Sequence[tuple[Any, ...]]
Answer = Rows | Exception | Callable[[str], Rows]


class Columns(list[tuple[Any, ...]]):
    """The answer of a table that has no rows: the names of its columns."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names


_READING = ("SELECT", "SHOW", "DESCRIBE", "DATA BRANCH DIFF")
_OF_SQLALCHEMY: Mapping[str, Rows] = {
    r"SELECT VERSION\(\)": [("8.0.30-MatrixOne-v4.2.0",)],
    r"SELECT DATABASE\(\)": [("there",)],
    r"SELECT @@transaction_isolation": [("REPEATABLE-READ",)],
    r"SELECT @@sql_mode": [("",)],
    r"SELECT @@lower_case_table_names": [("1",)],
}
"""What it asks of a server that it meets for the first time."""


class RecordingServer:
    """Answers a statement by the first pattern that it begins with; else there are no rows."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.said: list[str] = []
        self.answers: dict[str, Answer] = {**answers}
        self.in_transaction = False

    def engine(self) -> Engine:
        return create_engine(
            "mysql+pymysql://",
            creator=lambda: _Connection(self),
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
        )

    def answer(self, statement: str) -> Rows:
        for pattern, rows in _OF_SQLALCHEMY.items():
            if re.match(pattern, statement):
                return rows
        self.said.append(re.sub(r"\s+", " ", statement))
        if statement in {"START TRANSACTION", "COMMIT", "ROLLBACK"}:
            self.in_transaction = statement == "START TRANSACTION"
        for pattern, answer in self.answers.items():
            if re.match(pattern, self.said[-1]):
                if isinstance(answer, Exception):
                    raise answer
                return answer(self.said[-1]) if callable(answer) else answer
        return []


class _Connection(Connection):
    """The driver's own, up to the wire."""

    def __init__(self, server: RecordingServer) -> None:
        super().__init__(defer_connect=True, autocommit=True, charset="utf8mb4")
        self._server = server
        self.server_status = 2

    @property
    def open(self) -> bool:
        return True

    def query(self, sql: str | bytes, unbuffered: bool = False) -> int:
        sql = sql if isinstance(sql, str) else sql.decode()
        rows = self._server.answer(sql)
        self.server_status = 2 | self._server.in_transaction
        unnamed = [f"c{n}" for n in range(len(rows[0]) if rows else 1)]
        names = rows.names if isinstance(rows, Columns) else unnamed
        description = [(name, 253, None, None, None, None, True) for name in names]
        reads = sql.lstrip("( ").upper().startswith(_READING)
        self._result = SimpleNamespace(
            affected_rows=len(rows),
            warning_count=0,
            description=description if reads else None,
            insert_id=0,
            rows=tuple(rows) if reads else None,
            has_next=False,
        )
        return len(rows)

    def execute(self, sql: str) -> None:
        """Run a statement as SQLite's driver does: a ledger in a file begins its writes so."""
        self.query(sql)

    def rollback(self) -> None:
        """The pool says this to a new connection."""

    def commit(self) -> None:
        """SQLAlchemy says this at the end of its own transactions, which are none here."""

    def close(self) -> None:
        """There is nothing to close."""
