"""Rows of every kind with a value in every column, as hypothesis draws them.

A row is drawn from the columns of its kind, so a new column is drawn as soon as there is one.
"""

import os
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from day1.errors import InvalidRequest
from day1.model.rows.column import Column
from day1.model.rows.kind import (
    BY_NAME,
    EDIT,
    FACT,
    HELD,
    KINDS,
    MEMORIES,
    Cell,
    Kind,
    Row,
    canonical,
)
from day1.model.values.ids import content_hash, derived_id
from day1.model.values.space import space_name

EXAMPLES = int(os.environ.get("DAY1_ROUND_TRIPS", "20"))
"""How many examples each property of a round trip is tried on."""
DRAWN = settings(
    max_examples=EXAMPLES,
    phases=[phase for phase in Phase if phase is not Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
"""How rows are drawn: to shrink so many columns takes minutes and shows little more."""
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and the last microsecond of the years 1 to 9999 UTC."""
BEFORE_WIDE = 2**53
"""Every version of day1 reads a time nearer to 1970 than this."""
AN_HOUR, LONG = 3_600_000_000, 20_000

_EDGES = (
    *(FIRST, FIRST + 1, LAST - 1, LAST, -1, 0, 1),
    253_402_214_400_000_000,  # 9999-12-31, which many write for a time that never comes
    *(edge + step for edge in (BEFORE_WIDE, -BEFORE_WIDE) for step in (-1, 0, 1)),
)
times = st.sampled_from(_EDGES) | st.integers(FIRST, LAST)
learned = st.integers(1_000, BEFORE_WIDE - AN_HOUR)
"""Times at which a clock can write a row."""
letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_odd = st.sampled_from(
    [
        "x\u2028",
        "a\u2029b\x85c\x0b\x0c\x1c",
        "\ufeff\r\n\t",
        "é 🐦",
        '"\\',
        "a" * LONG,
        "null",
        "{}",
    ]
)
texts = st.text(letters, min_size=1, max_size=12).filter(str.strip) | _odd
labels = st.text(letters, min_size=1, max_size=12).filter(str.strip)
json_values = st.dictionaries(
    st.text(letters, max_size=3),
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(letters, max_size=5),
    max_size=3,
)
_SPACES = ("project:a:b", "project:x/user:y", "project:metal", "a:b", "namespace:k", "agent:b/c:d")


def _space(text: str) -> str | None:
    try:
        return space_name(text)
    except InvalidRequest:
        return None


_project = st.text("ab:/ é:", min_size=1, max_size=8).map(lambda name: _space(f"project:{name}"))
_named = st.text("ab:/ é", min_size=1, max_size=8).map(_space)
spaces = st.sampled_from(_SPACES) | (_project | _named).filter(bool)


def ids(kind: Kind, most: int = 6) -> st.SearchStrategy[str]:
    """Ids of a kind, few enough that they name rows of one another."""
    return st.integers(1, most).map(lambda n: derived_id(kind.prefix, None, f"row {n}"))


def _of_type(column: Column) -> st.SearchStrategy[Any]:
    if column.among:
        return st.sampled_from(column.among)
    if column.points_to is not None:
        return ids(BY_NAME[column.points_to])
    match column.type:
        case "time":
            return times
        case "real":
            return st.floats(0, 1)
        case "text":
            return texts
        case "json":
            return json_values.map(canonical)
        case "id":
            return st.text("abcXYZ019_-:é", min_size=1, max_size=20)
        case _:
            return labels


_OF_NAME: Mapping[str, st.SearchStrategy[Any]] = {
    "space": spaces,
    "created_at": learned,
    "sensitivity": st.just("secret"),
    "tags": st.lists(labels, max_size=3).map(lambda tags: canonical(tags)),
}


def _value(column: Column) -> st.SearchStrategy[Any]:
    values = _OF_NAME.get(column.name, _of_type(column))
    return values if column.required or column.among else st.none() | values


@st.composite
def row(draw: st.DrawFn, /, kind: Kind, **columns: Cell) -> Row:
    """A row of a kind, with every column of it; some columns may be given."""
    made: Row = {
        name: columns[name] if name in columns else draw(_value(column))
        for name, column in kind.column.items()
        if name not in {"id", "content_hash"}
    }
    if kind in {EDIT, HELD}:
        about = draw(st.sampled_from(MEMORIES))
        made |= {"row_id": draw(ids(about)), "row_kind": about.table}
        if made["cell"] == "*":
            made["cell"] = None
    if kind.text is not None:
        made["content_hash"] = content_hash(str(made[kind.text]))
    return {"id": columns.get("id", draw(ids(kind))), **made}


def memories(most: int = 4) -> st.SearchStrategy[dict[Kind, list[Row]]]:
    """Rows of every kind, no id twice in one kind."""
    return st.fixed_dictionaries(
        {
            kind: st.lists(row(kind), max_size=most, unique_by=lambda made: made["id"])
            for kind in KINDS
        }
    )


def least_version(rows: Mapping[Kind, list[Row]]) -> int:
    """The least version of a file that can hold these rows."""
    wide = any(
        made[name] is not None and abs(int(str(made[name]))) >= BEFORE_WIDE
        for kind, some in rows.items()
        for made in some
        for name, column in kind.column.items()
        if column.type == "time"
    )
    used = [
        column.since
        for kind, some in rows.items()
        for made in some
        for name, column in kind.column.items()
        if made[name] is not None
    ]
    return max([2 if wide else 1, *used])


def facts() -> st.SearchStrategy[Row]:
    """Facts that an exchange of lessons takes along."""
    return row(FACT, status="active", sensitivity=None, valid_until=None, expires_at=None)
