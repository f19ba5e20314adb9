"""The newest rows of a kind, found by the index on time: the cost is that of these rows.

Rows that say when they happened and rows that do not stand apart in the index, each in their order.
So a statement reads the newest of both, and the newest of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Select, bindparam, select, union_all
from sqlalchemy.sql import FromClause, Subquery

from day1.adapters.rows.statements import (
    UNDER,
    Columns,
    Shape,
    TableAt,
    conditions,
    selecting,
    table_at,
)
from day1.adapters.rows.tables import BY_TIME, quoted
from day1.model.rows.kind import BY_TABLE, Cell

WALKED: Final = 4
"""How many rows are looked at for each row that is wanted, when most of them may not fit."""
_DENSE: Final = frozenset({"after", "before", "until", "alive_at", "present_at", "public"})
"""Bounds that most rows meet, or that bound the part of the index that is read."""
_WHEN: Final = "day1_when"
"""The name of the column with a row's time: no column of a kind is called so."""


Run = Callable[[Callable[[Shape], Select[Any]], Shape, dict[str, Any]], Sequence[tuple[Cell, ...]]]
"""Runs the statement of a shape with values."""


def newest_rows(run: Run, shape: Shape, values: dict[str, Any]) -> Sequence[tuple[Cell, ...]]:
    """Read the newest rows that meet some conditions, at most `values["limit"]`.

    Another index finds the rows of a space if they are few. If there are many, they are among the
    newest rows of all. Which is so only the engine's answer says.
    """
    names = (*(f"equal_{column}" for column in shape.empty), *shape.values)
    if not any(name in UNDER or name.endswith("_space") for name in names):
        return run(newest, shape, values)
    rows = run(newest_walked, shape, {**values, "walk": WALKED * values["limit"]})
    return rows if len(rows) == values["limit"] else run(selecting, shape, values)


@lru_cache(maxsize=512)
def newest(shape: Shape) -> Select[Any]:
    """Return the statement of a query with a limit, all conditions of which most rows meet."""
    table = table_at(shape.table, shape.version)
    found = _by_time(shape, shape.columns, shape.values, shape.empty, "limit")
    return _first(shape, _whole(found, table), "limit")


@lru_cache(maxsize=512)
def newest_walked(shape: Shape) -> Select[Any]:
    """Return the statement of a query with a limit, which looks at the `walk` newest rows only.

    Its rows are the newest of all only if there are as many as the limit.
    """
    kind, dense = BY_TABLE[shape.table], tuple(name for name in shape.values if name in _DENSE)
    table = table_at(shape.table, shape.version)
    found = _by_time(shape, kind.columns, dense, (), "walk")
    walked = _whole(_first(shape, _whole(found, table), "walk", kind.columns).subquery(), table)
    others = tuple(name for name in shape.values if name not in _DENSE)
    tests = conditions(walked, shape.empty, others, dict(shape.sizes))
    return _first(shape, walked, "limit").where(*tests)


def _by_time(
    shape: Shape,
    columns: tuple[str, ...],
    values: tuple[str, ...],
    empty: tuple[str, ...],
    limit: str,
) -> Subquery:
    """Build the newest rows that say when they happened, and those that do not."""
    whole = table_at(shape.table, shape.version)
    happened, names = whole.c.happened_at, tuple(dict.fromkeys((*columns, *BY_TIME)))
    halves = []
    for when, test in (
        (whole.c.created_at, happened.is_(None)),
        (happened, happened.is_not(None)),
    ):
        half = whole._replace(when=when)
        rows = select(*(whole.c[name].label(quoted(name)) for name in names), when.label(_WHEN))
        tests = conditions(half, empty, values, dict(shape.sizes))
        rows = rows.select_from(half.table).where(test, *tests)
        rows = rows.order_by(*_ordered(shape, *(whole.c[name] for name in BY_TIME)))
        halves.append(select(rows.limit(bindparam(limit)).subquery()))
    return union_all(*halves).subquery()


def _whole(found: FromClause, of: TableAt) -> TableAt:
    """Describe a subquery as a table."""
    columns = Columns((name, found.c[name]) for name in of.c if name in found.c)
    return TableAt(found, columns, found.c[_WHEN])


def _first(shape: Shape, table: TableAt, limit: str, columns: tuple[str, ...] = ()) -> Select[Any]:
    """Build the selection of the first rows of a subquery, in time."""
    names = columns or shape.columns
    selected = [table.c[name] for name in names]
    rows = select(*selected, table.when) if columns else select(*selected)
    by = _ordered(shape, table.when, table.c.created_at, table.c.id)
    return rows.select_from(table.table).order_by(*by).limit(bindparam(limit))


def _ordered(shape: Shape, *columns: Any) -> list[Any]:
    return [column.desc() if shape.descending else column for column in columns]
