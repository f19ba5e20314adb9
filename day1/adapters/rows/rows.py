"""Rows of one state over an open connection: the queries that all SQL engines share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Dialect, Select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ClauseElement
from typing_extensions import override

from day1.adapters.rows import totals
from day1.adapters.rows.read_view import Past, ReadView
from day1.adapters.rows.statements import (
    OF_COLUMN,
    UNDER,
    Shape,
    columns_at,
    counting,
    counting_pending,
    insert_into,
    newest_rows,
    selecting,
    table_at,
)
from day1.adapters.rows.tables import INDEXED_BY_TIME, NARROW
from day1.model.redaction.derived import Shown, as_shown, needed
from day1.model.redaction.mask import CLEAR, Mask
from day1.model.redaction.veil import SECRET, asks_for_words, tells, veil_tuples
from day1.model.rows.change import Changes, Commit, CommitId, Pending, Query, RowChange
from day1.model.rows.kind import Cell, Kind, Row, when
from day1.model.values.space import names_below
from day1.ports.additions import Additions
from day1.ports.reading import Reading

if TYPE_CHECKING:
    from day1.ports.store import Work

_CHUNK = 500
"""Maximum number of ids in one IN list; engines limit the number of bound values."""
_SHORT = 64
"""Maximum length of a list in a prepared statement: 1, 2, 4 … 64, filled with its last value."""


class Prepared:
    """A statement that is compiled once, and run on the driver itself; no parameter may be a list.

    SQLAlchemy needs longer to set up an execution and its result than a short statement needs to
    run: a write, which is a few short statements, becomes a third quicker.
    """

    def __init__(self, statement: ClauseElement) -> None:
        """Hold a statement; each dialect compiles it at first use."""
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, connection: Connection, values: Mapping[str, Cell]) -> list[tuple[Cell, ...]]:
        """Run the statement, and read all its rows."""
        compiled = self._in_words_of(connection)
        return directly(connection, compiled.sql, compiled.parameters(values))

    def many(self, connection: Connection, values: Sequence[Mapping[str, Cell]]) -> None:
        """Run the statement once for each set of values."""
        compiled = self._in_words_of(connection)
        with _cursor(connection, compiled.sql) as cursor:
            cursor.executemany(compiled.sql, [compiled.parameters(row) for row in values])

    def _in_words_of(self, connection: Connection) -> _Compiled:
        dialect = connection.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _Compiled(self._statement, dialect)
        return compiled


class _Compiled:
    """A statement compiled for one dialect."""

    __slots__ = ("_fixed", "_names", "sql")

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled: Any = statement.compile(dialect=dialect)
        self.sql: str = compiled.string
        self._names: tuple[str, ...] | None = compiled.positiontup and tuple(compiled.positiontup)
        """The parameters' names in order, for drivers that take parameters by place."""
        self._fixed = {name: value for name, value in compiled.params.items() if value is not None}

    def parameters(self, values: Mapping[str, Cell]) -> Any:
        """Return the parameters in the form that the driver takes: by name or by place."""
        all_values = {**self._fixed, **values}
        return all_values if self._names is None else [all_values[name] for name in self._names]


@lru_cache(maxsize=1_024)
def prepared(build: Callable[..., ClauseElement], *shape: Hashable) -> Prepared:
    """Return the prepared statement that `build` makes for a shape, built once."""
    return Prepared(build(*shape))


def directly(connection: Connection, sql: str, values: Any = ()) -> list[tuple[Cell, ...]]:
    """Run a statement in the driver's own form, and read all its rows."""
    with _cursor(connection, sql) as cursor:
        cursor.execute(sql, values)
        rows_read: list[tuple[Cell, ...]] = cursor.fetchall()
    return rows_read


@contextmanager
def _cursor(connection: Connection, sql: str) -> Iterator[Any]:
    """Open a cursor of the driver; its errors become SQLAlchemy's, as with other statements."""
    driver_connection: Any = connection.connection.driver_connection
    dbapi: Any = connection.dialect.loaded_dbapi
    try:
        yield driver_connection.cursor()
    except dbapi.Error as exc:
        is_lost = connection.dialect.is_disconnect(exc, driver_connection, None)
        if is_lost:  # or the pool would lend it again
            connection.invalidate(exc)
        raise DBAPIError.instance(
            sql, None, exc, dbapi.Error, hide_parameters=True, connection_invalidated=is_lost
        ) from exc


def chunks(values: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
    """Split a list of bound values into lists that an engine takes."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


class SqlReading(Reading):
    """Rows over a connection that is on the right branch or commit.

    All rows come through `_select`, which masks the redacted ones.
    """

    branch: str | None = None
    tip: CommitId = ""
    pending: Pending = Pending()
    mask: Mask = CLEAR

    def __init__(self, connection: Connection, state: ReadView, past: Past[SqlReading]) -> None:
        """Wrap a connection; `past` compares the state with other commits."""
        self.connection = connection
        self.branch, self.tip, self.pending = state.branch, state.tip, state.pending
        self.until, self.mask, self.shown_at = state.until, state.mask, state.shown_at
        self.version = state.version
        self.past = past

    @override
    def get(self, kind: Kind, ids: Sequence[str], columns: Sequence[str] = ()) -> dict[str, Row]:
        row_by_id: dict[str, Row] = {}
        column_names = ("id", *columns) if columns else kind.columns
        for chunk in chunks(list(dict.fromkeys(ids))):
            # A list is another statement for each length; most often there is one id.
            query = Query(among={"id": chunk}) if chunk[1:] else Query(equal={"id": chunk[0]})
            for row in self._select(kind, column_names, "id", query):
                row_by_id[str(row[0])] = dict(zip(column_names, row, strict=True))
        return row_by_id

    @override
    def find(self, kind: Kind, query: Query, columns: Sequence[str] = ()) -> list[Row]:
        short_queries, column_names = list(_narrowed(query)), tuple(columns) or kind.columns
        rows = [
            dict(zip(column_names, row, strict=True))
            for short_query in short_queries
            for row in self._select(kind, column_names, "time", short_query)
        ]
        if len(short_queries) == 1:
            return rows
        rows.sort(key=lambda r: (when(r), r["created_at"], r["id"]), reverse=query.descending)
        return rows[: query.limit]

    @override
    def scan(self, kind: Kind, columns: Sequence[str], query: Query) -> list[tuple[Cell, ...]]:
        """Read columns of many rows: in the order of an index, and without building dicts."""
        order = query.order or ("id" if query.created_after is None else "created_at")
        row_lists = (self._select(kind, tuple(columns), order, part) for part in _narrowed(query))
        return [row for rows in row_lists for row in rows]

    def _select(
        self, kind: Kind, columns: tuple[str, ...], order: str, query: Query
    ) -> Sequence[tuple[Cell, ...]]:
        """Select rows as they are shown: a derived row is no more visible than its sources."""
        display_rule = self._shown(kind, query)
        extra_columns = None if display_rule is None else needed(kind, columns)
        if display_rule is None or extra_columns is None:
            return self._veiled(kind, columns, order, query)
        all_columns, limit = (*columns, *extra_columns), query.limit
        while True:
            rows = self._veiled(kind, all_columns, order, query)
            shown_rows = as_shown(self._as_written(), kind, all_columns, rows, display_rule)
            hidden_count = len(rows) - len(shown_rows)
            has_read_all = limit is None or len(rows) < (query.limit or 0)
            if not hidden_count or has_read_all or len(shown_rows) >= (limit or 0):
                return [row[: len(columns)] for row in shown_rows] if extra_columns else shown_rows
            query = replace(query, limit=(limit or 0) + hidden_count)

    def _shown(self, kind: Kind, query: Query) -> Shown | None:
        """Return how a query's rows are shown; None: as they were written."""
        if self.shown_at is None and query.alive_at is None and not query.public:
            return None
        spaces = query.among.get("space")
        if spaces is None and "space" in query.equal:
            spaces = [query.equal["space"]]
        is_public = query.public or (self.shown_at is not None and asks_for_words(kind, query))
        return Shown(self.shown_at if query.alive_at is None else query.alive_at, is_public, spaces)

    def _as_written(self) -> SqlReading:
        """Return this state with rows as they were written; only redacted words are masked."""
        unfiltered_reading = copy(self)
        unfiltered_reading.shown_at = None
        return unfiltered_reading

    def _veiled(
        self, kind: Kind, columns: tuple[str, ...], order: str, query: Query
    ) -> Sequence[tuple[Cell, ...]]:
        if self.shown_at is None or not tells(kind, columns):
            return self._masked(kind, columns, order, query)
        all_columns = columns if "sensitivity" in columns else (*columns, "sensitivity")
        rows = self._masked(kind, all_columns, order, query)
        return [row[: len(columns)] for row in veil_tuples(kind, all_columns, rows)]

    def _masked(
        self, kind: Kind, columns: tuple[str, ...], order: str, query: Query
    ) -> Sequence[tuple[Cell, ...]]:
        if not self.mask.rows:
            return self._read(kind, columns, order, query)
        all_columns = (*columns, *self.mask.needs(kind, columns))
        rows = self._read(kind, all_columns, order, self.mask.narrowed(kind, query))
        return [row[: len(columns)] for row in self.mask.tuples(kind, all_columns, rows)]

    def _read(
        self, kind: Kind, columns: tuple[str, ...], order: str, query: Query
    ) -> Sequence[tuple[Cell, ...]]:
        values, null_columns = self._bound(kind, query)
        sort_order = (order, query.descending)
        shape = Shape(kind.table, columns, *sort_order, null_columns, tuple(values), self.version)
        if order == "time" and query.limit is not None and self.version >= INDEXED_BY_TIME:
            narrow_columns, queried_columns = NARROW.get(kind.table), {*query.equal, *query.among}
            is_broad = narrow_columns is not None and narrow_columns.isdisjoint(queried_columns)
            if is_broad and query.created_after is None:
                return newest_rows(self._run, shape, values)
        return self._run(selecting, shape, values)

    def _run(
        self, build: Callable[[Shape], Select[Any]], shape: Shape, values: dict[str, Any]
    ) -> Sequence[tuple[Cell, ...]]:
        """Run a statement; lists of few values are bound value by value."""
        list_by_name = {name: value for name, value in values.items() if isinstance(value, list)}
        are_short = all(0 < len(cells) <= _SHORT for cells in list_by_name.values())
        sizes = ((name, 1 << (len(cells) - 1).bit_length()) for name, cells in list_by_name.items())
        shape = shape._replace(sizes=tuple(sizes) if are_short else ())
        if len(shape.sizes) < len(list_by_name):  # a long list: each length is another statement
            return [tuple(row) for row in self.connection.execute(build(shape), values)]
        values = {name: value for name, value in values.items() if name not in list_by_name}
        for name, size in shape.sizes:
            cells = list_by_name[name]
            values |= {f"{name}_{n}": cells[min(n, len(cells) - 1)] for n in range(size)}
        return prepared(build, shape).rows(self.connection, values)

    def _bound(self, kind: Kind, query: Query) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the values of a query by the names of their conditions, and its empty columns."""
        equal = query.equal.items()
        values: dict[str, Any] = {f"equal_{name}": cell for name, cell in equal if cell is not None}
        for name, allowed in query.among.items():
            cells = [cell for cell in allowed if cell is not None]
            values[f"among_{name}" if len(cells) == len(allowed) else f"maybe_{name}"] = cells
        values |= {f"without_{name}": list(cells) for name, cells in query.without.items()}
        bound_names = ("after", "before", "created_after", "above", "limit")
        values |= {key: bound for key in bound_names if (bound := getattr(query, key)) is not None}
        if query.under is not None:
            values |= zip(UNDER, (query.under, *names_below(query.under)), strict=True)
        if query.order == "created_at":  # a bound by which an engine takes the index on it
            values.setdefault("created_after", -1)
        values |= self._seen(kind, query)
        return values, tuple(name for name, cell in equal if cell is None)

    @override
    def count(self, kind: Kind, equal: Mapping[str, Cell] | None = None) -> int:
        query = Query(equal=equal or {})
        if self.mask.rows and self.mask.narrowed(kind, query) != query:
            return len(self._select(kind, ("id",), "id", query))
        values, null_columns = self._bound(kind, query)
        statement = prepared(counting, kind.table, null_columns, tuple(values), self.version)
        return int(statement.rows(self.connection, values)[0][0] or 0)

    @override
    def tally(self, kind: Kind, column: str, query: Query | None = None) -> dict[Cell, int]:
        row_query = query or Query()
        # An engine may not group by the NULL that an absent column is (MatrixOne).
        if self.mask.rows or column not in columns_at(kind, self.version):
            return Counter(value for (value,) in self.scan(kind, (column,), row_query))
        table = table_at(kind.table, self.version)
        return totals.tally(self.connection, table, column, self._bound(kind, row_query))

    @override
    def size(self, kind: Kind, column: str, query: Query) -> int:
        table = table_at(kind.table, self.version)
        parts = (self._bound(kind, part) for part in _narrowed(query))
        return sum(totals.size(self.connection, table, column, part) for part in parts)

    @override
    def log(self) -> Iterator[Commit]:
        return self.past.log_over(self.connection, self.tip)

    @override
    def merge_base(self, other: CommitId) -> CommitId:
        return self.past.base(self, other)

    @override
    def changes(self, base: CommitId, of: Reading | None = None) -> Changes:
        if isinstance(of, SqlReading | None):  # read into this connection's cache, for what follows
            return self.past.since(of or self, base, self)
        return of.changes(base)

    def _seen(self, kind: Kind, query: Query) -> dict[str, Any]:
        """Return the bounds, by name, of the rows of this state that a query is about."""
        shown_at = self.shown_at
        is_public = query.public or (shown_at is not None and asks_for_words(kind, query))
        bound_by_name = {
            "until": self.until,
            "alive_at": shown_at if query.alive_at is None else query.alive_at,
            "present_at": query.present_at,
            "public": SECRET if is_public else None,
        }
        return {
            name: value
            for name, value in bound_by_name.items()
            if value is not None and OF_COLUMN.get(name, "id") in kind.column
        }


class SqlAdditions(SqlReading, Additions):
    """Additions in an open transaction, which the store begins and ends."""

    added: tuple[tuple[Kind, Sequence[Row]], ...] = ()
    """The rows that this unit added."""

    now = 0
    """The time of the unit's rows; set by the store at once."""
    secret: frozenset[str] = frozenset()
    """Hashes of texts that this unit gave to secret rows."""
    widen: Callable[[], Work]
    """The function that turns the unit into one that changes rows; set by the store at once."""

    def to_change(self) -> Work:
        """Return the unit of work as one that changes rows: `ports.store.AddingUnit.to_change`."""
        return self.widen()

    @override
    def add(self, kind: Kind, rows: Sequence[Row]) -> None:
        if rows:
            prepared(insert_into, kind.table, self.version).many(self.connection, rows)
            self.added = (*self.added, (kind, rows))
            secret_rows = (row for row in rows if row.get("sensitivity") == SECRET)
            self.secret |= {str(row["content_hash"]) for row in secret_rows}


def row_changes(kind: Kind, pairs: Iterable[Sequence[Cell]], mask: Mask) -> list[RowChange]:
    """List the rows that differ, by id; each of `pairs` is its columns after, then before.

    A side that has no row has no id there.
    """
    columns, changes = kind.columns, []
    column_count = len(columns)

    def side(values: Sequence[Cell]) -> Row | None:
        return None if values[0] is None else dict(zip(columns, values, strict=True))

    for values in pairs:
        new_row, old_row = side(values[:column_count]), side(values[column_count:])
        if mask.rows:
            old_row, new_row = (row and mask.row(kind, row) for row in (old_row, new_row))
            if old_row == new_row:
                continue
        changes.append(RowChange(str((new_row or old_row or {})["id"]), old_row, new_row))
    changes.sort(key=lambda change: change.id)
    return changes


def _narrowed(query: Query) -> Iterator[Query]:
    """Split a query whose list of allowed values is too long for an engine."""
    for name, cells in query.among.items():
        if len(cells) > _CHUNK:
            yield from (replace(query, among={**query.among, name: part}) for part in chunks(cells))
            return
    yield query


def pending_and(connection: Connection, after: int, *before: str) -> tuple[Pending, list[Any]]:
    """Count the memories after a tip, by index; the same statement reads some expressions."""
    statement = prepared(counting_pending, *before)
    ((*extra_values, count, oldest, newest),) = statement.rows(connection, {"after": after})
    return Pending(int(count or 0), oldest, newest), extra_values  # type: ignore[arg-type]  # times are integers
