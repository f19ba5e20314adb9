"""The size of the values that one call reads: a row may have 8 MiB of JSON beside its text."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from day1.errors import AnswerTooLarge
from day1.model.rows.change import Query
from day1.model.rows.kind import Cell, Kind
from day1.model.values.parts import MOST_VALUE
from day1.ports.reading import Reading

_VALUE: Final = "structure"
"""The column that holds a row's JSON value."""
_LONG: Final = 64 * 1024 * 1024
"""Number of bytes above which values are not all read at once."""
_AT_ONCE: Final = 8
"""Number of rows whose values are read at once if they may be long."""


def may_be_large(row_count: int, most_bytes: int | None) -> bool:
    """Whether the values of so many rows may have more bytes than `most_bytes` together."""
    return most_bytes is not None and row_count * MOST_VALUE > most_bytes


def refuse_large_answer(
    reading: Reading, kind: Kind, query: Query, row_count: int, most_bytes: int | None
) -> None:
    """Refuse to read the values of the rows that a query finds if they are too large together.

    Args:
        reading: the state to read.
        kind: the kind of the rows.
        query: their conditions.
        row_count: how many rows there are at most.
        most_bytes: how many bytes the values may have; None: any number.

    Raises:
        AnswerTooLarge: they have more.
    """
    if most_bytes is None or not may_be_large(row_count, most_bytes):
        return
    size = reading.size(kind, _VALUE, query)
    if size > most_bytes:
        raise AnswerTooLarge(
            f"The values of these {row_count:,} rows have {size:,} bytes together, and one answer "
            f"has at most {most_bytes:,}: ask for fewer rows at once, or raise "
            "DAY1_STORE__ANSWER_BYTES.",
            size=size,
            limit=most_bytes,
        )


def refuse_large_rows(
    reading: Reading, kind: Kind, ids: Sequence[str], most_bytes: int | None
) -> None:
    """Refuse to read the values of rows by id: see `refuse_large_answer`."""
    refuse_large_answer(reading, kind, Query(among={"id": ids}), len(ids), most_bytes)


def scan_values(
    reading: Reading, kind: Kind, columns: Sequence[str], query: Query
) -> Iterator[tuple[Cell, ...]]:
    """Yield columns of rows as `Reading.scan`, but a few rows at a time if the values are long."""
    if reading.size(kind, _VALUE, query) <= _LONG:
        yield from reading.scan(kind, columns, query)
        return
    ids = [row_id for (row_id,) in reading.scan(kind, ("id",), query)]
    for start in range(0, len(ids), _AT_ONCE):
        few_ids = ids[start : start + _AT_ONCE]
        yield from reading.scan(kind, columns, replace(query, among={"id": few_ids}))
