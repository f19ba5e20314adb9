"""Reading columns that hold JSON: tags, details, and the two sides of held items."""

import json
from typing import Any

from day1.model.rows.kind import Cell, Row


def read_tags(cell: Cell) -> list[str]:
    """Read the tags of a row; without a list there are none."""
    parsed_json = _parse(cell)
    return (
        [tag for tag in parsed_json if isinstance(tag, str)]
        if isinstance(parsed_json, list)
        else []
    )


def read_detail(cell: Cell) -> dict[str, Any]:
    """Read the details of a row: `key` or `id` as the caller named it, `metadata`, its sources."""
    parsed_json = _parse(cell)
    return parsed_json if isinstance(parsed_json, dict) else {}


def read_side(cell: str | None) -> Row | None:
    """Read the columns of one side of a held item, without adding younger ones."""
    return None if cell is None else dict(json.loads(cell))


def _parse(cell: Cell) -> Any:
    try:
        return None if cell is None else json.loads(str(cell))
    except ValueError:  # masked, or another program's
        return None
