"""Rows of one state over an open connection: the queries that all SQL engines share."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, func, select
from sqlalchemy.sql.elements import ColumnElement

from day1.adapters.sql.tables import TABLES
from day1.model.change import CommitId, Pending, Query
from day1.model.kind import MEMORIES, Cell, Kind, Row

_CHUNK = 500
"""Ids in one IN list; engines limit the number of bound values."""


def chunks(values: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
    """Cut a list of bound values into lists that an engine takes."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


class SqlReading:
    """`ports.store.Reading` over a connection that already stands on the right state."""

    def __init__(
        self,
        connection: Connection,
        tip: CommitId,
        pending: Pending,
        *,
        branch: str | None = None,
        until: int | None = None,
    ) -> None:
        """Wrap a connection; rows with `created_at` after `until` are not seen."""
        self.connection = connection
        self.branch = branch
        self.tip = tip
        self.pending = pending
        self.until = until

    def get(self, kind: Kind, ids: Sequence[str]) -> dict[str, Row]:
        """Rows by id; unknown ids are left out."""
        table = TABLES[kind.table]
        found: dict[str, Row] = {}
        for some in chunks(list(dict.fromkeys(ids))):
            statement = self._visible(select(table), table).where(table.c.id.in_(some))
            for row in self.connection.execute(statement):
                found[row.id] = dict(row._mapping)
        return found

    def find(self, kind: Kind, query: Query) -> list[Row]:
        """Rows by conditions, ordered by time and id."""
        table = TABLES[kind.table]
        parts = list(_narrowed(query))
        rows = [row for narrowed in parts for row in self._find(table, query, narrowed)]
        if len(parts) == 1:
            return rows
        rows.sort(key=_in_time, reverse=query.descending)
        return rows[: query.limit]

    def scan(self, kind: Kind, columns: Sequence[str], query: Query) -> list[tuple[Cell, ...]]:
        """Some columns of the rows that `find` would give, as tuples in the order of ids.

        Made for many rows: no order to compute, no columns that are not needed, no dicts.
        """
        table = TABLES[kind.table]
        order = table.c.id.desc() if query.descending else table.c.id
        rows: list[tuple[Cell, ...]] = []
        for narrowed in _narrowed(query):
            statement = self._visible(select(*(table.c[name] for name in columns)), table)
            statement = statement.where(*_tests(table, query, narrowed)).order_by(order)
            statement = statement.limit(query.limit)
            rows.extend(tuple(row) for row in self.connection.execute(statement))
        return rows

    def _find(self, table: Table, query: Query, narrowed: dict[str, Sequence[Cell]]) -> list[Row]:
        when = _when(table)
        order = (when.desc(), table.c.id.desc()) if query.descending else (when, table.c.id)
        statement = self._visible(select(table), table)
        statement = statement.where(*_tests(table, query, narrowed)).order_by(*order)
        statement = statement.limit(query.limit)
        return [dict(row._mapping) for row in self.connection.execute(statement)]

    def count(self, kind: Kind) -> int:
        """How many rows of a kind there are."""
        table = TABLES[kind.table]
        statement = self._visible(select(func.count()).select_from(table), table)
        return int(self.connection.execute(statement).scalar_one())

    def tally(self, kind: Kind, column: str) -> dict[Cell, int]:
        """How many rows have each value of `column`."""
        table = TABLES[kind.table]
        statement = self._visible(select(table.c[column], func.count()), table)
        statement = statement.group_by(table.c[column])
        return {value: int(n) for value, n in self.connection.execute(statement)}

    def _visible(self, statement: Select[Any], table: Table) -> Select[Any]:
        if self.until is None:
            return statement
        return statement.where(table.c.created_at <= self.until)


def _when(table: Table) -> ColumnElement[int]:
    """The time of the event, else of learning it."""
    if "happened_at" in table.c:
        return func.coalesce(table.c.happened_at, table.c.created_at)
    return table.c.created_at


def _narrowed(query: Query) -> Iterator[dict[str, Sequence[Cell]]]:
    """A long list of allowed values in parts that an engine takes; else one empty part."""
    for column, values in query.among.items():
        if len(values) > _CHUNK:
            yield from ({column: some} for some in chunks(values))
            return
    yield {}


def _tests(
    table: Table, query: Query, narrowed: dict[str, Sequence[Cell]]
) -> list[ColumnElement[bool]]:
    tests: list[ColumnElement[bool]] = []
    for column, value in query.equal.items():
        tests.append(table.c[column].is_(None) if value is None else table.c[column] == value)
    for column, values in {**query.among, **narrowed}.items():
        tests.append(table.c[column].in_(values))
    for column, values in query.without.items():
        tests.append(table.c[column].not_in(values))
    if query.after is not None:
        tests.append(_when(table) >= query.after)
    if query.before is not None:
        tests.append(_when(table) <= query.before)
    if query.created_after is not None:
        tests.append(table.c.created_at > query.created_after)
    return tests


def _in_time(row: Row) -> tuple[Cell, Cell]:
    when = row.get("happened_at")
    return (row["created_at"] if when is None else when, row["id"])


def _waiting() -> Select[Any]:
    parts = [
        select(
            func.count().label("n"),
            func.min(TABLES[kind.table].c.created_at).label("oldest"),
            func.max(TABLES[kind.table].c.created_at).label("newest"),
        ).where(TABLES[kind.table].c.created_at > bindparam("after"))
        for kind in MEMORIES
    ]
    together = parts[0].union_all(*parts[1:]).subquery()
    return select(func.sum(together.c.n), func.min(together.c.oldest), func.max(together.c.newest))


_WAITING = _waiting()


def waiting(connection: Connection, after: int) -> Pending:
    """Count, oldest and newest of the memories that are later than a tip, by index."""
    count, oldest, newest = connection.execute(_WAITING, {"after": after}).one()
    return Pending(int(count), oldest, newest)
