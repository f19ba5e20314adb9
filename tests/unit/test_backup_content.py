"""The hash of a branch's rows in a backup: equal rows, equal hash; any other cell, another one."""

import hashlib
from collections.abc import Sequence

import pytest

from day1.model.files.backup import RowsHash
from day1.model.rows.kind import CONVERSATION, FACT, Cell, Kind

COLUMNS = ("id", "fact_text", "space")
ROWS: list[tuple[Cell, ...]] = [("fact_1", "茶", None), ("fact_2", "half \ud800", "project:mill")]


def hashed(*tables: tuple[Kind, tuple[str, ...], Sequence[tuple[Cell, ...]]]) -> str:
    rows_hash = RowsHash()
    for kind, columns, rows in tables:
        rows_hash.take(kind, columns, rows)
    return rows_hash.hexdigest()


def test_rows_taken_in_two_parts_are_counted_together() -> None:
    rows_hash = RowsHash()
    empty = rows_hash.hexdigest()
    assert rows_hash.rows == 0
    rows_hash.take(FACT, COLUMNS, ROWS)
    rows_hash.take(CONVERSATION, ("id",), [("conv_1",)])
    assert rows_hash.rows == 3
    assert rows_hash.hexdigest() != empty


def test_equal_rows_have_the_same_hash_in_every_day1() -> None:
    """The hash stands in the manifests of backups: a later day1 must compute the same."""
    lines = [
        b"facts\n",
        '["fact_1","茶"]\n'.encode(),
        b'["fact_2","half \xed\xa0\x80",{"space":"project:mill"}]\n',
    ]
    expected = hashlib.sha256(b"".join(lines)).hexdigest()
    assert hashed((FACT, COLUMNS, ROWS)) == expected
    assert hashed((FACT, (*COLUMNS, "tags"), [(*row, None) for row in ROWS])) == expected


@pytest.mark.parametrize(
    "other",
    [
        [ROWS[0]],
        [ROWS[1], ROWS[0]],
        [*ROWS, ROWS[0]],
        [("fact_1", "茶", "project:mill"), ROWS[1]],
        [("fact_1", "茶 ", None), ROWS[1]],
    ],
)
def test_other_rows_have_another_hash(other: list[tuple[Cell, ...]]) -> None:
    assert hashed((FACT, COLUMNS, other)) != hashed((FACT, COLUMNS, ROWS))


def test_equal_rows_of_another_table_have_another_hash() -> None:
    rows = [("one", "two")]
    columns = ("id", "created_at")
    assert hashed((FACT, columns, rows)) != hashed((CONVERSATION, columns, rows))
    assert hashed((FACT, columns, rows), (FACT, columns, [])) != hashed((FACT, columns, rows))


def test_a_row_needs_a_value_for_each_column() -> None:
    with pytest.raises(ValueError, match="shorter"):
        hashed((FACT, COLUMNS, [("fact_1", "茶")]))
