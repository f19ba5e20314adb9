"""A row from the columns of a statement."""

from collections.abc import Sequence

from day1.model.rows.kind import Cell, Kind, Row


def row_of(kind: Kind, values: Sequence[Cell]) -> Row:
    """A row from its columns, in their order."""
    return dict(zip(kind.columns, values, strict=True))
