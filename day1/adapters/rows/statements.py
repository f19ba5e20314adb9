"""The statements over rows, built once for each shape of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    Insert,
    Select,
    Update,
    and_,
    bindparam,
    false,
    func,
    insert,
    literal_column,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.sql import FromClause, Subquery
from sqlalchemy.sql.elements import ColumnElement

from day1.adapters.rows.tables import BY_TIME, INDEXED_BY_TIME, SCHEMA_VERSION, TABLES, quoted
from day1.model.rows.kind import BY_TABLE, MEMORIES, Cell, Kind

OF_COLUMN = {"alive_at": "expires_at", "present_at": "valid_until", "public": "sensitivity"}
"""The column that a bound is about, by bound; rows of a kind without the column all meet it."""


class Shape(NamedTuple):
    """The parts of a query that decide its statement; queries of one shape share a statement."""

    table: str
    columns: tuple[str, ...]
    order: str
    descending: bool
    empty: tuple[str, ...]
    """Columns that must have no value."""
    values: tuple[str, ...]
    """The names of bound values: a bound, or a condition on a column (`equal_category`)."""
    version: int = SCHEMA_VERSION
    """The schema version of the state that is queried."""
    sizes: tuple[tuple[str, int], ...] = ()
    """The lists of which each value is bound by itself (`among_id_0`), with their lengths; empty:
    lists are bound whole, and each length becomes another statement."""


_NEVER: Final = 2**62
"""The end of rows that never expire, in expressions that hide `expires_at` from the planner."""
_ABSENT: Final[ColumnElement[Any]] = literal_column("NULL")
"""A column that an earlier version of the schema does not have."""


class Columns(dict[str, ColumnElement[Any]]):
    """The columns of a table by name, also as attributes."""

    def __getattr__(self, name: str) -> ColumnElement[Any]:
        return self[name]


class TableAt(NamedTuple):
    """A table as a version of the schema has it: a younger column reads as NULL."""

    table: FromClause
    c: Columns
    when: ColumnElement[Any]
    """The expression of a row's time: when it happened, else when it was learned."""


@cache
def columns_at(kind: Kind, version: int) -> tuple[str, ...]:
    """Return the names of a kind's columns at a version of the schema."""
    return tuple(name for name, column in kind.column.items() if column.since <= version)


@cache
def named_at(kind: Kind, version: int, form: str) -> str:
    """List the columns of a kind for an engine's own statement; later columns are NULL."""
    present_columns = columns_at(kind, version)
    return ", ".join(
        form.format(column) if column in present_columns else "NULL" for column in kind.columns
    )


@cache
def table_at(name: str, version: int) -> TableAt:
    """Return a table as a version of the schema has it."""
    table, existing_columns = TABLES[name], columns_at(BY_TABLE[name], version)
    names_and_columns = (
        (column.name, column if column.name in existing_columns else _ABSENT)
        for column in table.columns
    )
    column_by_name = Columns(names_and_columns)
    return TableAt(table, column_by_name, _when(column_by_name))


def insert_into(table_name: str, version: int = SCHEMA_VERSION) -> Insert:
    """Return the statement that inserts a row."""
    column_names = columns_at(BY_TABLE[table_name], version)
    return insert(TABLES[table_name]).values({name: bindparam(name) for name in column_names})


def updating(table_name: str, values: tuple[str, ...]) -> Update:
    """Return the statement that changes columns of the row `row_id`; `new_category` is a value."""
    table = TABLES[table_name]
    value_by_column: dict[str, Any] = {
        name.removeprefix("new_"): bindparam(name) for name in values
    }
    return update(table).where(table.c.id == bindparam("row_id")).values(value_by_column)


def _when(columns: Columns) -> ColumnElement[Any]:
    """Build the expression of a row's time: when it happened, else when it was learned."""
    if "happened_at" in columns:
        return func.coalesce(columns.happened_at, columns.created_at)
    return columns.created_at


def counting(
    table_name: str, empty: tuple[str, ...], values: tuple[str, ...], version: int
) -> Select[Any]:
    """Return the statement that counts rows that meet these conditions (as `Shape` has them).

    The few rows that expired have an index: they are subtracted, and all others need not be read.
    """
    if "alive_at" not in values or version < INDEXED_BY_TIME:
        return _counting(table_name, empty, values, version)
    other_names = tuple(name for name in values if name != "alive_at")
    counting_all = _counting(table_name, empty, other_names, version)
    counting_expired = _counting(table_name, empty, (*other_names, "expired_at"), version)
    return select(counting_all.scalar_subquery() - counting_expired.scalar_subquery())


def _counting(
    table_name: str, empty: tuple[str, ...], values: tuple[str, ...], version: int
) -> Select[Any]:
    table = table_at(table_name, version)
    return select(func.count()).select_from(table.table).where(*conditions(table, empty, values))


def conditions(
    table: TableAt,
    empty: tuple[str, ...],
    values: tuple[str, ...],
    sizes: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a statement: the columns without a value, and the bound values.

    These are `equal_category`, `among_id`, `maybe_space` (one of a list, or no value), or a bound.
    An engine that knows no statistics takes an index on a column without a value, which most rows
    have in common, for narrower than a list or a time. So beside these an expression hides the
    column from it. `expires_at` is hidden too, except to find the rows that expired; then `space`
    is hidden instead.
    """
    finds_expired = "expired_at" in values
    has_list_or_time = any(name == "created_after" or name.startswith("among_") for name in values)
    for column in empty:
        if column == "space" and (has_list_or_time or finds_expired):
            yield _or(table.c[column], "") == ""
        elif column == "expires_at":
            yield _or(table.c[column], _NEVER) == _NEVER
        else:
            yield table.c[column].is_(None)
    for name in values:
        operator, _, column = name.partition("_")
        if name in _BOUNDS:
            yield _BOUNDS[name](table, bindparam(name))
        elif operator in {"equal", "among"} and table.c[column] is _ABSENT:
            yield false()  # Dolt fails at `NULL = 'x'` where it is the only condition
        elif operator == "equal" and column == "space" and finds_expired:
            yield _or(table.c[column], "") == bindparam(name)
        elif operator == "equal":
            yield table.c[column] == bindparam(name)
        elif operator in {"among", "maybe", "without"}:
            yield _listed(operator, table.c[column], _bound(name, sizes.get(name)))


def _or(column: ColumnElement[Any], value: int | str) -> ColumnElement[Any]:
    """Build an expression for a column, which is `value` in rows that have no value."""
    return func.coalesce(column, value)


def _bound(name: str, size: int | None) -> Any:
    """Build the parameters of a list: one that takes it whole, or one for each of its values."""
    if size is None:
        return bindparam(name, expanding=True)
    return [bindparam(f"{name}_{index}") for index in range(size)]


def _listed(how: str, column: ColumnElement[Any], values: Any) -> ColumnElement[bool]:
    """Build the condition that a column is among some values, or without one, or not among them."""
    if how == "without":
        return column.not_in(values)
    is_in_list = column.in_(values)
    return or_(column.is_(None), is_in_list) if how == "maybe" else is_in_list


@lru_cache(maxsize=512)
def selecting(shape: Shape) -> Select[Any]:
    """Return the statement of a query's shape, built once: building costs more than running it."""
    table = table_at(shape.table, shape.version)
    order_columns = {
        "time": (table.when, table.c.created_at, table.c.id),
        "id": (table.c.id,),
        "created_at": (table.c.created_at, table.c.id),
    }[shape.order]
    statement = select(*(table.c[column] for column in shape.columns)).select_from(table.table)
    statement = statement.where(
        *conditions(table, shape.empty, shape.values, dict(shape.sizes))
    ).order_by(*(column.desc() if shape.descending else column for column in order_columns))
    return statement.limit(bindparam("limit")) if "limit" in shape.values else statement


def _absent_or(
    table: TableAt, name: str, test: Callable[[ColumnElement[Any]], ColumnElement[bool]]
) -> ColumnElement[bool]:
    column = table.c[name]
    return or_(column.is_(None), test(column))


def _not_ended(table: TableAt, at: ColumnElement[Any]) -> ColumnElement[bool]:
    has_no_end: ColumnElement[bool] = table.c.valid_until.is_(None)
    if "status" in table.c:
        has_no_end = and_(has_no_end, table.c.status != "superseded")
    return or_(has_no_end, table.c.valid_until > at)


UNDER = ("under", "first_below", "after_below")
"""The names of the values that bound a space and the spaces below it."""


def _under(table: TableAt) -> ColumnElement[bool]:
    """Build the condition on rows of a space or of one below it: two ranges of its index."""
    space = table.c.space
    if space is _ABSENT:
        return false()
    own_name, first_below, end_below = UNDER
    is_below = and_(space >= bindparam(first_below), space < bindparam(end_below))
    return or_(space == bindparam(own_name), is_below)


_Test = Callable[[TableAt, Any], ColumnElement[bool]]
_BOUNDS: dict[str, _Test] = {
    "after": lambda table, value: table.when >= value,
    "before": lambda table, value: table.when <= value,
    "created_after": lambda table, value: table.c.created_at > value,
    "above": lambda table, value: table.c.id > value,
    "until": lambda table, value: table.c.created_at <= value,
    "alive_at": lambda table, value: _or(table.c.expires_at, _NEVER) > value,
    "expired_at": lambda table, _: table.c.expires_at <= bindparam("alive_at"),
    "present_at": _not_ended,
    "under": lambda table, _: _under(table),
    "public": lambda table, value: _absent_or(table, "sensitivity", lambda how: how != value),
}


def counting_pending(*before: str) -> Select[Any]:
    """Return the statement that counts the memories after a tip, with the oldest and newest time.

    It also reads the values of the expressions `before`.
    """
    count_queries = [
        select(
            func.count().label("n"),
            func.min(TABLES[kind.table].c.created_at).label("oldest"),
            func.max(TABLES[kind.table].c.created_at).label("newest"),
        ).where(TABLES[kind.table].c.created_at > bindparam("after"))
        for kind in MEMORIES
    ]
    all_counts = count_queries[0].union_all(*count_queries[1:]).subquery()
    totals_query = select(
        func.sum(all_counts.c.n), func.min(all_counts.c.oldest), func.max(all_counts.c.newest)
    )
    if not before:
        return totals_query
    totals = totals_query.subquery()
    result_columns: list[ColumnElement[Any]] = [*map(literal_column, before), *totals.c]
    return select(*result_columns)


# The newest rows: an index has those that say when they happened apart from those that do not, each
# in their order. So a statement reads the newest of both, and the newest of these.

WALKED: Final = 4
"""Number of rows read for each wanted row, when most rows may not meet the conditions."""
_DENSE: Final = frozenset({"after", "before", "until", "alive_at", "present_at", "public"})
"""Bounds that most rows meet, or that bound the part of the index that is read."""
_WHEN_COLUMN: Final = "day1_when"
"""The name of the column with a row's time: no column of a kind is called so."""


Run = Callable[[Callable[[Shape], Select[Any]], Shape, dict[str, Any]], Sequence[tuple[Cell, ...]]]
"""Runs the statement of a shape with values."""


def newest_rows(run: Run, shape: Shape, values: dict[str, Any]) -> Sequence[tuple[Cell, ...]]:
    """Read the newest rows that meet some conditions, at most `values["limit"]`.

    Another index finds the rows of a space if they are few. If there are many, they are among the
    newest rows of all. Which is so only the engine's answer says.
    """
    condition_names = (*(f"equal_{column}" for column in shape.empty), *shape.values)
    if not any(name in UNDER or name.endswith("_space") for name in condition_names):
        return run(newest, shape, values)
    rows = run(newest_walked, shape, {**values, "walk": WALKED * values["limit"]})
    return rows if len(rows) == values["limit"] else run(selecting, shape, values)


@lru_cache(maxsize=512)
def newest(shape: Shape) -> Select[Any]:
    """Return the statement of a query with a limit whose conditions most rows meet."""
    table = table_at(shape.table, shape.version)
    newest_rows_of_both = _by_time(shape, shape.columns, shape.values, shape.empty, "limit")
    return _first(shape, _whole(newest_rows_of_both, table), "limit")


@lru_cache(maxsize=512)
def newest_walked(shape: Shape) -> Select[Any]:
    """Return the statement of a query with a limit, which looks at the `walk` newest rows only.

    Its rows are the newest of all only if there are as many as the limit.
    """
    dense_names, columns = tuple(name for name in shape.values if name in _DENSE), _walked(shape)
    table = table_at(shape.table, shape.version)
    newest_rows_query = _by_time(shape, columns, dense_names, (), "walk")
    walked_table = _whole(
        _first(shape, _whole(newest_rows_query, table), "walk", columns).subquery(), table
    )
    other_names = tuple(name for name in shape.values if name not in _DENSE)
    other_conditions = conditions(walked_table, shape.empty, other_names, dict(shape.sizes))
    return _first(shape, walked_table, "limit").where(*other_conditions)


def _walked(shape: Shape) -> tuple[str, ...]:
    """Return the columns of the rows that are looked at: a long one only if it is needed."""
    needed_names = {
        *shape.columns,
        *shape.empty,
        *(name.partition("_")[2] for name in shape.values),
    }
    column_by_name = BY_TABLE[shape.table].column
    return tuple(
        name
        for name, column in column_by_name.items()
        if name in needed_names or column.type not in {"text", "json"}
    )


def _by_time(
    shape: Shape,
    columns: tuple[str, ...],
    values: tuple[str, ...],
    empty: tuple[str, ...],
    limit: str,
) -> Subquery:
    """Build the query of the newest rows with the time of their event, and of those without it."""
    base_table = table_at(shape.table, shape.version)
    happened_at, column_names = base_table.c.happened_at, tuple(dict.fromkeys((*columns, *BY_TIME)))
    newest_queries = []
    for time_column, condition in (
        (base_table.c.created_at, happened_at.is_(None)),
        (happened_at, happened_at.is_not(None)),
    ):
        table_by_time = base_table._replace(when=time_column)
        rows_query = select(
            *(base_table.c[name].label(quoted(name)) for name in column_names),
            time_column.label(_WHEN_COLUMN),
        )
        other_conditions = conditions(table_by_time, empty, values, dict(shape.sizes))
        rows_query = rows_query.select_from(table_by_time.table).where(condition, *other_conditions)
        rows_query = rows_query.order_by(
            *_ordered(shape, *(base_table.c[name] for name in BY_TIME))
        )
        newest_queries.append(select(rows_query.limit(bindparam(limit)).subquery()))
    return union_all(*newest_queries).subquery()


def _whole(subquery: FromClause, of: TableAt) -> TableAt:
    """Describe a subquery over a table as a table."""
    columns = Columns((name, subquery.c[name]) for name in of.c if name in subquery.c)
    return TableAt(subquery, columns, subquery.c[_WHEN_COLUMN])


def _first(shape: Shape, table: TableAt, limit: str, columns: tuple[str, ...] = ()) -> Select[Any]:
    """Build the selection of the first rows of a subquery, in time."""
    column_names = columns or shape.columns
    selected_columns = [table.c[name] for name in column_names]
    rows_query = select(*selected_columns, table.when) if columns else select(*selected_columns)
    order_columns = _ordered(shape, table.when, table.c.created_at, table.c.id)
    return rows_query.select_from(table.table).order_by(*order_columns).limit(bindparam(limit))


def _ordered(shape: Shape, *columns: Any) -> list[Any]:
    return [column.desc() if shape.descending else column for column in columns]
