"""Reading the columns `tags` and `detail`, which hold JSON of whoever wrote the row."""

import json
from typing import Any

from day1.model.rows.kind import Cell


def read_tags(cell: Cell) -> list[str]:
    """Read the tags of a row; without a list there are none."""
    value = _parse(cell)
    return [tag for tag in value if isinstance(tag, str)] if isinstance(value, list) else []


def read_detail(cell: Cell) -> dict[str, Any]:
    """Read the details of a row: `key` or `id` as the caller named it, `metadata`, its sources."""
    value = _parse(cell)
    return value if isinstance(value, dict) else {}


def _parse(cell: Cell) -> Any:
    try:
        return None if cell is None else json.loads(str(cell))
    except ValueError:  # masked, or another program's
        return None
